import GraphCore
import Synchronization

/// Delivers the entries of an outbox: notifications of the history, or dead-letter records.
protocol OutboxDelivery: Sendable {
    /// Delivers the entries that follow a cursor, as many as a batch has.
    ///
    /// - Returns: the cursor behind them and how many there were; nil where nothing follows.
    /// - Throws: what the store or the sink throws; all may be delivered again then.
    func deliver(after cursor: Int64) throws -> DeliveredBatch?

    /// Counts the entries that follow a cursor.
    ///
    /// - Throws: `StoreError`.
    func waitingCount(after cursor: Int64) throws -> Int

    /// Returns the cursor that the store has.
    ///
    /// - Throws: `StoreError`.
    func storedCursor() throws -> Int64

    /// Saves the cursor, with the next commit.
    ///
    /// - Throws: `StoreError`.
    func save(_ cursor: Int64, _ writer: WriterContext) throws

    /// Asks a delivery, also one under way, to wait only briefly from now on: the worker is about to end.
    func prepareToStop()

    /// Reports to metrics, health and the log.
    func report(_ event: OutboxEvent)
}

/// A delivery of a store's entries to a sink.
protocol SinkDelivery: OutboxDelivery {
    var store: Store { get }
    var sink: any RecordSink { get }
    var epoch: ReachedEpoch { get }

    /// Returns the cursor that the store has, or where a new one begins.
    func storedCursor(_ context: ReadContext) throws -> Int64

    /// Returns the last entry up to a cursor that the history still has. Others have the numbers behind it by now.
    func shared(_ cursor: Int64, _ epochs: HistoryEpochs) -> Int64

    /// Returns the number of the store's last entry.
    func lastEntry(_ context: ReadContext) throws -> Int64

    /// Puts the cursor, with the next commit.
    func put(_ cursor: Int64, _ writer: WriterContext) throws
}

extension SinkDelivery {
    func storedCursor() throws -> Int64 {
        try store.read { context in
            epoch.reach(try context.historyEpochs())
            let cursor = try storedCursor(context)
            guard let sent = sink.sentTopic, let again = sent.begin(try context.note(sent.key)) else { return cursor }
            // The marks may be newer than the cursor that was saved with them.
            return min(cursor, again)
        }
    }

    func save(_ cursor: Int64, _ writer: WriterContext) throws {
        // A server that has just taken over may end before the cursor, and has no epoch for that yet.
        let known = try store.read { min(shared(cursor, try $0.historyEpochs()), try lastEntry($0)) }
        try put(known, writer)
        if let sent = sink.sentTopic { try writer.putNote(sent.key, sent.text) }
    }

    func prepareToStop() {
        sink.sentTopic?.prepareToStop()
        sink.prepareToStop()
    }
}

/// The epoch of the history in which an outbox's cursor was reached. The thread of the outbox and the worker's share it.
final class ReachedEpoch: Sendable {
    private let current = Atomic<Int64>(0)

    /// The number of the epoch.
    var number: Int64 { current.load(ordering: .acquiring) }

    /// Notes that the cursor was reached in the last of these epochs.
    func reach(_ epochs: HistoryEpochs) { current.max(epochs.current, ordering: .acquiringAndReleasing) }
}

extension ReadContext {
    /// Returns the epochs of the history of the store whose entries are sent.
    ///
    /// - Throws: `StoreError` with code `store.fenced` where another store stands in its place: a rebuild in PostgreSQL
    ///   puts one there, whose own worker sends its entries.
    func sentEpochs(of storeIdentity: String) throws -> HistoryEpochs {
        if try session.storeID() == storeIdentity { return try historyEpochs() }
        throw StoreError(
            .fenced, "Another store stands in the place of this one, whose changes were to be sent",
            remedy: "Nothing was sent; stop this worker")
    }
}

/// The end of a batch that was delivered.
struct DeliveredBatch: Sendable, Equatable {
    /// The cursor behind the batch.
    let cursor: Int64
    /// The number of entries that the cursor passed.
    let count: Int
}

/// An outbox's report on its deliveries.
enum OutboxEvent {
    /// A delivery succeeded, or nothing waits.
    case ok
    /// A delivery failed; another try follows.
    case failed(any Error, isFull: Bool)
    /// The cursor moved.
    case reached(Int64)
    /// The number of entries that wait changed.
    case waiting(Int)
}
