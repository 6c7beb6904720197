import GraphCore
import KafkaClient
import Logging
import Synchronization

extension NotificationConfiguration {
    /// The name under which the store keeps how far notifications were delivered to the topic.
    package var cursorName: String { "\(Self.cursorPrefix)\(topic ?? "")" }
    /// The beginning of such cursors' names.
    static let cursorPrefix = "notifications:"
}

extension WorkerConfiguration {
    /// Makes the cursor of the notifications known to the store, so that no purge passes undelivered transactions.
    package func putCursor(of outbox: Outbox?, _ writer: WriterContext) throws {
        guard let outbox else { return }
        if writer.sharesStore {
            try writer.startCursor(notifications.cursorName, at: outbox.cursor)
        } else {
            try writer.putCursors([notifications.cursorName: outbox.cursor])
        }
        try writer.commit()
    }
}

extension Outbox {
    /// Makes the outbox of notifications: it goes on where the store's cursor stands, and a new one begins with what the
    /// history still holds.
    ///
    /// - Throws: `StoreError`.
    package static func notifications(
        store: Store, sink: any RecordSink, configuration: NotificationConfiguration,
        metrics: WorkerMetrics? = nil, health: HealthMonitor? = nil, logger: Logger, outages: OutageLog? = nil,
        isActive: Bool = true, clock: WorkerClock = .system, tracing: WorkerTracing = .installed
    ) throws -> Outbox {
        let delivery = try NotificationDelivery(
            store: store, sink: sink, configuration: configuration, metrics: metrics, health: health, logger: logger,
            outages: outages ?? OutageLog(logger: logger, now: clock.seconds), clock: clock, tracing: tracing)
        let maximum = configuration.maxOutboxTransactions
        return try Outbox(
            delivery, cursor: try delivery.storedCursor(),
            limit: BacklogLimit(maximum: maximum, resumesAt: maximum - maximum / 10 - 1), isActive: isActive,
            clock: clock)
    }
}

/// Reads the history and delivers notifications; a cursor is a token.
///
/// A notification that is repeated after a crash is known by its token.
final class NotificationDelivery: SinkDelivery {
    let store: Store
    let sink: any RecordSink
    /// The identity of the store whose changes are sent.
    let storeIdentity: String
    private let builder: NotificationBuilder
    private let topic: String
    private let cursorName: String
    private let includesValues: Bool
    let metrics: WorkerMetrics?
    let health: HealthMonitor?
    let logger: Logger
    private let outages: OutageLog
    private let clock: WorkerClock
    private let tracing: WorkerTracing
    /// The cursor behind the last batch that the sink is known to have finished; behind another one the sink is asked.
    ///
    /// A worker that gave the delivery up and has it again goes on at the store's cursor, which may be older.
    private let finishedCursor = Mutex<Int64?>(nil)
    let epoch = ReachedEpoch()

    init(
        store: Store, sink: any RecordSink, configuration: NotificationConfiguration, metrics: WorkerMetrics?,
        health: HealthMonitor?, logger: Logger, outages: OutageLog, clock: WorkerClock, tracing: WorkerTracing
    ) throws {
        self.store = store
        self.sink = sink
        self.metrics = metrics
        self.health = health
        self.logger = logger
        self.outages = outages
        self.clock = clock
        self.tracing = tracing
        topic = configuration.topic ?? ""
        cursorName = configuration.cursorName
        storeIdentity = try store.identity()
        builder = NotificationBuilder(configuration: configuration, storeIdentity: storeIdentity, model: store.model)
        includesValues = configuration.values && configuration.granularity == .object
    }

    // MARK: Delivering

    func deliver(after cursor: Int64) throws -> DeliveredBatch? {
        if let sent = sink.sentTopic, let loss = try sent.loss(through: cursor, entry: token, page: retained) {
            return try sendAgain(loss, sent, through: cursor)
        }
        if let resumed = try resume(after: cursor) { return resumed }
        guard let (transactions, start, epochs) = try unsent(after: cursor) else {
            let purged = try store.read { try $0.purgedToken() }
            logger.error(
                "history was purged before it was notified",
                metadata: ["after": .stringConvertible(cursor), "through": .stringConvertible(purged)])
            return DeliveredBatch(cursor: purged, count: Int(purged - cursor))
        }
        guard let last = transactions.last else { return nil }
        if start < cursor {
            logger.warning(
                "another server took over without the last transactions: their numbers are notified again",
                metadata: ["after": .stringConvertible(start), "notified": .stringConvertible(cursor)])
        }
        sink.sentTopic?.beginBatch()
        do {
            try tracing.span("ingest notifications", ofKind: .producer, of: transactions.compactMap(\.trace)) { span in
                let count = try send(transactions, last)
                span?.attributes["messaging.batch.message_count"] = count
            }
            metrics?.latency.notified(transactions.map { ($0.token, $0.time) }, at: clock.microseconds())
        } catch {
            // Whether the batch was finished is known to the sink alone.
            finishedCursor.withLock { $0 = nil }
            throw error
        }
        finishedCursor.withLock { $0 = last.token }
        epoch.reach(epochs)
        return DeliveredBatch(cursor: last.token, count: Int(last.token - start))
    }

