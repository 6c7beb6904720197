extension Producer {
    /// Makes a producer with a `transactional.id` ready: ends what another of that name left open, and shuts that one out.
    ///
    /// Call it once, before anything else. It blocks its thread.
    ///
    /// - Throws: ``KafkaError``.
    public func initTransactions(timeoutMilliseconds: Int) throws {
        try live().initTransactions(timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Begins a transaction: what is queued from here on is part of it.
    ///
    /// - Throws: ``KafkaError``.
    public func beginTransaction() throws { try live().beginTransaction() }

    /// Adds offsets of a consumer group to the transaction: they are committed with it, or not at all.
    ///
    /// - Throws: ``KafkaError``.
    public func sendOffsets(_ offsets: [TopicPartition: Int64], group: String, timeoutMilliseconds: Int) throws {
        try live().sendOffsets(offsets, group: group, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Waits until all queued records are written, and commits the transaction.
    ///
    /// After a failure that is not fatal, abort it; after `_TIMED_OUT` only a new producer can tell what became of it.
    ///
    /// - Throws: ``KafkaError``.
    public func commitTransaction(timeoutMilliseconds: Int) throws {
        try live().commitTransaction(timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Drops the transaction: readers with `isolation.level=read_committed` never see its records.
    ///
    /// - Throws: ``KafkaError``.
    public func abortTransaction(timeoutMilliseconds: Int) throws {
        try live().abortTransaction(timeoutMilliseconds: timeoutMilliseconds)
    }
}
