import Foundation
import Logging
import ObjectGraph
import Synchronization

/// The cursors that readers of the history have reached, on their way to the one thread that may write the store.
public final class CursorMailbox: Sendable {
    private let cursors = Mutex<[String: Int64]>([:])

    /// Makes an empty mailbox.
    public init() {}

    /// Leaves a cursor to be saved.
    public func put(_ name: String, _ token: Int64) {
        cursors.withLock { $0[name] = max($0[name] ?? 0, token) }
    }

    /// Takes what is to be saved.
    public func take() -> [String: Int64] {
        cursors.withLock { cursors in
            defer { cursors = [:] }
            return cursors
        }
    }
}

extension NotificationConfiguration {
    /// The name under which the store keeps how far notifications were delivered to the topic.
    var cursorName: String { "\(Self.cursorPrefix)\(topic ?? "")" }
    /// What the names of the publisher's cursors begin with.
    static let cursorPrefix = "notifications:"
}

/// Reads the history from its own cursor and delivers notifications: the outbox's reader.
///
/// The cursor is saved after the delivery, so that a crash repeats notifications and never skips one; a repeat is
/// known by its token.
public final class NotificationPublisher: Sendable {
    /// The name under which the store keeps the publisher's cursor.
    public let cursorName: String
    private let store: Store
    private let sink: any NotificationSink
    private let builder: NotificationBuilder
    private let includesValues: Bool
    private let mailbox: CursorMailbox
    private let metrics: WorkerMetrics?
    private let health: HealthMonitor?
    private let logger: Logger
    private let token: Mutex<Int64>
    private let hasFailed = Atomic<Bool>(false)
    /// Whether the sink was asked how far it is.
    private let isResumed = Atomic<Bool>(false)
    private let loop = OutboxLoop()

    /// Makes a publisher that goes on where the store's cursor stands.
    ///
    /// - Throws: `StoreError`.
    public init(
        store: Store, sink: any NotificationSink, configuration: NotificationConfiguration, mailbox: CursorMailbox,
        metrics: WorkerMetrics? = nil, health: HealthMonitor? = nil, logger: Logger
    ) throws {
        self.store = store
        self.sink = sink
        self.mailbox = mailbox
        self.metrics = metrics
        self.health = health
        self.logger = logger
        let name = configuration.cursorName
        cursorName = name
        builder = NotificationBuilder(
            configuration: configuration, storeIdentity: try store.identity(), model: store.model)
        includesValues = configuration.values && configuration.granularity == .object
        // A new reader begins with what the history still holds.
        token = Mutex(try store.read { try $0.cursors()[name] ?? $0.purgedToken() })
    }

    /// The last token that was delivered.
    public var deliveredToken: Int64 { token.withLock { $0 } }

    /// Whether the last attempt to deliver failed.
    public var isFailing: Bool { hasFailed.load(ordering: .acquiring) }

    /// Wakes the publisher: there may be something to deliver.
    public func wake() { loop.wake() }

    /// Asks the loop to end after what it is doing.
    public func requestStop() {
        sink.prepareToStop()
        loop.requestStop()
    }

    /// Delivers until it is asked to stop. Blocks its thread.
    ///
    /// - Throws: `StoreError` where the store's disk failed or it is damaged.
    public func run() throws {
        try loop.run(
            next: publishNext,
            succeeded: {
                hasFailed.store(false, ordering: .releasing)
                health?.report(.publisherOK)
            }, failed: report)
    }

    private func report(_ error: any Error) {
        metrics?.notificationErrors.increment()
        hasFailed.store(true, ordering: .releasing)
        health?.report(.publisherFailing(reason: "\(error)"))
        logger.error("notifications are not delivered", metadata: ["reason": "\(error)"])
    }

    /// Delivers everything there is, for the end of a run.
    ///
    /// - Throws: what the store or the sink throws; the rest stays in the outbox.
    public func drain(untilSeconds deadline: Double) throws {
        while HealthMonitor.monotonicSeconds() < deadline, try publishNext() > 0 {}
    }

    /// Delivers the next transactions, and returns how many there were.
    func publishNext() throws -> Int {
        try resume()
        let after = deliveredToken
        let transactions: [HistoryTransaction]
        do {
            transactions = try store.read {
                try $0.history(after: after, limit: 200, maximumChangeCount: Self.pageSize)
            }
        } catch let error as StoreError where error.code == .historyExpired {
            // Only a purge by hand passes a cursor. Going on is the lesser evil, and it is said aloud.
            let purged = try store.read { try $0.purgedToken() }
            logger.error(
                "history was purged before it was notified",
                metadata: ["after": .stringConvertible(after), "through": .stringConvertible(purged)])
            advance(to: purged)
            return 1
        }
        guard let last = transactions.last else { return 0 }
        var notifications: [ChangeNotification] = []
        for transaction in transactions {
            notifications += try builder.notifications(for: transaction, values: currentValues)
        }
        do {
            health?.report(.publisherDelivering)
            try sink.deliver(notifications)
            metrics?.notifications.increment(by: notifications.count)
            // Only a transaction that stands alone can have more pages.
            try publishRest(of: last, firstPart: notifications.count + 1)
            health?.report(.publisherDelivering)
            try sink.finish(through: last.token)
        } catch {
            // Whether the batch was finished is known to the sink alone.
            isResumed.store(false, ordering: .releasing)
            throw error
        }
        advance(to: last.token)
        return transactions.count
    }

    /// Goes on after what the sink knows to be finished, though the store's cursor may not say so yet.
    private func resume() throws {
        if isResumed.load(ordering: .acquiring) { return }
        health?.report(.publisherDelivering)
        if let finished = try sink.finishedToken() {
            let last = try store.read { try $0.lastToken() }
            if finished > last {
                logger.error(
                    "the store is older than what was notified: it was restored from a copy",
                    metadata: ["token": .stringConvertible(last), "notified": .stringConvertible(finished)])
            } else if finished > deliveredToken {
                advance(to: finished)
            }
        }
        isResumed.store(true, ordering: .releasing)
    }

    /// The number of changes that are in memory at a time, however many a transaction has.
    private static let pageSize = 5000

    private func publishRest(of transaction: HistoryTransaction, firstPart: Int) throws {
        var part = firstPart
        var next = transaction.nextIndex
        while let index = next {
            let page = try store.read { try $0.transaction(transaction.token, from: index, limit: Self.pageSize) }
            guard let page else { return }
            let notifications = try builder.notifications(for: page, firstPart: part, values: currentValues)
            health?.report(.publisherDelivering)
            try sink.deliver(notifications)
            metrics?.notifications.increment(by: notifications.count)
            part += notifications.count
            next = page.nextIndex
        }
    }

    private func advance(to reached: Int64) {
        token.withLock { $0 = reached }
        mailbox.put(cursorName, reached)
        metrics?.notificationToken.set(reached)
    }

    private func currentValues(_ change: HistoryChange) throws -> String? {
        guard includesValues, change.kind != .delete else { return nil }
        return try store.read { try $0.objectJSON(entity: change.entity, identity: change.identity) }
    }
}