    /// Reads the transactions of the next batch, with the token that they follow and the epochs of the history. It is nil
    /// where a purge by hand has passed the cursor: going on is the lesser evil, and it is said aloud.
    private func unsent(after cursor: Int64) throws -> ([HistoryTransaction], start: Int64, HistoryEpochs)? {
        do {
            return try store.read { context in
                let epochs = try context.sentEpochs(of: storeIdentity)
                let start = shared(cursor, epochs)
                return (try context.history(after: start, limit: 200, maximumChangeCount: Self.pageSize), start, epochs)
            }
        } catch let error as StoreError where error.code == .historyExpired {
            return nil
        }
    }

    /// Notifications of a batch on their way to the sink: not all of them are in memory at a time.
    private struct Gathered {
        var records: [ProducerRecord] = []
        var bytes = 0
        /// The number of gathered notifications, including the ones that are sent already.
        var count = 0

        mutating func add(_ record: ProducerRecord) {
            records.append(record)
            bytes += (record.key?.count ?? 0) + (record.value?.count ?? 0)
            count += 1
        }
    }

    /// Sends the notifications of a batch, finishes it, and returns how many notifications there were.
    private func send(_ transactions: [HistoryTransaction], _ last: HistoryTransaction) throws -> Int {
        var gathered = Gathered()
        for transaction in transactions { try gather(transaction, firstPart: 1, &gathered) }
        // Only a transaction that stands alone can have more pages.
        try gatherRest(of: last, &gathered)
        try send(&gathered)
        health?.report(.publisherDelivering)
        try sink.finish(through: last.token)
        return gathered.count
    }

    private func gather(_ transaction: HistoryTransaction, firstPart: Int, _ gathered: inout Gathered) throws {
        try builder.build(transaction, firstPart: firstPart, values: currentValues) { notification in
            gathered.add(notification.record(topic: topic))
            if gathered.bytes >= Self.maximumBytes { try send(&gathered) }
        }
    }

    private func send(_ gathered: inout Gathered) throws {
        health?.report(.publisherDelivering)
        try sink.deliver(gathered.records)
        metrics?.notifications.increment(by: gathered.records.count)
        gathered.records.removeAll(keepingCapacity: true)
        gathered.bytes = 0
    }

    /// Goes on behind the token that the sink knows to be finished, where the store's cursor does not say so yet. The broker
    /// may have lost it.
    private func resume(after cursor: Int64) throws -> DeliveredBatch? {
        if finishedCursor.withLock({ $0 == cursor }) { return nil }
        health?.report(.publisherDelivering)
        let finished = try sink.finishedEntry().flatMap { try unsaved($0, after: cursor) }
        if let sent = sink.sentTopic {
            let loss = try sent.loss(
                of: finishedEntries(after: cursor, through: finished ?? cursor), behind: reachedEntry(at: cursor),
                entry: token)
            if let loss {
                let isBefore = loss.lastEntry ?? 0 < cursor
                return try sendAgain(loss, sent, from: isBefore ? 0 : cursor, through: finished ?? cursor)
            }
        }
        finishedCursor.withLock { $0 = finished ?? cursor }
        return finished.map { DeliveredBatch(cursor: $0, count: Int($0 - cursor)) }
    }

    /// Returns the transaction at a cursor where it was notified; nil where it is purged.
    private func reachedEntry(at cursor: Int64) throws -> Int64? {
        if try store.read({ try $0.purgedToken() }) >= cursor { return nil }
        return try finishedEntries(after: cursor - 1, through: cursor).first
    }

