/// A snapshot of a store: everything read through it is of one commit.
///
/// Valid only while ``Store/read(_:)`` runs.
public struct ReadContext {
    package let session: any SnapshotSession
    /// The store's model.
    public let model: ObjectModel
    /// The requests that were checked for earlier snapshots, or nil if nobody keeps them.
    package let requests: FetchRequestCache?

    /// Makes the context of a session of a store with a model.
    package init(_ session: any SnapshotSession, model: ObjectModel, requests: FetchRequestCache? = nil) {
        self.session = session
        self.model = model
        self.requests = requests
    }

    /// Returns the positions of all sources.
    ///
    /// - Throws: ``StoreError``.
    public func positions() throws -> [SourcePosition] { try session.positions() }

    /// Returns the number of objects of an entity, and how many of them are placeholders.
    ///
    /// - Throws: ``StoreError``.
    public func count(_ entity: Entity) throws -> (objects: Int, placeholders: Int) { try session.count(entity) }

    /// Returns the resolved conflicts in the order of their numbers, those after `id`, at most `limit`.
    ///
    /// - Throws: ``StoreError``.
    public func conflicts(after id: Int64 = 0, limit: Int = 100) throws -> [ConflictNote] {
        try session.conflicts(after: id, limit: bounded(limit))
    }

    /// Returns a caller's limit as storages take it: a negative one leaves nothing out.
    package func bounded(_ limit: Int) -> Int { limit < 0 ? .max : limit }
}
