import Logging
import ObjectGraph
import Synchronization

extension NotificationConfiguration {
    /// The name under which the store keeps how far notifications were delivered to the topic.
    var cursorName: String { "\(Self.cursorPrefix)\(topic ?? "")" }
    /// The beginning of such cursors' names.
    static let cursorPrefix = "notifications:"
}

extension Outbox {
    /// Makes the outbox of notifications: it goes on where the store's cursor stands, and a new one begins with what the
    /// history still holds.
    ///
    /// - Throws: `StoreError`.
    static func notifications(
        store: Store, sink: any NotificationSink, configuration: NotificationConfiguration,
        metrics: WorkerMetrics? = nil, health: HealthMonitor? = nil, logger: Logger, isActive: Bool = true,
        tracing: WorkerTracing = .installed
    ) throws -> Outbox {
        let delivery = try NotificationDelivery(
            store: store, sink: sink, configuration: configuration, metrics: metrics, health: health, logger: logger,
            tracing: tracing)
        let maximum = configuration.maxOutboxTransactions
        return try Outbox(
            delivery, cursor: try delivery.storedCursor(),
            limit: BacklogLimit(maximum: maximum, resumesAt: maximum - maximum / 10 - 1), isActive: isActive)
    }
}

/// Reads the history and delivers notifications; a cursor is a token.
///
/// A notification that is repeated after a crash is known by its token.
final class NotificationDelivery: OutboxDelivery {
    private let store: Store
    private let sink: any NotificationSink
    /// The identity of the store whose changes are sent.
    private let storeIdentity: String
    private let builder: NotificationBuilder
    private let cursorName: String
    private let includesValues: Bool
    private let metrics: WorkerMetrics?
    private let health: HealthMonitor?
    private let logger: Logger
    private let tracing: WorkerTracing
    /// Whether the sink was asked how far it is.
    private let isResumed = Atomic<Bool>(false)
    /// The epoch of the history in which the cursor was reached.
    private let epoch = Atomic<Int64>(0)

    init(
        store: Store, sink: any NotificationSink, configuration: NotificationConfiguration, metrics: WorkerMetrics?,
        health: HealthMonitor?, logger: Logger, tracing: WorkerTracing
    ) throws {
        self.store = store
        self.sink = sink
        self.metrics = metrics
        self.health = health
        self.logger = logger
        self.tracing = tracing
        cursorName = configuration.cursorName
        storeIdentity = try store.identity()
        builder = NotificationBuilder(configuration: configuration, storeIdentity: storeIdentity, model: store.model)
        includesValues = configuration.values && configuration.granularity == .object
    }

    // MARK: Delivering

    func deliver(after cursor: Int64) throws -> DeliveredBatch? {
        if let reached = try resume(after: cursor) {
            return DeliveredBatch(cursor: reached, count: Int(reached - cursor))
        }
        let transactions: [HistoryTransaction]
        var (start, epochs) = (cursor, HistoryEpochs())
        do {
            transactions = try store.read { context in
                epochs = try context.sentEpochs(of: storeIdentity)
                start = epochs.shared(cursor, of: epoch.load(ordering: .acquiring))
                return try context.history(after: start, limit: 200, maximumChangeCount: Self.pageSize)
            }
        } catch let error as StoreError where error.code == .historyExpired {
            // Only a purge by hand passes a cursor. Going on is the lesser evil, and it is said aloud.
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
        do {
            try tracing.span("ingest notifications", ofKind: .producer, of: transactions.compactMap(\.trace)) { span in
                let count = try send(transactions, last)
                span?.attributes["messaging.batch.message_count"] = count
            }
            metrics?.latency.notified(transactions.map { ($0.token, $0.time) }, at: WriterContext.systemTime())
        } catch {
            // Whether the batch was finished is known to the sink alone.
            isResumed.store(false, ordering: .releasing)
            throw error
        }
        epoch.max(epochs.current, ordering: .acquiringAndReleasing)
        return DeliveredBatch(cursor: last.token, count: Int(last.token - start))
    }

    /// Notifications of a batch on their way to the sink: not all of them are in memory at a time.
    private struct Gathered {
        var notifications: [ChangeNotification] = []
        var bytes = 0
        /// How many were gathered, those that are sent among them.
        var count = 0

        mutating func add(_ notification: ChangeNotification) {
            notifications.append(notification)
            bytes += (notification.key?.utf8.count ?? 0) + (notification.value?.utf8.count ?? 0)
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
            gathered.add(notification)
            if gathered.bytes >= Self.maximumBytes { try send(&gathered) }
        }
    }

    private func send(_ gathered: inout Gathered) throws {
        health?.report(.publisherDelivering)
        try sink.deliver(gathered.notifications)
        metrics?.notifications.increment(by: gathered.notifications.count)
        gathered.notifications.removeAll(keepingCapacity: true)
        gathered.bytes = 0
    }

    /// Returns the token that the sink knows to be finished, where the store's cursor does not say so yet.
    private func resume(after cursor: Int64) throws -> Int64? {
        if isResumed.load(ordering: .acquiring) { return nil }
        health?.report(.publisherDelivering)
        var finished = try sink.finishedToken()
        let (last, epochs) = try store.read { (try $0.lastToken(), try $0.historyEpochs()) }
        // The sink does not know the epoch. A number behind the last fork may be of a transaction that was lost.
        if let fork = epochs.forks.last { finished = finished.map { min($0, fork.lastToken) } }
        isResumed.store(true, ordering: .releasing)
        guard let finished else { return nil }
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

    func storedCursor() throws -> Int64 {
        try store.read { context in
            epoch.max(try context.historyEpochs().current, ordering: .acquiringAndReleasing)
            return try context.cursors()[cursorName] ?? context.purgedToken()
        }
    }

    func save(_ cursor: Int64, _ writer: WriterContext) throws {
        // A server that has just taken over may end before the cursor, and has no epoch for that yet.
        let shared = try store.read { context in
            let shared = try context.historyEpochs().shared(cursor, of: epoch.load(ordering: .acquiring))
            return min(shared, try context.lastToken())
        }
        try writer.putCursors([cursorName: shared])
    }

    func prepareToStop() { sink.prepareToStop() }

    func report(_ event: OutboxEvent) {
        switch event {
        case .ok: health?.report(.publisherOK)
        case .failed(let error, _):
            metrics?.notificationErrors.increment()
            health?.report(.publisherFailing(reason: "\(error)"))
            logger.error("notifications are not delivered", metadata: ["reason": "\(error)"])
        case .reached(let token): metrics?.notificationToken.set(token)
        case .waiting(let count): metrics?.outboxTransactions.set(Int64(count))
        }
    }
}
