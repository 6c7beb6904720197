import Dispatch
import Synchronization

/// Writes records; idempotent by default, so that the library's retries neither repeat nor reorder them.
///
/// Calls may come from any thread. One thread of the producer's own serves deliveries. A closed producer throws
/// `closed`.
public final class Producer: Sendable {
    private let native: Mutex<NativeProducer?>
    private let failures: FailureLog
    private let service: DeliveryService

    /// Makes a producer; throws `KafkaError` when a property is unknown or refused. It connects when it first sends.
    ///
    /// `onDelivery` gets partition and offset of each record that was enqueued without a callback of its own and that the
    /// broker acknowledged. It is called on the producer's thread, where it must not block.
    public init(
        configuration: KafkaConfiguration, onDelivery: (@Sendable (TopicPartition, Int64) -> Void)? = nil
    ) throws {
        let failures = FailureLog()
        let producer = try NativeProducer(configuration, onDelivery: onDelivery) { failures.record($0) }
        self.failures = failures
        service = DeliveryService(producer)
        native = Mutex(producer)
        try service.start()
    }

    deinit { service.requestStop() }

    /// Writes one record and waits until the broker acknowledged it.
    ///
    /// While the queue is full it waits for room. Throws the delivery's failure, and `CancellationError` when the task
    /// is cancelled before the record was queued; once queued the record's fate decides.
    public func send(
        topic: String, partition: Int32? = nil, key: [UInt8]? = nil, value: [UInt8]?,
        headers: [RecordHeader] = [], timestampMilliseconds: Int64? = nil
    ) async throws -> DeliveryReport {
        let record = ProducerRecord(
            topic: topic, partition: partition, key: key, value: value, headers: headers,
            timestampMilliseconds: timestampMilliseconds)
        while true {
            do {
                return try await sendOnce(record)
            } catch let error as KafkaError where error.code == .queueFull {
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    /// Queues a record and returns at once; its failure shows in the next `flush`.
    ///
    /// Throws `_QUEUE_FULL` (retriable: flush, then try again) and `MSG_SIZE_TOO_LARGE`.
    public func enqueue(_ record: ProducerRecord) throws {
        try enqueue(record, callback: nil)
    }

    /// Queues a record; where the queue is full, calls `makeRoom`, which is to flush, and tries once more.
    ///
    /// - Throws: ``KafkaError``, and what `makeRoom` throws.
    public func enqueue(_ record: ProducerRecord, makingRoom makeRoom: () throws -> Void) throws {
        do {
            try enqueue(record)
        } catch let error as KafkaError where error.code == .queueFull {
            try makeRoom()
            try enqueue(record)
        }
    }

    /// Queues a record and calls `onDelivery` once, on the producer's thread, where it must not block.
    ///
    /// - Throws: ``KafkaError``.
    public func enqueue(
        _ record: ProducerRecord, onDelivery: @escaping @Sendable (Result<DeliveryReport, KafkaError>) -> Void
    ) throws {
        try enqueue(record, callback: DeliveryCallback(onDelivery))
    }

    /// Waits until all queued records are written.
    ///
    /// Throws the first failed delivery since the last flush, except of records with a callback of their own. Throws
    /// `_TIMED_OUT` when some records are still on their way: they stay queued. It blocks its thread.
    public func flush(timeoutMilliseconds: Int) throws {
        let outcome = Result { try live().flush(timeoutMilliseconds: timeoutMilliseconds) }
        if let failure = failures.take() { throw failure }
        try outcome.get()
    }

    /// Returns why the brokers cannot be reached, where an error says only that nothing came back.
    public func explain(_ error: KafkaError) -> KafkaError {
        native.withLock { $0 }?.client.callbacks.errorLog.explain(error) ?? error
    }

    /// The number of records that are neither written nor failed.
    public var queuedCount: Int { native.withLock { $0 }?.queuedCount ?? 0 }

    /// Flushes, fails what could not be written in time (`_PURGE_QUEUE`, `_PURGE_INFLIGHT`), and stops.
    ///
    /// Throws as `flush` does; the producer is closed all the same. A second call does nothing.
    public func close(timeoutMilliseconds: Int = 10_000) throws {
        guard !isClosed else { return }
        defer {
            native.withLock { $0 = nil }
            service.stopAndWait()
        }
        try flush(timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Whether `close` was called.
    public var isClosed: Bool { native.withLock { $0 == nil } }

    private func sendOnce(_ record: ProducerRecord) async throws -> DeliveryReport {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<DeliveryReport, any Error>) in
            do {
                let callback = DeliveryCallback { continuation.resume(with: $0) }
                try enqueue(record, callback: callback)
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    func live() throws -> NativeProducer {
        guard let producer = native.withLock({ $0 }) else { throw Self.closed }
        return producer
    }

    /// Holds the lock, so that no record comes in behind the last purge and is never reported.
    private func enqueue(_ record: ProducerRecord, callback: DeliveryCallback?) throws {
        try native.withLock { producer in
            guard let producer else { throw Self.closed }
            try producer.enqueue(record, callback: callback)
        }
    }

    private static let closed = KafkaError(.closed, "the producer is closed")
}

/// Keeps the first failed delivery until somebody takes it.
final class FailureLog: Sendable {
    private let first = Mutex<KafkaError?>(nil)

    func record(_ error: KafkaError) { first.withLock { $0 = $0 ?? error } }
    func take() -> KafkaError? { first.withLock { $0.take() } }
}

/// Runs the thread that serves deliveries, and holds the native producer until that thread has ended.
final class DeliveryService: Sendable {
    private let producer: Mutex<NativeProducer?>
    private let isStopping = Atomic<Bool>(false)
    private let thread = Atomic<UInt>(0)
    private let stopped = DispatchSemaphore(value: 0)
    private static let serveMilliseconds = 50

    init(_ producer: NativeProducer) { self.producer = Mutex(producer) }

    func start() throws {
        try DedicatedThread.start { [self] in
            thread.store(DedicatedThread.current, ordering: .releasing)
            if let producer = producer.withLock({ $0.take() }) { run(producer) }
            stopped.signal()
        }
    }

    private func run(_ producer: NativeProducer) {
        while !isStopping.load(ordering: .acquiring) {
            producer.serve(timeoutMilliseconds: Self.serveMilliseconds)
        }
        producer.purgeAndDrain()
    }

    func requestStop() { isStopping.store(true, ordering: .releasing) }

    /// Waits for the thread's end, unless it is the thread itself that asks.
    func stopAndWait() {
        requestStop()
        if thread.load(ordering: .acquiring) == DedicatedThread.current { return }
        stopped.wait()
        // For another caller that waits.
        stopped.signal()
    }
}
