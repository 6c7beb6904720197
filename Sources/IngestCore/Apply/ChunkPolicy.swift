/// Decides when a chunk closes. A chunk is one look-up, one derivation, one transaction of the history and one commit.
///
/// Without backlog a chunk has up to `chunk.maxOperations`. While more records wait, a full chunk doubles the next one, up
/// to `chunk.maxBacklogOperations`. It does so if its commit took at most half of `commit.maxRows` and
/// `commit.maxMilliseconds`. A commit beyond them halves the next chunk. An object that changes again and again, such as
/// a chat that counts its messages, is then written once for more events. Times are in seconds of one monotonic clock.
///
/// A chunk has `chunk.maxMilliseconds`. They count from the last commit while the worker keeps up, so a record after a
/// pause is committed at once, and a steady stream as often as with a count from the chunk's first record.
package struct ChunkPolicy: Sendable {
    private let chunk: ChunkConfiguration
    private let commit: CommitConfiguration
    /// The number of operations at which the open chunk closes.
    package private(set) var maximumOperations: Int
    private var operationCount = 0
    private var byteCount = 0
    private var openedAt: Double?
    private var committedAt = -Double.infinity

    /// Makes a policy with no chunk open.
    package init(_ chunk: ChunkConfiguration, _ commit: CommitConfiguration) {
        self.chunk = chunk
        self.commit = commit
        maximumOperations = chunk.maxOperations
    }

    /// What to do with the open chunk.
    package enum Action: Sendable, Equatable {
        case wait
        case close
    }

    /// Takes a record that was added to the chunk; a record without an event counts as an operation too.
    package mutating func added(operations: Int, bytes: Int, hasBacklog: Bool, at time: Double) -> Action {
        if openedAt == nil { openedAt = time }
        operationCount += max(1, operations)
        byteCount += bytes
        if !hasBacklog { maximumOperations = chunk.maxOperations }
        // The rest of the record's batch shall share its commit.
        return isFull || isDue(since: openedAt, at: time) ? .close : .wait
    }

    /// Takes the passing of time behind all records that came together, and whether more records wait.
    package mutating func tick(hasBacklog: Bool, at time: Double) -> Action {
        if !hasBacklog { maximumOperations = chunk.maxOperations }
        guard let openedAt else { return .wait }
        return isFull || isDue(since: hasBacklog ? openedAt : committedAt, at: time) ? .close : .wait
    }

    private var isFull: Bool { operationCount >= maximumOperations || byteCount >= chunk.maxBytes }

    private func isDue(since start: Double?, at time: Double) -> Bool {
        start.map { milliseconds($0, time) >= Double(chunk.maxMilliseconds) } ?? false
    }

    /// Takes the commit of the chunk, which wrote this number of rows.
    package mutating func committed(rows: Int, at time: Double) {
        let duration = milliseconds(openedAt ?? time, time)
        if rows > commit.maxRows || duration > Double(commit.maxMilliseconds) {
            maximumOperations = max(chunk.maxOperations, maximumOperations / 2)
        } else if operationCount >= maximumOperations, rows * 2 <= commit.maxRows,
            duration * 2 < Double(commit.maxMilliseconds)
        {
            maximumOperations = max(chunk.maxOperations, min(maximumOperations * 2, chunk.maxBacklogOperations))
        }
        committedAt = time
        dropped()
    }

    /// Takes the loss of the open chunk.
    package mutating func dropped() {
        operationCount = 0
        byteCount = 0
        openedAt = nil
    }

    /// When the open chunk is due without backlog, or nil while there is none.
    package var deadline: Double? {
        openedAt.map { max($0, committedAt + Double(chunk.maxMilliseconds) / 1000) }
    }

    private func milliseconds(_ start: Double, _ end: Double) -> Double { (end - start) * 1000 }
}
