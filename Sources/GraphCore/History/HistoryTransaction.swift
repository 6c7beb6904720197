/// A save in the history.
public struct HistoryTransaction: Sendable {
    /// The transaction's number. Numbers grow, and none is used twice.
    public let token: Int64
    /// The epoch of the number; see ``HistoryToken/epoch``.
    public let epoch: Int64
    /// The time of the save, in microseconds since 1970 UTC. Order by token, not by time, because clocks go back.
    public let time: Int64
    /// The author of the save: the writer's ``WriterContext/Options/author``.
    public let author: String
    /// The name of the context that saved, or nil for a context without a name.
    public let context: String?
    /// The place of the first event, or nil.
    public let source: String?
    /// The trace context of the first event's record: a W3C `traceparent`, or nil.
    public let trace: String?
    /// The number of the transaction's changes; ``changes`` may have only some of them.
    public let changeCount: Int
    /// The position of the first of ``changes`` among all, from 0.
    public let firstIndex: Int
    /// The changes in their order; one page of a large transaction.
    public let changes: [HistoryChange]

    /// The author of the transactions that mark a migration; they have no changes, and ``context`` names both models.
    public static let migrationAuthor = "migration"

    /// The position of the next page's first change, or nil for the last page.
    public var nextIndex: Int? {
        let next = firstIndex + changes.count
        return next < changeCount && !changes.isEmpty ? next : nil
    }

    /// Makes a transaction; by default `changes` are all its changes.
    public init(
        token: Int64, time: Int64, author: String, context: String?, source: String?, trace: String? = nil,
        changes: [HistoryChange], changeCount: Int? = nil, firstIndex: Int = 0, epoch: Int64 = 0
    ) {
        self.token = token
        self.epoch = epoch
        self.time = time
        self.author = author
        self.context = context
        self.source = source
        self.trace = trace
        self.changes = changes
        self.changeCount = changeCount ?? changes.count
        self.firstIndex = firstIndex
    }
}

/// The effect of a save on one object.
public struct HistoryChange: Sendable {
    /// The name of the object's entity.
    public let entity: String
    /// The object's primary key in its table.
    public let pk: Int64
    /// The object's identity in stored form. It is null for an object that a batch request changed, if the model no
    /// longer has the object's entity.
    public let identity: Value
    /// Whether the object was inserted, updated or deleted.
    public let kind: ChangeKind
    /// The properties that an update changed; empty for others.
    public let properties: [String]
    /// The preserved values of a deleted object, as a JSON object, or nil.
    public let tombstone: String?
    /// The number of the transaction that the change belongs to.
    public let token: Int64

    package init(
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

    /// The changed object.
    public var object: ObjectReference { ObjectReference(entity: entity, pk: pk, identity: identity) }
}
