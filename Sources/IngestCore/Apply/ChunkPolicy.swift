/// Decides when a chunk closes. A chunk is one look-up, one derivation, one transaction of the history and one commit.
///
/// Without backlog a chunk has up to `chunk.maxOperations`. While more records wait, a full chunk doubles the next one, up
/// to `chunk.maxBacklogOperations`. It does so if its commit took at most half of `commit.maxRows` and
/// `commit.maxMilliseconds`. A commit beyond them, or one that another writer got in the way of, halves the next chunk.
/// An object that changes again and again, such as a chat that counts its messages, is then written once for more events.
/// Times are in seconds of one monotonic clock.
///
/// `chunk.maxMilliseconds` close a chunk that is not full. The policy counts them from the close of the chunk before. So a
/// record after a pause is committed at once, and a steady stream still has as few commits. With backlog the policy counts
/// from the chunk's first record, and a chunk may take half of the time that its commit may take.
package struct ChunkPolicy: Sendable {
    private let chunk: ChunkConfiguration
    private let commit: CommitConfiguration
    /// The number of operations at which the open chunk closes.
    package private(set) var maximumOperations: Int
    private var operationCount = 0
    /// The operations, and the references in lists: each of these may become an object in memory.
    private var elementCount = 0
    private var byteCount = 0
    private var openedAt: Double?
    private var closedAt = -Double.infinity

    /// Makes a policy with no chunk open.
    ///
    /// - Parameter commit: ``WorkerConfiguration/commitBounds``.
    package init(_ chunk: ChunkConfiguration, _ commit: CommitConfiguration) {
        self.chunk = chunk
        self.commit = commit
        maximumOperations = chunk.maxOperations
    }

    /// The decision on the open chunk.
    package enum Action: Sendable, Equatable {
        case wait
        case close
    }

    /// Notes a record that was added to the chunk; a record without an event counts as an operation too.
    ///
    /// - Parameter references: the references in lists of its event.
    package mutating func added(
        operations: Int, references: Int = 0, bytes: Int, hasBacklog: Bool, at time: Double
    ) -> Action {
        let opened = openedAt ?? time
        openedAt = opened
        operationCount += max(1, operations)
        elementCount += max(1, operations) + references
        byteCount += bytes
        if !hasBacklog { maximumOperations = chunk.maxOperations }
        // The rest of the record's batch shall share its commit.
        return action(since: opened, hasBacklog: hasBacklog, at: time)
    }

    /// Notes the time after a batch of records, and whether more records wait. Returns the action for the chunk.
    package mutating func tick(hasBacklog: Bool, at time: Double) -> Action {
        if !hasBacklog { maximumOperations = chunk.maxOperations }
        guard let openedAt else { return .wait }
        return action(since: hasBacklog ? openedAt : closedAt, hasBacklog: hasBacklog, at: time)
    }

    private var hasMaximumOperations: Bool { operationCount >= maximumOperations }

    private func action(since start: Double, hasBacklog: Bool, at time: Double) -> Action {
        let maximumElements = max(chunk.maxOperations, chunk.maxBacklogOperations)
        let isFull = hasMaximumOperations || byteCount >= chunk.maxBytes || elementCount >= maximumElements
        let limit = hasBacklog ? max(chunk.maxMilliseconds, commit.maxMilliseconds / 2) : chunk.maxMilliseconds
        return isFull || milliseconds(start, time) >= Double(limit) ? .close : .wait
    }

    /// A closed chunk on its way to its commit.
    package struct Closed: Sendable {
        /// Whether its operations closed it; one that its bytes closed does not let chunks grow.
        fileprivate let hasMaximumOperations: Bool
        /// How long it was open, in milliseconds.
        fileprivate let openMilliseconds: Double
    }

    /// Closes the open chunk; the next one begins with its first record.
    package mutating func close(at time: Double) -> Closed {
        defer {
            closedAt = time
            dropped()
        }
        return Closed(
            hasMaximumOperations: hasMaximumOperations, openMilliseconds: milliseconds(openedAt ?? time, time))
    }

    /// Notes the commit of a closed chunk, which wrote this number of rows and took this time.
    ///
    /// - Parameter conflicts: how often another writer got in the way; that halves the next chunk, too.
    package mutating func committed(_ closed: Closed, rows: Int, seconds: Double, conflicts: Int = 0) {
        let duration = closed.openMilliseconds + seconds * 1000
        if rows > commit.maxRows || duration > Double(commit.maxMilliseconds) || conflicts > 0 {
            maximumOperations = max(chunk.maxOperations, maximumOperations / 2)
        } else if closed.hasMaximumOperations, rows * 2 <= commit.maxRows, duration * 2 < Double(commit.maxMilliseconds)
        {
            maximumOperations = max(chunk.maxOperations, min(maximumOperations * 2, chunk.maxBacklogOperations))
        }
    }

    /// Notes that the open chunk waited for the commit of the chunk before. This time does not count as the open
    /// chunk's own.
    package mutating func waited(seconds: Double) {
        openedAt = openedAt.map { $0 + seconds }
    }

    /// Notes that the open chunk was dropped.
    package mutating func dropped() {
        operationCount = 0
        elementCount = 0
        byteCount = 0
        openedAt = nil
    }

    /// When the open chunk is due without backlog, or nil while there is none.
    package var deadline: Double? {
        openedAt.map { max($0, closedAt + Double(chunk.maxMilliseconds) / 1000) }
    }

    private func milliseconds(_ start: Double, _ end: Double) -> Double { (end - start) * 1000 }
}
