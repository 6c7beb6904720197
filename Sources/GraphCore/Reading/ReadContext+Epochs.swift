extension ReadContext {
    /// Returns the epochs of this store once it takes the place of another one, whose last transactions it may lack.
    ///
    /// The number of the new epoch follows the time, because the store that is replaced may be lost or unreadable.
    ///
    /// - Parameters:
    ///   - replaced: the epochs of that store, where they are known.
    ///   - now: the time in microseconds since 1970 UTC.
    /// - Throws: ``StoreError``.
    package func epochs(replacing replaced: HistoryEpochs, now: Int64) throws -> HistoryEpochs {
        let numbers = try copySource()
        var epochs = try historyEpochs()
        epochs.fork(
            minimum: max(replaced.current + 1, now / 1_000_000),
            lastToken: try numbers.lastNumber(of: "_history_transaction"),
            lastDeadLetter: try numbers.lastNumber(of: "_dead_letter"))
        return epochs
    }
}
