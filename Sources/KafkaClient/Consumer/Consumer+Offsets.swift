extension Consumer {
    /// Stops fetching these partitions; records that were fetched but not polled are fetched again after `resume`.
    ///
    /// - Throws: ``KafkaError``.
    public func pause(_ partitions: [TopicPartition]) throws { try live().pause(partitions) }

    /// Fetches these partitions again.
    ///
    /// - Throws: ``KafkaError``.
    public func resume(_ partitions: [TopicPartition]) throws { try live().resume(partitions) }

    /// Goes on at another offset of an assigned partition, also of one that stopped with `_AUTO_OFFSET_RESET`.
    ///
    /// Call it on the thread that polls. Throws `_STATE` (retriable) when the partition is not assigned.
    public func seek(_ partition: TopicPartition, to offset: Int64, timeoutMilliseconds: Int = 10_000) throws {
        try live().seek(partition, to: offset, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Commits for the group the offsets of the next records to read.
    ///
    /// Waits for the broker unless `asynchronously`, when a failure goes to the configuration's `onError`.
    /// Throws the first partition's error, for example `ILLEGAL_GENERATION` after the group has moved on, or `_TIMED_OUT`.
    public func commit(
        _ offsets: [TopicPartition: Int64], asynchronously: Bool = false, timeoutMilliseconds: Int = 10_000
    ) throws {
        if offsets.isEmpty { return }
        if asynchronously { return try live().commit(offsets) }
        try live().commit(offsets, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Asks the broker for the group's committed offsets; a partition without one is absent.
    ///
    /// - Throws: ``KafkaError``.
    public func committed(
        _ partitions: [TopicPartition], timeoutMilliseconds: Int = 10_000
    ) throws -> [TopicPartition: Int64] {
        if partitions.isEmpty { return [:] }
        return try live().committed(partitions, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// The offsets that follow the last polled records; a partition without one is absent.
    ///
    /// - Throws: ``KafkaError``.
    public func position(_ partitions: [TopicPartition]) throws -> [TopicPartition: Int64] {
        try live().position(partitions)
    }

    /// The watermarks as of the last fetch, without asking the broker; nil before the first fetch.
    ///
    /// - Throws: ``KafkaError``.
    public func watermarks(_ partition: TopicPartition) throws -> Watermarks? {
        try live().cachedWatermarks(partition)
    }

    /// Asks the broker for the watermarks.
    ///
    /// - Throws: ``KafkaError``.
    public func queryWatermarks(
        _ partition: TopicPartition, timeoutMilliseconds: Int = 10_000
    ) throws -> Watermarks {
        try live().client.queryWatermarks(partition, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// The partitions that are assigned now.
    public var assignment: [TopicPartition] {
        get throws { try live().assignment().sorted() }
    }

    /// The id that the group gave this member; nil before it joined.
    public var memberID: String? {
        get throws { try live().memberID }
    }

    /// The group's protocol: `EAGER`, `COOPERATIVE`, or `NONE` before it joined.
    public var rebalanceProtocol: String {
        get throws { try live().rebalanceProtocol }
    }
}
