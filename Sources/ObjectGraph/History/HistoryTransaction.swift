/// A save as the history keeps it.
public struct HistoryTransaction: Sendable {
    /// The transaction's number: grows with each, never used twice.
    public let token: Int64
    /// When it was saved, in microseconds since 1970 UTC. Order by token, not by time: clocks go back.
    public let time: Int64
    /// Who saved: the writer's ``WriterContext/Options/author``.
    public let author: String
    /// The name of the context that saved, or nil where it has none.
    public let context: String?
    /// Where the events came from, or nil.
    public let source: String?
    /// The number of the transaction's changes; ``changes`` may hold a part of them.
    public let changeCount: Int
    /// The position of the first of ``changes`` among all, from 0.
    public let firstIndex: Int
    /// The changes in their order; of a large transaction one page.
    public let changes: [HistoryChange]

    /// The author of the transactions that mark a migration; they have no changes, and ``context`` names both models.
    public static let migrationAuthor = "migration"

    /// The position of the next page's first change, or nil where this is the last.
    public var nextIndex: Int? {
        let next = firstIndex + changes.count
        return next < changeCount && !changes.isEmpty ? next : nil
    }

    /// Makes a transaction; one that holds all its changes where nothing else is said.
    public init(
        token: Int64, time: Int64, author: String, context: String?, source: String?, changes: [HistoryChange],
        changeCount: Int? = nil, firstIndex: Int = 0
    ) {
        self.token = token
        self.time = time
        self.author = author
        self.context = context
        self.source = source
        self.changes = changes
        self.changeCount = changeCount ?? changes.count
        self.firstIndex = firstIndex
    }
}

/// What a save did to one object.
public struct HistoryChange: Sendable {
    /// The name of the object's entity.
    public let entity: String
    /// The object's primary key in its table.
    public let pk: Int64
    /// The object's identity in stored form; null where an object changed by a batch request is no longer known, for
    /// its entity is not in the model any more.
    public let identity: Value
    /// Whether the object was inserted, updated or deleted.
    public let kind: ChangeKind
    /// The properties that an update changed; empty for others.
    public let properties: [String]
    /// The values kept of a deleted object, as a JSON object, or nil.
    public let tombstone: String?
    /// The number of the transaction that the change belongs to.
    public let token: Int64

    init(
        entity: String, pk: Int64, identity: Value, kind: ChangeKind, properties: [String], tombstone: String?,
        token: Int64 = 0
    ) {
        self.entity = entity
        self.pk = pk
        self.identity = identity
        self.kind = kind
        self.properties = properties
        self.tombstone = tombstone
        self.token = token
    }

    /// Which object the change is of.
    public var object: ObjectReference { ObjectReference(entity: entity, pk: pk, identity: identity) }
}
