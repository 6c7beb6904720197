/// A conflict that a merge policy resolved, kept for a person to review: one property of one object, or a whole one.
public struct ConflictNote: Sendable {
    /// The note's number in the store; 0 before it is saved.
    public var id: Int64 = 0
    /// The token of the save that resolved the conflict; 0 where it changed nothing.
    public var token: Int64 = 0
    /// When it was resolved, in microseconds since 1970 UTC.
    public var time: Int64 = 0
    /// The kind of conflict: `changed`, `deletedInStore`, `deletedInContext`, `uniqueness`.
    public let kind: String
    /// The name of the object's entity.
    public let entity: String
    /// The identity of the object that lives on, in stored form.
    public let identity: Value
    /// The name of the property, or nil where the whole object is meant.
    public let property: String?
    /// The value of the context or event as JSON. A whole object is a JSON object of the given values; nil if it was
    /// deleted.
    public let local: String?
    /// The value of the store as JSON; nil if the store's object is deleted. A displaced object is a JSON object of all its
    /// values. For an object that the context deleted, it has the changes of others.
    public let stored: String?
    /// The name of the policy.
    public let policy: String
    /// Whose value was taken: `context`, `store`, `custom`.
    public let decision: String
    /// The side that lost or won against the store: the context's name or the event's source, or nil.
    public var source: String?

    package init(
        kind: MergeConflict.Kind, entity: String, identity: Value, property: String?, local: String?, stored: String?,
        policy: String, decision: MergeDecision.Winner
    ) {
        self.init(
            kind: kind.rawValue, entity: entity, identity: identity, property: property, local: local, stored: stored,
            policy: policy, decision: decision.rawValue)
    }

    /// Returns the note with what is known once its save is under way.
    package func saved(_ token: Int64?, at time: Int64, source: String?) -> ConflictNote {
        var note = self
        (note.token, note.time, note.source) = (token ?? 0, time, source)
        return note
    }

    package init(
        kind: String, entity: String, identity: Value, property: String?, local: String?, stored: String?,
        policy: String, decision: String
    ) {
        self.kind = kind
        self.entity = entity
        self.identity = identity
        self.property = property
        self.local = local
        self.stored = stored
        self.policy = policy
        self.decision = decision
    }
}
