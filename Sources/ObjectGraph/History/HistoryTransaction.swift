/// A save as the history keeps it.
public struct HistoryTransaction: Sendable {
    /// The transaction's number: grows with each, never used twice.
    public let token: Int64
    /// When it was saved, in microseconds since 1970 UTC. Order by token, not by time: clocks go back.
    public let time: Int64
    public let author: String
    public let context: String?
    /// Where the events came from, or nil.
    public let source: String?
    public let changes: [HistoryChange]
}

/// What a save did to one object.
public struct HistoryChange: Sendable {
    public let entity: String
    /// The object's primary key in its table.
    public let pk: Int64
    /// The object's identity in stored form.
    public let identity: Value
    public let kind: ChangeKind
    /// The properties that an update changed; empty for others.
    public let properties: [String]
    /// The values kept of a deleted object, as a JSON object, or nil.
    public let tombstone: String?
}
