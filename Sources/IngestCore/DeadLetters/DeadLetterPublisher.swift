import KafkaClient
import Logging
import ObjectGraph
import Synchronization

/// Sends the dead letters of the store to their topic: an outbox with a cursor of its own.
///
/// A letter is saved with its chunk; it is sent afterwards, and the cursor is saved after the delivery. So a crash
/// repeats letters and never skips one, and a broker that is away stops nothing before ``mustWait`` says so.
final class DeadLetterPublisher: Sendable {
    private let store: Store
    private let sink: any RecordSink
    private let records: DeadLetterRecord
    private let configuration: DeadLetterConfiguration
    private let metrics: WorkerMetrics?
    private let health: HealthMonitor?
    private let logger: Logger
    private let loop = OutboxLoop()
    private let state: Mutex<State>

    private struct State {
        /// The number of the last letter that was delivered.
        var delivered: Int64
        /// What of that is still to be saved.
        var unsaved: Int64?
        var limit: UnsentLimit
    }

    /// How much is in memory at a time: letters, and the bytes of their values unless one alone has more.
    private static let batchCount = 500
    private static let batchBytes = 4 << 20

    /// Makes a publisher that goes on where the store's cursor stands; for a new topic that is the first letter there is.
    ///
    /// - Throws: `StoreError`.
    init(
        store: Store, sink: any RecordSink, topic: String, configuration: WorkerConfiguration,
        metrics: WorkerMetrics? = nil, health: HealthMonitor? = nil, logger: Logger
    ) throws {
        self.store = store
        self.sink = sink
        self.configuration = configuration.deadLetters
        self.metrics = metrics
        self.health = health
        self.logger = logger
        records = DeadLetterRecord(
            topic: topic, author: configuration.author, storeIdentity: try store.identity(),
            maximumBytes: configuration.deadLetters.maxBytes)
        let maximum = configuration.deadLetters.maxUnsent
        state = Mutex(
            try store.read { context in
                let sent = try context.sentDeadLetter(topic: topic)
                var limit = UnsentLimit(maximum: maximum)
                limit.counted(try context.deadLetterCount(after: sent))
                return State(delivered: sent, unsaved: nil, limit: limit)
            })
        showUnsent()
    }

    /// Whether so many letters wait that reading has to wait too.
    var mustWait: Bool { state.withLock { $0.limit.isReached } }

    /// The number of the last letter that was delivered.
    var deliveredLetter: Int64 { state.withLock { $0.delivered } }

    /// Takes the cursor that is to be saved, or nil where it is saved.
    func takeCursor() -> Int64? {
        state.withLock { state in
            defer { state.unsaved = nil }
            return state.unsaved
        }
    }

    /// Gives a cursor back that could not be saved.
    func putBack(cursor: Int64) { state.withLock { $0.unsaved = $0.unsaved ?? cursor } }

    /// Tells that letters were committed, and wakes the publisher.
    func committed(letters count: Int) {
        state.withLock { $0.limit.added(count) }
        showUnsent()
        loop.wake()
    }

    /// Delivers until it is asked to stop. Blocks its thread.
    ///
    /// - Throws: `StoreError` where the store's disk failed or it is damaged.
    func run() throws {
        try loop.run(next: publishNext, succeeded: { health?.report(.deadLettersOK) }, failed: report)
    }

    /// Asks the loop to end after what it is doing.
    func requestStop() {
        sink.prepareToStop()
        loop.requestStop()
    }

    /// Delivers everything there is, for the end of a run.
    ///
    /// - Throws: what the store or the sink throws; the rest stays in the store.
    func drain(untilSeconds deadline: Double) throws {
        while HealthMonitor.monotonicSeconds() < deadline, try publishNext() > 0 {}
    }

    /// Delivers the next letters, and returns how many there were.
    func publishNext() throws -> Int {
        let after = deliveredLetter
        let letters = try store.read {
            try $0.deadLetters(after: after, limit: Self.batchCount, maximumBytes: Self.batchBytes)
        }
        guard let last = letters.last else {
            state.withLock { $0.limit.counted(0) }
            showUnsent()
            return 0
        }
        health?.report(.deadLettersDelivering)
        try sink.deliver(letters.map(records.record))
        state.withLock { state in
            (state.delivered, state.unsaved) = (last.id, last.id)
            state.limit.sent(letters.count)
        }
        metrics?.deadLettersSent.increment(by: letters.count)
        showUnsent()
        return letters.count
    }

    private func report(_ error: any Error) {
        let after = deliveredLetter
        if let count = try? store.read({ try $0.deadLetterCount(after: after) }) {
            state.withLock { $0.limit.counted(count) }
        }
        showUnsent()
        metrics?.deadLetterErrors.increment()
        let waits = mustWait ? "; deadLetters.maxUnsent is reached, reading waits" : ""
        health?.report(.deadLettersFailing(reason: "\(error)\(waits)"))
        logger.error("dead letters are not delivered", metadata: ["reason": "\(error)\(waits)"])
    }

    private func showUnsent() { metrics?.deadLettersUnsent.set(Int64(state.withLock { $0.limit.unsent })) }
}
