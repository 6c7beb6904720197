/// Looks at a cluster and changes it. Every call blocks its thread until the answer or the time limit.
public final class Admin: Sendable {
    private let native: NativeAdmin

    /// Makes a client for administration.
    ///
    /// - Parameters:
    ///   - configuration: the client's properties.
    ///   - countsOpenTransactions: whether a partition ends behind the records of undecided transactions, rather than
    ///     before the first of them, where a reader of committed records stops.
    /// - Throws: ``KafkaError`` where a property is unknown or refused.
    public init(configuration: KafkaConfiguration, countsOpenTransactions: Bool = false) throws {
        var configuration = configuration
        // The library heeds the property in each client, though it warns that it is a consumer's.
        if countsOpenTransactions { configuration["isolation.level"] = "read_uncommitted" }
        native = try NativeAdmin(configuration)
    }

    /// Creates a topic; throws `topicAlreadyExists` when there is one of that name.
    public func createTopic(_ topic: NewTopic, timeoutMilliseconds: Int = 10_000) throws {
        try native.createTopic(topic, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Deletes a topic with its records; throws `unknownTopicOrPartition` when there is none.
    public func deleteTopic(_ name: String, timeoutMilliseconds: Int = 10_000) throws {
        try native.deleteTopic(name, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Lists the brokers and all topics with their partitions.
    ///
    /// - Throws: ``KafkaError``.
    public func metadata(timeoutMilliseconds: Int = 10_000) throws -> ClusterMetadata {
        try native.metadata(topic: nil, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Lists the brokers and one topic's partitions; throws `unknownTopicOrPartition` when there is none.
    /// A broker that creates topics by itself may create this one.
    public func metadata(topic: String, timeoutMilliseconds: Int = 10_000) throws -> ClusterMetadata {
        try native.metadata(topic: topic, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Reads a group's committed offsets, of these partitions or (nil) of all that it has; one without is absent.
    ///
    /// - Parameters:
    ///   - group: the group's name.
    ///   - partitions: the partitions whose offsets are wanted.
    ///   - isStable: whether the broker refuses (retriable) while a transaction with offsets of the group is undecided;
    ///     otherwise it tells the offsets before that transaction.
    ///   - timeoutMilliseconds: for how long to wait for the broker.
    /// - Throws: ``KafkaError``.
    public func committedOffsets(
        group: String, partitions: [TopicPartition]? = nil, isStable: Bool = false, timeoutMilliseconds: Int = 10_000
    ) throws -> [TopicPartition: Int64] {
        try native.committedOffsets(
            group: group, partitions: partitions, isStable: isStable, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Describes a consumer group; one that nobody has joined has no members.
    ///
    /// - Throws: ``KafkaError``, as where the broker does not know the request.
    public func describe(group: String, timeoutMilliseconds: Int = 10_000) throws -> ConsumerGroup {
        try native.describe(group: group, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Reads a partition's first retained offset and its end.
    ///
    /// - Throws: ``KafkaError``.
    public func watermarks(_ partition: TopicPartition, timeoutMilliseconds: Int = 10_000) throws -> Watermarks {
        try native.client.queryWatermarks(partition, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Reads the offsets that follow the partitions' last ones, in one request to each broker; a partition of which
    /// nothing was answered is absent. Throws where that is so of all.
    public func ends(
        of partitions: some Collection<TopicPartition>, timeoutMilliseconds: Int = 10_000
    ) throws -> [TopicPartition: Int64] {
        if partitions.isEmpty { return [:] }
        return try native.client.ends(of: partitions, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Reads the first offsets at or after timestamps (milliseconds since 1970 UTC).
    ///
    /// - Throws: ``KafkaError``.
    public func offsets(
        atTimestampsMilliseconds timestamps: [TopicPartition: Int64], timeoutMilliseconds: Int = 10_000
    ) throws -> [TopicPartition: Int64] {
        if timestamps.isEmpty { return [:] }
        return try native.client.offsets(atTimestamps: timestamps, timeoutMilliseconds: timeoutMilliseconds)
    }
}

extension Admin: TopicLister {}
