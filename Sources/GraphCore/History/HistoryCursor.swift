/// The progress of a named reader of the history. A purge keeps the transactions after it.
public struct HistoryCursor: Sendable, Equatable {
    /// The reader's name.
    public let name: String
    /// The last transaction that the reader has finished.
    public let token: Int64
    /// The time of the cursor's last save, in microseconds since 1970 UTC.
    public let time: Int64
    /// The number of transactions that the reader has not finished.
    public let lag: Int64
    /// The time of the first unfinished transaction, in microseconds since 1970 UTC; nil if there is none.
    public let oldestUnread: Int64?
    /// Tells whether a purge removed transactions that the reader has not finished.
    public let isExpired: Bool

    /// Returns the time since the cursor's last save, in seconds.
    public func ageSeconds(at now: Int64) -> Double { max(0, Double(now - time) / 1_000_000) }

    /// Returns the age of the oldest unfinished transaction, in seconds; 0 if there is none.
    public func lagSeconds(at now: Int64) -> Double { oldestUnread.map { max(0, Double(now - $0) / 1_000_000) } ?? 0 }
}
