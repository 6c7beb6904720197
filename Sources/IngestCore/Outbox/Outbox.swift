import GraphCore
import KafkaClient
import Synchronization

/// Delivers the store's entries behind a cursor, in their order, on a thread of its own.
///
/// Entries are committed with the chunk that made them. The outbox delivers them afterwards, and the worker saves the
/// cursor after the delivery. So a crash repeats entries and never skips one, and a sink that is away stops nothing
/// before ``isFull`` says so.
package final class Outbox: Sendable {
    private let delivery: any OutboxDelivery
    private let clock: WorkerClock
    /// Whether other workers deliver in turn with this one: the store's role says which.
    private let sharesRole: Bool
    private let loop = OutboxLoop()
    private let state: Mutex<State>

    private struct State {
        /// The cursor behind the last entry that was delivered.
        var cursor: Int64
        /// The cursor that is still to be saved.
        var unsaved: Int64?
        var limit: BacklogLimit
        /// How many entries were ever committed while this outbox looked on.
        var committed = 0
        var isFailing = false
        var backoff = Backoff()
        var isActive: Bool
        /// Whether the cursor went back, and the store does not say so yet. A batch that is sent meanwhile would hide the loss
        /// from the next worker.
        var waitsForSave = false
        /// Whether another sender has fenced this one off, which may have delivered since.
        var isFenced = false
        /// How often the outbox became active.
        var activations = 0
    }

    /// Makes an outbox that goes on at a cursor.
    ///
    /// - Parameter isActive: whether it delivers at once; else from ``activate()`` on.
    /// - Throws: `StoreError`.
    init(
        _ delivery: any OutboxDelivery, cursor: Int64, limit: BacklogLimit, isActive: Bool = true,
        clock: WorkerClock = .system
    ) throws {
        self.delivery = delivery
        self.clock = clock
        sharesRole = !isActive
        var limit = limit
        limit.counted(try delivery.waitingCount(after: cursor))
        state = Mutex(State(cursor: cursor, limit: limit, isActive: isActive))
        delivery.report(.waiting(limit.waiting))
    }

    /// The cursor behind the last entry that was delivered.
    package var cursor: Int64 { state.withLock { $0.cursor } }

    /// Whether so many entries wait that reading has to wait too.
    var isFull: Bool { state.withLock { $0.limit.isFull } }

    /// The number of entries that wait.
    package var waiting: Int { state.withLock { $0.limit.waiting } }

    /// Whether this worker delivers; of workers that share a store, one does.
    package var isActive: Bool { state.withLock { $0.isActive } }

    /// Whether another sender has fenced this one off: it delivers nothing until ``activate()``.
    var isFenced: Bool { state.withLock { $0.isFenced } }

    /// Whether the last attempt to deliver failed.
    package var isFailing: Bool { state.withLock { $0.isFailing } }

    // MARK: On the worker's thread

    /// Notes the number of entries that were committed, and wakes the outbox.
    func committed(_ count: Int) {
        if count > 0 {
            state.withLock { state in
                state.committed += count
                if state.isActive { state.limit.added(count) }
            }
            reportWaiting()
        }
        loop.wake()
    }

    /// Delivers from now on, and goes on where the store's cursor stands.
    ///
    /// - Throws: `StoreError`.
    func activate() throws {
        let cursor = try delivery.storedCursor()
        let count = try delivery.waitingCount(after: cursor)
        state.withLock { state in
            (state.cursor, state.unsaved, state.waitsForSave, state.isActive) = (cursor, nil, false, true)
            state.isFenced = false
            state.activations += 1
            state.limit.counted(count)
        }
        reportWaiting()
        loop.wake()
    }

    /// Delivers nothing from now on, since another worker does, and looks how much waits for that one.
    ///
    /// - Throws: `StoreError`.
    func deactivate() throws {
        state.withLock { ($0.isActive, $0.unsaved) = (false, nil) }
        let cursor = try delivery.storedCursor()
        let count = try delivery.waitingCount(after: cursor)
        state.withLock { state in
            state.cursor = cursor
            state.limit.counted(count)
        }
        reportWaiting()
    }

    /// Saves how far the outbox delivered, in a commit of its own.
    ///
    /// - Throws: `StoreError`; the cursor is saved later then.
    func saveCursor(_ writer: WriterContext) throws {
        guard let cursor = takeCursor() else { return }
        do {
            try delivery.save(cursor, writer)
            try writer.commit()
        } catch {
            state.withLock { $0.unsaved = $0.unsaved ?? cursor }
            throw error
        }
        // A cursor that went back since is still to be saved.
        let goesOn = state.withLock { state in
            guard state.waitsForSave, state.unsaved == nil else { return false }
            state.waitsForSave = false
            return true
        }
        if goesOn { loop.wake() }
    }

    /// Removes and returns the cursor to save, or nil where it is saved.
    func takeCursor() -> Int64? {
        state.withLock { state in
            defer { state.unsaved = nil }
            return state.unsaved
        }
    }

    // MARK: On its own thread

    /// Delivers until it is asked to stop. Blocks its thread.
    ///
    /// - Throws: as ``step()``.
    package func run() throws { try loop.run(clock, step: step) }

    /// Delivers the next batch, and returns when the next step is due: at once, with news, or after a wait that grows with
    /// each failure.
    ///
    /// - Throws: `StoreError` where the store's disk failed or it is damaged: that is not tried again.
    package func step() throws -> NextStep {
        do {
            let count = try deliverNext()
            state.withLock { state in
                state.isFailing = false
                state.backoff.succeeded()
            }
            delivery.report(.ok)
            return count == 0 ? .withNews(by: clock.seconds() + Self.lookSeconds) : .at(clock.seconds())
        } catch {
            failed(error)
            if let error = error as? StoreError, error.isDiskFailure { throw error }
            let jitter = clock.jitter()
            return .at(clock.seconds() + state.withLock { $0.backoff.failed(jitter: jitter) })
        }
    }

    /// How long an outbox without entries waits for news before it looks itself.
    private static let lookSeconds = 0.5

    /// Asks the loop to end after its present work.
    package func requestStop() {
        delivery.prepareToStop()
        loop.requestStop()
    }

    /// Delivers everything there is, for the end of a run.
    ///
    /// - Throws: what the store or the sink throws; the rest stays in the store.
    package func drain(untilSeconds deadline: Double) throws {
        while clock.seconds() < deadline, try deliverNext() > 0 {}
    }

    /// Delivers the next batch, and returns how many entries it had.
    func deliverNext() throws -> Int {
        let (cursor, committed, activations, isActive, waits) = state.withLock {
            ($0.cursor, $0.committed, $0.activations, $0.isActive, $0.waitsForSave || $0.isFenced)
        }
        guard isActive, !waits else { return 0 }
        guard let batch = try delivery.deliver(after: cursor) else {
            // Entries that were committed since the look are waiting.
            state.withLock { if $0.committed == committed { $0.limit.counted(0) } }
            reportWaiting()
            return 0
        }
        // The report comes before the cursor can be saved: the marks that are saved with it depend on the report.
        delivery.report(.reached(batch.cursor))
        state.withLock { state in
            // Another worker delivers by now, and repeats the batch.
            guard state.isActive, state.activations == activations else { return }
            (state.cursor, state.unsaved) = (batch.cursor, batch.cursor)
            state.waitsForSave = batch.cursor < cursor
            state.limit.delivered(batch.count)
        }
        // The cursor goes back where the topic lost entries. There is more to deliver then.
        if batch.cursor < cursor {
            let count = try delivery.waitingCount(after: batch.cursor)
            state.withLock { $0.limit.counted(count) }
            return max(1, batch.count)
        }
        reportWaiting()
        return batch.count
    }

    private func failed(_ error: any Error) {
        let cursor = cursor
        let count = try? delivery.waitingCount(after: cursor)
        let isFull = state.withLock { state in
            state.isFailing = true
            // The producer ended. Where another worker's began, that one may have the role, and deliver.
            if sharesRole, let error = error as? KafkaError, error.isFatal { state.isFenced = true }
            if let count { state.limit.counted(count) }
            return state.limit.isFull
        }
        reportWaiting()
        delivery.report(.failed(error, isFull: isFull))
    }

    private func reportWaiting() { delivery.report(.waiting(waiting)) }
}
