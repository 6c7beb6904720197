/// Decides whether the worker goes on consuming, by the number of transactions that wait to be notified.
///
/// It stops at the limit and goes on a tenth below it, so that it does not stop and go with every delivery.
public struct OutboxLimit: Sendable, Equatable {
    /// What is to be done.
    public enum Action: Sendable, Equatable {
        /// Consume no more.
        case pause
        /// Consume again.
        case resume
    }

    /// The limit, or nil where there is none.
    public let maximum: Int64?
    /// Whether the limit was reached, and consuming has to rest.
    public private(set) var isFull = false

    /// Makes a limit; 0 transactions means none.
    public init(maximumTransactions: Int) {
        maximum = maximumTransactions > 0 ? Int64(maximumTransactions) : nil
    }

    /// Takes the number of waiting transactions, and returns what changes.
    public mutating func update(waiting: Int64) -> Action? {
        guard let maximum else { return nil }
        if !isFull, waiting >= maximum {
            isFull = true
            return .pause
        }
        if isFull, waiting < maximum - maximum / 10 {
            isFull = false
            return .resume
        }
        return nil
    }
}
