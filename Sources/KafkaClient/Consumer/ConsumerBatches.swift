import Dispatch
import Synchronization

extension Consumer {
    /// Reads batches on a thread of its own, at most one ahead of the reader.
    ///
    /// Ends when the consumer is closed, when the reading task is cancelled, or with the error that `poll` threw.
    /// Empty batches are left out; batches with errors only are not. Iterate once.
    public func batches(maxRecords: Int = 500) -> ConsumerBatches {
        ConsumerBatches(consumer: self, maxRecords: maxRecords)
    }
}

/// Delivers a consumer's batches, see `Consumer.batches(maxRecords:)`.
public struct ConsumerBatches: AsyncSequence, Sendable {
    let consumer: Consumer
    let maxRecords: Int

    /// Starts the reading thread.
    public func makeAsyncIterator() -> Iterator {
        Iterator(BatchPump(consumer: consumer, maxRecords: maxRecords))
    }

    /// Delivers one batch at a time.
    public struct Iterator: AsyncIteratorProtocol {
        private let pump: BatchPump
        private let end: EndOfReading

        init(_ pump: BatchPump) {
            self.pump = pump
            end = EndOfReading(pump)
        }

        /// Waits for the next batch; nil at the end.
        ///
        /// - Throws: ``KafkaError``.
        public mutating func next() async throws -> RecordBatch? { try await pump.next() }
    }

    /// Stops the thread when the last copy of the iterator goes.
    private final class EndOfReading: Sendable {
        private let pump: BatchPump
        init(_ pump: BatchPump) { self.pump = pump }
        deinit { pump.stop() }
    }
}

/// Moves batches from a polling thread to one waiting task; holds one batch at most.
final class BatchPump: Sendable {
    private enum Delivery: Sendable {
        case batch(RecordBatch)
        case end((any Error)?)
    }

    private struct State {
        var ready: Delivery?
        var waiter: CheckedContinuation<Delivery, Never>?
        var isStarted = false
        var isStopped = false
    }

    private let consumer: Consumer
    private let maxRecords: Int
    private let state = Mutex(State())
    private let room = DispatchSemaphore(value: 0)
    private static let pollMilliseconds = 250

    init(consumer: Consumer, maxRecords: Int) {
        self.consumer = consumer
        self.maxRecords = maxRecords
        // Not as the initial value: a semaphore must not be freed below the value that it began with.
        room.signal()
    }

    func next() async throws -> RecordBatch? {
        startOnce()
        let delivery = await withTaskCancellationHandler {
            await withCheckedContinuation { wait(with: $0) }
        } onCancel: {
            stop()
        }
        switch delivery {
        case .batch(let batch): return batch
        case .end(let error?): throw error
        case .end(nil): return nil
        }
    }

    func stop() {
        let waiter = state.withLock { state -> CheckedContinuation<Delivery, Never>? in
            state.isStopped = true
            return state.waiter.take()
        }
        waiter?.resume(returning: .end(nil))
        room.signal()
        consumer.wake()
    }

    private func startOnce() {
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted
        }
        guard isFirst else { return }
        do {
            try DedicatedThread.start { self.run() }
        } catch {
            deliver(.end(error))
        }
    }

    private func wait(with continuation: CheckedContinuation<Delivery, Never>) {
        let ready = state.withLock { state -> Delivery? in
            if state.isStopped { return .end(nil) }
            guard let ready = state.ready else {
                state.waiter = continuation
                return nil
            }
            // The end stays, for a reader that asks again.
            if case .batch = ready { state.ready = nil }
            return ready
        }
        guard let ready else { return }
        room.signal()
        continuation.resume(returning: ready)
    }

    private func run() {
        while true {
            room.wait()
            guard let delivery = nextDelivery() else { return }
            deliver(delivery)
            if case .end = delivery { return }
        }
    }

    /// Polls until there is something to deliver; nil when nobody reads any more.
    private func nextDelivery() -> Delivery? {
        while !state.withLock({ $0.isStopped }) {
            do {
                let batch = try consumer.poll(maxRecords: maxRecords, timeoutMilliseconds: Self.pollMilliseconds)
                if !batch.isEmpty || !batch.errors.isEmpty { return .batch(batch) }
            } catch let error as KafkaError where error.code == .closed {
                return .end(nil)
            } catch {
                return .end(error)
            }
        }
        return nil
    }

    private func deliver(_ delivery: Delivery) {
        let waiter = state.withLock { state -> CheckedContinuation<Delivery, Never>? in
            guard let waiter = state.waiter.take() else {
                state.ready = delivery
                return nil
            }
            if case .end = delivery { state.ready = delivery }
            return waiter
        }
        guard let waiter else { return }
        room.signal()
        waiter.resume(returning: delivery)
    }
}
