import Synchronization

/// Reads topics as a member of a consumer group, or partitions that the caller chooses.
///
/// One thread at a time calls `poll`, in a loop; rebalances, errors and statistics are delivered inside it, on its
/// thread. The other calls may come from any thread. A closed consumer throws `closed`.
public final class Consumer: Sendable {
    /// The topics subscribed to, none where the caller chooses; a name that begins with `^` is a regular expression.
    public let topics: [String]
    private let native: Mutex<NativeConsumer?>
    private let pollGate = PollGate()

    /// Joins the group `group.id` (the join goes on inside `poll`).
    ///
    /// Throws `KafkaError` when a property is unknown or refused. `rebalance` is called with this consumer, see
    /// `RebalanceHandler`; without it every partition starts at the group's committed offset.
    public init(configuration: KafkaConfiguration, topics: [String], rebalance: RebalanceHandler? = nil) throws {
        guard !topics.isEmpty else { throw KafkaError(.invalidArgument, "topics is empty: name at least one") }
        self.topics = topics
        let consumer = try NativeConsumer(configuration)
        native = Mutex(consumer)
        if let rebalance {
            consumer.client.callbacks.rebalance.withLock { state in
                state.hook = { [weak self] event in
                    guard let self else { return [:] }
                    return try rebalance(event, self)
                }
            }
        }
        try consumer.subscribe(topics)
    }

    /// Joins no group and reads nothing until `assign(adding:)` says what; offsets are committed to `group.id`.
    ///
    /// Throws `KafkaError` when a property is unknown or refused.
    public init(withoutGroup configuration: KafkaConfiguration) throws {
        topics = []
        native = Mutex(try NativeConsumer(configuration))
    }

    /// Reads these partitions too, from the offsets given; -2 is a partition's first record, -1 its end.
    ///
    /// Only for a consumer without group; call it on the thread that polls.
    ///
    /// - Throws: ``KafkaError``.
    public func assign(adding offsets: [TopicPartition: Int64]) throws {
        guard topics.isEmpty else {
            throw KafkaError(.invalidArgument, "the group assigns the partitions of a consumer with topics")
        }
        if offsets.isEmpty { return }
        try live().assign(adding: offsets)
    }

    deinit {
        // Nobody can be inside poll now. The handler is not called; the others of the group need not wait.
        if let consumer = native.withLock({ $0.take() }) { _ = try? consumer.close(timeoutMilliseconds: 3_000) }
    }

    /// Takes up to `maxRecords` records.
    ///
    /// Returns as soon as there is something, and an empty batch after `timeoutMilliseconds`. Throws what the
    /// rebalance handler threw, `busy` when another thread is inside `poll`, and `closed`.
    public func poll(maxRecords: Int, timeoutMilliseconds: Int) throws -> RecordBatch {
        guard (1...Self.recordsMax).contains(maxRecords) else {
            throw KafkaError(.invalidArgument, "maxRecords is \(maxRecords): give 1 to \(Self.recordsMax)")
        }
        return try pollGate.enter {
            let (messages, errors) = try live().poll(
                recordsMax: maxRecords, timeoutMilliseconds: timeoutMilliseconds)
            return RecordBatch(messages: messages, errors: errors)
        }
    }

    private static let recordsMax = 1_000_000

    /// Makes a `poll` that waits on another thread return early.
    public func wake() { native.withLock { $0 }?.wake() }

    /// Leaves the group; the handler gets `.revoked` on this thread, before the return. A second call does nothing.
    ///
    /// Throws `_TIMED_OUT` when the consumer could not leave the group in time; the broker then notices by the session
    /// timeout. Rethrows an error of the handler. The consumer is closed in each case. Batches stay valid.
    public func close(timeoutMilliseconds: Int = 10_000) throws {
        guard let consumer = native.withLock({ $0 }) else { return }
        let callbacks = consumer.client.callbacks
        try pollGate.close(wake: consumer.wake) {
            // Two threads can have asked; the second finds it done.
            if isClosed { return }
            defer { native.withLock { $0 = nil } }
            let isClosed = try consumer.close(timeoutMilliseconds: timeoutMilliseconds)
            if let failure = callbacks.rebalance.withLock({ state in state.failure.take() }) { throw failure }
            if !isClosed { throw KafkaError(.timedOut, "the consumer group could not be left in time") }
        }
    }

    /// Ends without leaving the group, for a broker that does not answer: it notices by the session timeout.
    ///
    /// The rebalance handler is not called; batches stay valid. A second call does nothing.
    /// - Throws: ``KafkaError`` with code `CLIENT_BUSY` from inside the handler.
    public func abandon() throws {
        if isClosed { return }
        try pollGate.close(wake: wake) {
            // The library frees nothing before all its requests are answered or have timed out.
            let last = Mutex(native.withLock { $0.take() })
            try DedicatedThread.start { last.withLock { $0 = nil } }
        }
    }

    /// Whether `close` or `abandon` was called.
    public var isClosed: Bool { native.withLock { $0 == nil } }

    func live() throws -> NativeConsumer {
        guard let consumer = native.withLock({ $0 }) else { throw KafkaError(.closed, "the consumer is closed") }
        return consumer
    }
}
