/// Decides when a chunk closes: at a number of operations, at a number of bytes, or after a time.
///
/// While records wait, each full chunk doubles the next one's number of operations, up to a bound. An object that
/// changes again and again, such as a chat that counts its messages, is then written once for more events. Times are in
/// seconds of one monotonic clock.
public struct ChunkPolicy: Sendable {
    private let configuration: ChunkConfiguration
    /// The number of operations at which the open chunk closes.
    private var operationLimit: Int
    private var operationCount = 0
    private var byteCount = 0
    private var openedAt: Double?

    /// Makes a policy with no chunk open.
    public init(_ configuration: ChunkConfiguration) {
        self.configuration = configuration
        operationLimit = configuration.maxOperations
    }

    /// What to do with the open chunk.
    public enum Action: Sendable, Equatable {
        case wait
        case close
    }

    /// Takes a record that was added to the chunk; one that is no event counts as an operation too.
    public mutating func added(operations: Int, bytes: Int, at time: Double) -> Action {
        if openedAt == nil { openedAt = time }
        operationCount += max(1, operations)
        byteCount += bytes
        if operationCount >= operationLimit || byteCount >= configuration.maxBytes { return .close }
        return tick(at: time)
    }

    /// Takes the passing of time.
    public func tick(at time: Double) -> Action {
        guard let openedAt else { return .wait }
        return (time - openedAt) * 1000 >= Double(configuration.maxMilliseconds) ? .close : .wait
    }

    /// Takes the closing of the chunk.
    ///
    /// - Parameter hasBacklog: whether more records wait. Without, the next chunk has its usual size again.
    public mutating func closed(hasBacklog: Bool) {
        if !hasBacklog {
            operationLimit = configuration.maxOperations
        } else if operationCount >= operationLimit {
            operationLimit = max(operationLimit, min(2 * operationLimit, configuration.maxBacklogOperations))
        }
        operationCount = 0
        byteCount = 0
        openedAt = nil
    }

    /// When the open chunk is due, or nil while there is none.
    public var deadline: Double? { openedAt.map { $0 + Double(configuration.maxMilliseconds) / 1000 } }
}

/// Decides when saved chunks are committed: several share a commit while there is backlog, within bounds.
public struct CommitPolicy: Sendable {
    private let configuration: CommitConfiguration
    private var openedAt: Double?

    /// Makes a policy with no transaction open.
    public init(_ configuration: CommitConfiguration) { self.configuration = configuration }

    /// What to do with the open transaction.
    public enum Action: Sendable, Equatable {
        case wait
        case commit
    }

    /// Takes a chunk that was saved; `rows` counts all since the last commit.
    public mutating func saved(rows: Int, hasBacklog: Bool, at time: Double) -> Action {
        if openedAt == nil { openedAt = time }
        if !hasBacklog || rows >= configuration.maxRows { return .commit }
        return tick(at: time)
    }

    /// Takes the passing of time.
    public func tick(at time: Double) -> Action {
        guard let openedAt else { return .wait }
        return (time - openedAt) * 1000 >= Double(configuration.maxMilliseconds) ? .commit : .wait
    }

    /// Takes the end of the backlog: nothing more is to come soon.
    public func drained() -> Action { openedAt == nil ? .wait : .commit }

    /// Takes the commit, or the loss of what was to be committed.
    public mutating func closed() { openedAt = nil }

    /// When the open transaction is due, or nil while there is none.
    public var deadline: Double? { openedAt.map { $0 + Double(configuration.maxMilliseconds) / 1000 } }
}
