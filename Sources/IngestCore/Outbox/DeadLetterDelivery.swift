import GraphCore
import KafkaClient
import Logging
import Synchronization

extension Outbox {
    /// Makes the outbox of dead letters. It goes on where the store's cursor for the topic stands; a new topic begins
    /// with the first letter there is.
    ///
    /// - Throws: `StoreError`.
    package static func deadLetters(
        store: Store, sink: any RecordSink, topic: String, configuration: WorkerConfiguration,
        metrics: WorkerMetrics? = nil, health: HealthMonitor? = nil, logger: Logger, outages: OutageLog? = nil,
        isActive: Bool = true, clock: WorkerClock = .system
    ) throws -> Outbox {
        let maximum = configuration.deadLetters.maxUnsent
        let delivery = try DeadLetterDelivery(
            store: store, sink: sink, topic: topic, configuration: configuration, metrics: metrics, health: health,
            logger: logger, outages: outages ?? OutageLog(logger: logger, now: clock.seconds))
        return try Outbox(
            delivery, cursor: try delivery.storedCursor(),
            limit: BacklogLimit(maximum: maximum, resumesAt: maximum / 2), isActive: isActive, clock: clock)
    }
}

/// Sends the dead letters of the store to their topic; a cursor is a letter's number.
final class DeadLetterDelivery: SinkDelivery {
    let store: Store
    /// The identity of the store whose records are delivered: a rebuilt one may take its place.
    private let storeIdentity: String
    let sink: any RecordSink
    private let topic: String
    private let records: DeadLetterRecord
    private let metrics: WorkerMetrics?
    private let health: HealthMonitor?
    private let logger: Logger
    private let outages: OutageLog

    let epoch = ReachedEpoch()
    /// The last letter of a batch that was refused: up to it each letter is sent by itself.
    private let refusedThrough = Atomic<Int64>(0)

    /// How much is in memory at a time: letters, and the bytes of their values unless one alone has more.
    private static let batchCount = 500
    private static let batchBytes = 4 << 20
    /// The least that `message.max.bytes` allows.
    private static let leastBytes = 1000

    init(
        store: Store, sink: any RecordSink, topic: String, configuration: WorkerConfiguration,
        metrics: WorkerMetrics?, health: HealthMonitor?, logger: Logger, outages: OutageLog
    ) throws {
        self.store = store
        storeIdentity = try store.identity()
        self.sink = sink
        self.topic = topic
        self.metrics = metrics
        self.health = health
        self.logger = logger
        self.outages = outages
        records = DeadLetterRecord(
            topic: topic, author: configuration.author, storeIdentity: storeIdentity,
            maximumBytes: configuration.deadLetters.maxBytes)
    }

    func deliver(after cursor: Int64) throws -> DeliveredBatch? {
        if let sent = sink.sentTopic,
            let loss = try sent.loss(through: cursor, entry: records.id, page: page)
                ?? sent.loss(of: [], behind: cursor > 0 ? cursor : nil, entry: records.id)
        {
            return try sendAgain(loss, sent, through: cursor)
        }
        let (letters, epochs) = try store.read { context in
            let epochs = try context.sentEpochs(of: storeIdentity)
            // Records that were lost when another server took over gave their numbers to others.
            let start = shared(cursor, epochs)
            let count = start < refusedThrough.load(ordering: .acquiring) ? 1 : Self.batchCount
            return (try context.deadLetters(after: start, limit: count, maximumBytes: Self.batchBytes), epochs)
        }
        if letters.isEmpty { return nil }
        health?.report(.deadLettersDelivering)
        let count = try send(letters)
        try sink.finish(through: letters[count - 1].id)
        metrics?.deadLettersSent.increment(by: count)
        epoch.reach(epochs)
        return DeliveredBatch(cursor: letters[count - 1].id, count: count)
    }

    /// Goes back to the last letter that the topic still holds. Letters that the store has no more are not sent again.
    private func sendAgain(_ loss: SentTopic.Loss, _ sent: SentTopic, through cursor: Int64) throws -> DeliveredBatch {
        let start = min(cursor, loss.lastEntry ?? 0)
        let count = try waitingCount(after: start) - waitingCount(after: cursor)
        let kept = loss.lastEntry.map { "ends at number \($0)" } ?? "holds none"
        let reason =
            "the broker lost dead letters: \(topic) \(kept), and number \(cursor) was sent; "
            + "\(counted(count, "dead letter")) of the store \(count == 1 ? "is" : "are") sent again"
        logger.error("the broker lost dead letters", metadata: ["reason": "\(reason)"])
        metrics?.deadLettersLost.increment(by: count)
        health?.report(.outputLost(topic: topic, reason: reason))
        sent.sendAgain(loss, from: start, through: cursor)
        return DeliveredBatch(cursor: start, count: 0)
    }

    private func page(after id: Int64) throws -> SentRecords.Page? {
        let letters = try store.read {
            try $0.deadLetters(after: id, limit: Self.batchCount, maximumBytes: Self.batchBytes).map(\.id)
        }
        return letters.last.map { SentRecords.Page(entries: letters, end: $0) }
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

    func storedCursor(_ context: ReadContext) throws -> Int64 { try context.sentDeadLetter(topic: topic) }

    func shared(_ cursor: Int64, _ epochs: HistoryEpochs) -> Int64 {
        epochs.shared(deadLetter: cursor, of: epoch.number)
    }

    func lastEntry(_ context: ReadContext) throws -> Int64 { try context.lastDeadLetterID() }

    func put(_ cursor: Int64, _ writer: WriterContext) throws { try writer.putSentDeadLetter(cursor, topic: topic) }

    func report(_ event: OutboxEvent) {
        switch event {
        case .ok:
            health?.report(.deadLettersOK)
            outages.succeeded(.deadLetters)
        case .failed(let error, let isFull):
            metrics?.deadLetterErrors.increment()
            let waits = isFull ? "; deadLetters.maxUnsent is reached, reading waits" : ""
            health?.report(.deadLettersFailing(reason: "\(error)\(waits)"))
            outages.failed(.deadLetters, error, rest: waits)
        case .reached(let id):
            if let sent = sink.sentTopic, sent.reached(id) { health?.report(.outputSentAgain(topic: topic)) }
        case .waiting(let count): metrics?.deadLettersUnsent.set(Int64(count))
        }
    }
}
