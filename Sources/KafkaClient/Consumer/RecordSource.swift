/// Gives records of topics, batch by batch. ``Consumer`` is the one of librdkafka; tests have one in memory.
///
/// One thread at a time polls. A source of a group calls its handler inside `poll` and `close`, on their thread, before
/// it acts on the event. A call is dynamic once a batch, never once a record.
package protocol RecordSource: AnyObject, Sendable {
    /// Takes up to `maxRecords` records. Returns as soon as there is something, and an empty batch after the time.
    ///
    /// - Throws: ``KafkaError``, and the errors of the rebalance handler.
    func poll(maxRecords: Int, timeoutMilliseconds: Int) throws -> RecordBatch

    /// Makes a `poll` that waits on another thread return early.
    func wake()

    /// The partitions that the source reads now.
    var assignment: [TopicPartition] { get throws }

    /// Reads these partitions too, from the offsets given; only for a source without group.
    func assign(adding offsets: [TopicPartition: Int64]) throws

    /// Holds the records of these partitions back. After `resume` the source gives the fetched ones, too.
    func pause(_ partitions: [TopicPartition]) throws

    /// Gives records of these partitions again.
    func resume(_ partitions: [TopicPartition]) throws

    /// Goes on at another offset of an assigned partition.
    ///
    /// - Throws: ``KafkaError``, retriable where the partition is not assigned.
    func seek(_ partition: TopicPartition, to offset: Int64, timeoutMilliseconds: Int) throws

    /// Commits for the group the offsets of the next records to read. Waits for the answer unless `asynchronously`.
    func commit(_ offsets: [TopicPartition: Int64], asynchronously: Bool, timeoutMilliseconds: Int) throws

    /// The watermarks as of the last fetch, without asking the broker; nil before the first fetch.
    func watermarks(_ partition: TopicPartition) throws -> Watermarks?

    /// Asks the broker for the watermarks.
    func queryWatermarks(_ partition: TopicPartition, timeoutMilliseconds: Int) throws -> Watermarks

    /// Leaves the group; the handler gets `.revoked` before the return.
    func close(timeoutMilliseconds: Int) throws

    /// Ends without leaving the group: the broker notices by the session timeout.
    func abandon() throws
}

/// Decides where to start reading, and finishes work on partitions that go: see `RebalanceHandler`.
package typealias SourceRebalanceHandler =
    @Sendable (RebalanceEvent, any RecordSource) throws -> [TopicPartition: Int64]

/// Makes the sources of a worker.
package protocol RecordSources: Sendable {
    /// How long the broker may keep records back for more of them.
    var fetchWaitSeconds: Double { get }

    /// Makes a source that reads topics as a member of a group.
    func join(_ topics: [String], rebalance: @escaping SourceRebalanceHandler) throws -> any RecordSource

    /// Makes a source that reads nothing until `assign(adding:)` says what.
    func withoutGroup() throws -> any RecordSource
}

extension Consumer: RecordSource {}

extension KafkaConfiguration: RecordSources {
    package var fetchWaitSeconds: Double { (self["fetch.wait.max.ms"].flatMap { Double($0) } ?? 500) / 1000 }

    package func join(
        _ topics: [String], rebalance: @escaping SourceRebalanceHandler
    ) throws -> any RecordSource {
        try Consumer(configuration: self, topics: topics) { try rebalance($0, $1) }
    }

    package func withoutGroup() throws -> any RecordSource { try Consumer(withoutGroup: self) }
}
