import KafkaClient
import Logging
import ObjectGraph
import Synchronization

extension Outbox {
    /// Makes the outbox of dead letters. It goes on where the store's cursor for the topic stands; a new topic begins
    /// with the first letter there is.
    ///
    /// - Throws: `StoreError`.
    static func deadLetters(
        store: Store, sink: any RecordSink, topic: String, configuration: WorkerConfiguration,
        metrics: WorkerMetrics? = nil, health: HealthMonitor? = nil, logger: Logger, isActive: Bool = true
    ) throws -> Outbox {
        let maximum = configuration.deadLetters.maxUnsent
        let delivery = try DeadLetterDelivery(
            store: store, sink: sink, topic: topic, configuration: configuration, metrics: metrics, health: health,
            logger: logger)
        return try Outbox(
            delivery, cursor: try delivery.storedCursor(),
            limit: BacklogLimit(maximum: maximum, resumesAt: maximum / 2), isActive: isActive)
    }
}

/// Sends the dead letters of the store to their topic; a cursor is a letter's number.
final class DeadLetterDelivery: OutboxDelivery {
    private let store: Store
    /// The identity of the store whose records are delivered: a rebuilt one may take its place.
    private let storeIdentity: String
    private let sink: any RecordSink
    private let topic: String
    private let records: DeadLetterRecord
    private let metrics: WorkerMetrics?
    private let health: HealthMonitor?
    private let logger: Logger

    /// The epoch of the history in which the cursor was reached.
    private let epoch = Atomic<Int64>(0)
    /// The last letter of a batch that was refused: up to it each letter is sent by itself.
    private let refusedThrough = Atomic<Int64>(0)

    /// How much is in memory at a time: letters, and the bytes of their values unless one alone has more.
    private static let batchCount = 500
    private static let batchBytes = 4 << 20
    /// The least that `message.max.bytes` allows.
    private static let leastBytes = 1000

    init(
        store: Store, sink: any RecordSink, topic: String, configuration: WorkerConfiguration,
        metrics: WorkerMetrics?, health: HealthMonitor?, logger: Logger
    ) throws {
        self.store = store
        storeIdentity = try store.identity()
        self.sink = sink
        self.topic = topic
        self.metrics = metrics
        self.health = health
        self.logger = logger
        records = DeadLetterRecord(
            topic: topic, author: configuration.author, storeIdentity: storeIdentity,
            maximumBytes: configuration.deadLetters.maxBytes)
    }

    func deliver(after cursor: Int64) throws -> DeliveredBatch? {
        let (letters, epochs) = try store.read { context in
            let epochs = try context.sentEpochs(of: storeIdentity)
            // Records that were lost when another server took over gave their numbers to others.
            let start = epochs.shared(deadLetter: cursor, of: epoch.load(ordering: .acquiring))
            let count = start < refusedThrough.load(ordering: .acquiring) ? 1 : Self.batchCount
            return (try context.deadLetters(after: start, limit: count, maximumBytes: Self.batchBytes), epochs)
        }
        if letters.isEmpty { return nil }
        health?.report(.deadLettersDelivering)
        let count = try send(letters)
        metrics?.deadLettersSent.increment(by: count)
        epoch.max(epochs.current, ordering: .acquiringAndReleasing)
        return DeliveredBatch(cursor: letters[count - 1].id, count: count)
    }

    /// Sends letters and returns how many: all, or the first alone where one of them is refused.
    private func send(_ letters: [DeadLetter]) throws -> Int {
        if letters.count > 1 {
            do {
                try sink.deliver(letters.map(records.record))
                return letters.count
            } catch let error as KafkaError where !error.isRetriable {
                // A batch that is sent again whole gives the topic copies with each attempt.
                refusedThrough.store(letters[letters.count - 1].id, ordering: .releasing)
            }
        }
        try sendAlone(letters[0])
        return 1
    }

    /// Sends a letter by itself; where it is too large for the topic, with less and less of its value.
    private func sendAlone(_ letter: DeadLetter) throws {
        var records = records
        while true {
            do {
                return try sink.deliver([records.record(letter)])
            } catch let error as KafkaError where error.code == .messageTooLarge {
                if records.maximumBytes < Self.leastBytes { throw error }
                records.maximumBytes /= 2
            }
        }
    }

    func waitingCount(after cursor: Int64) throws -> Int { try store.read { try $0.deadLetterCount(after: cursor) } }

    func storedCursor() throws -> Int64 {
        try store.read { context in
            epoch.max(try context.historyEpochs().current, ordering: .acquiringAndReleasing)
            return try context.sentDeadLetter(topic: topic)
        }
    }

    func save(_ cursor: Int64, _ writer: WriterContext) throws {
        // A server that has just taken over may end before the cursor, and has no epoch for that yet.
        let shared = try store.read { context in
            let epochs = try context.historyEpochs()
            let shared = epochs.shared(deadLetter: cursor, of: epoch.load(ordering: .acquiring))
            return min(shared, try context.lastDeadLetterID())
        }
        try writer.putSentDeadLetter(shared, topic: topic)
    }

    func prepareToStop() { sink.prepareToStop() }

    func report(_ event: OutboxEvent) {
        switch event {
        case .ok: health?.report(.deadLettersOK)
        case .failed(let error, let isFull):
            metrics?.deadLetterErrors.increment()
            let waits = isFull ? "; deadLetters.maxUnsent is reached, reading waits" : ""
            health?.report(.deadLettersFailing(reason: "\(error)\(waits)"))
            logger.error("dead letters are not delivered", metadata: ["reason": "\(error)\(waits)"])
        case .reached: break
        case .waiting(let count): metrics?.deadLettersUnsent.set(Int64(count))
        }
    }
}
