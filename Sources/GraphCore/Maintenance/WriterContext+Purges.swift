// A purge removes old records batch by batch, each batch in a transaction of its own.
extension WriterContext {
    /// Removes one batch of old history: at most `limit` transactions from before a time, that time excluded.
    ///
    /// Transactions that a named cursor has not read stay, and the result names the cursor.
    ///
    /// - Parameters:
    ///   - time: microseconds since 1970 UTC.
    ///   - limit: the maximum number of transactions to remove in this batch.
    /// - Throws: ``StoreError``.
    public func purgeHistory(before time: Int64, limit: Int = 1000) throws(StoreError) -> PurgeResult {
        var purge = HistoryPurge(before: .time(time))
        purge.transactionLimit = limit
        return try purgeHistory(purge)
    }

    /// Removes one batch of old history in a transaction of its own; call it until ``PurgeResult/isFinished``.
    ///
    /// - Throws: ``StoreError``.
    public func purgeHistory(_ purge: HistoryPurge) throws(StoreError) -> PurgeResult {
        try commit()
        return try change("purge the history") { try $0.removeHistory(purge) }
    }
}

extension WriterContext {
    /// Examines one batch of tombstones, the next `limit` of them, and removes the ones that were saved before a time.
    ///
    /// A tombstone keeps late events about a deleted object without effect. After its removal a late event counts as any
    /// other: an upsert makes the object again, and a reference makes a placeholder. So keep tombstones for longer than
    /// an event can be late: longer than topics retain records, and than files are replayed.
    ///
    /// - Parameters:
    ///   - time: microseconds since 1970 UTC, by the clock of the save that wrote the tombstone.
    ///   - sweep: the place to begin; ``TombstonePurgeResult/next`` of the previous batch.
    ///   - limit: the number of tombstones to examine.
    /// - Throws: ``StoreError``.
    public func purgeTombstones(
        savedBefore time: Int64, from sweep: TombstoneSweep = TombstoneSweep(), limit: Int = 10_000
    ) throws(StoreError) -> TombstonePurgeResult {
        try examineTombstones(savedBefore: time, from: sweep, limit: limit, countsOnly: false)
    }

    /// As ``purgeTombstones(savedBefore:from:limit:)``, but the tombstones stay where they are only counted.
    package func examineTombstones(
        savedBefore time: Int64, from sweep: TombstoneSweep, limit: Int, countsOnly: Bool
    ) throws(StoreError) -> TombstonePurgeResult {
        try commit()
        return try change("purge tombstones") { session in
            try session.removeTombstones(savedBefore: time, from: sweep, limit: limit, countsOnly: countsOnly)
        }
    }
}