    /// Returns the transactions behind a cursor that were notified; where they are many, or are purged, the last one only.
    private func finishedEntries(after cursor: Int64, through last: Int64) throws -> [Int64] {
        var entries: [Int64] = []
        var start = cursor
        do {
            while start < last {
                let page = try notified(after: start, limit: Int(min(Int64(Self.notifiedLimit), last - start)))
                guard let page, entries.count < SentRecords.entryLimit else { return [last] }
                entries += page.entries.filter { $0 <= last }
                start = page.end
            }
        } catch let error as StoreError where error.code == .historyExpired {
            return [last]
        }
        return entries
    }

    /// The number of transactions that are read at a time to see which were notified.
    private static let notifiedLimit = 200

    /// Reads the next transactions behind a token, and returns the notified ones among them; nil where none follow.
    ///
    /// - Throws: `StoreError` with code `history.expired` where some of them are purged.
    private func notified(after token: Int64, limit: Int = notifiedLimit) throws -> SentRecords.Page? {
        let transactions = try store.read {
            try $0.history(after: token, limit: limit, maximumChangeCount: Self.pageSize)
        }
        let entries = transactions.filter { transaction in
            var isNotified = false
            builder.build(transaction, values: { _ in nil }, take: { _ in isNotified = true })
            return isNotified
        }
        return transactions.last.map { SentRecords.Page(entries: entries.map(\.token), end: $0.token) }
    }

    /// Reads the next notified transactions behind a token that the history still has; nil where none follow.
    private func retained(after token: Int64) throws -> SentRecords.Page? {
        try notified(after: max(token, try store.read { try $0.purgedToken() }))
    }

    /// Returns the sink's last entry where it is one that the store's cursor has still to reach.
    private func unsaved(_ entry: Int64, after cursor: Int64) throws -> Int64? {
        let (last, epochs) = try store.read { (try $0.lastToken(), try $0.historyEpochs()) }
        // The sink does not know the epoch. A number behind the last fork may be of a transaction that was lost.
        let finished = epochs.forks.last.map { min(entry, $0.lastToken) } ?? entry
        // The token from before a loss is greater than the cursor, too.
        if let through = sink.sentTopic?.sendsAgainThrough, finished >= through { return nil }
        if finished > last {
            logger.error(
                "the store is older than what was notified: it was restored from a copy",
                metadata: ["token": .stringConvertible(last), "notified": .stringConvertible(finished)])
            return nil
        }
        return finished > cursor ? finished : nil
    }

    /// The number of changes that are in memory at a time, however many a transaction has.
    private static let pageSize = 5000
    /// The bytes of notifications that are in memory at a time, unless one alone has more.
    private static let maximumBytes = 4 << 20

    /// Gathers the notifications of a transaction's further pages.
    private func gatherRest(of transaction: HistoryTransaction, _ gathered: inout Gathered) throws {
        var next = transaction.nextIndex
        while let index = next {
            let page = try store.read { try $0.transaction(transaction.token, from: index, limit: Self.pageSize) }
            guard let page else { break }
            try gather(page, firstPart: gathered.count + 1, &gathered)
            next = page.nextIndex
        }
    }

    private func currentValues(_ change: HistoryChange) throws -> String? {
        guard includesValues, change.kind != .delete else { return nil }
        return try store.read { try $0.objectJSON(entity: change.entity, identity: change.identity) }
    }

    // MARK: The rest of an outbox

    func waitingCount(after cursor: Int64) throws -> Int {
        Int(max(0, try store.read { try $0.lastToken() } - cursor))
    }

    func storedCursor(_ context: ReadContext) throws -> Int64 {
        try context.cursors()[cursorName] ?? context.purgedToken()
    }

    func shared(_ cursor: Int64, _ epochs: HistoryEpochs) -> Int64 { epochs.shared(cursor, of: epoch.number) }

    func lastEntry(_ context: ReadContext) throws -> Int64 { try context.lastToken() }

    func put(_ cursor: Int64, _ writer: WriterContext) throws { try writer.putCursors([cursorName: cursor]) }

    func report(_ event: OutboxEvent) {
        switch event {
        case .ok:
            health?.report(.publisherOK)
            outages.succeeded(.notifications)
        case .failed(let error, _):
            metrics?.notificationErrors.increment()
            health?.report(.publisherFailing(reason: "\(error)"))
            outages.failed(.notifications, error)
        case .reached(let token):
            metrics?.notificationToken.set(token)
            if let sent = sink.sentTopic, sent.reached(token) { health?.report(.outputSentAgain(topic: sent.topic)) }
        case .waiting(let count): metrics?.outboxTransactions.set(Int64(count))
        }
    }
}
