/// How far a reader of the history has come, under a name of its own; the purge keeps what is after it.
public struct HistoryCursor: Sendable, Equatable {
    /// The reader's name.
    public let name: String
    /// The last transaction that the reader has finished.
    public let token: Int64
    /// When the cursor was saved last, in microseconds since 1970 UTC.
    public let time: Int64
    /// The number of transactions that the reader has not finished.
    public let lag: Int64
    /// When the first of those was saved, in microseconds since 1970 UTC; nil where there is none.
    public let oldestUnread: Int64?
    /// Tells whether transactions that the reader has not finished were purged.
    public let isExpired: Bool

    /// Returns for how long the cursor was not saved, in seconds.
    public func ageSeconds(at now: Int64) -> Double { max(0, Double(now - time) / 1_000_000) }

    /// Returns how old the oldest transaction is that the reader has not finished, in seconds; 0 where there is none.
    public func lagSeconds(at now: Int64) -> Double { oldestUnread.map { max(0, Double(now - $0) / 1_000_000) } ?? 0 }
}
