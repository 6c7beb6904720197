import ObjectGraph

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
