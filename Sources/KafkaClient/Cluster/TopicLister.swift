/// Tells which topics the broker has, and where partitions end.
package protocol TopicLister: Sendable {
    /// Lists the brokers and all topics with their partitions.
    func metadata(timeoutMilliseconds: Int) throws -> ClusterMetadata

    /// Reads the offsets that follow the partitions' last ones; a partition of which nothing was answered is absent.
    func ends(
        of partitions: some Collection<TopicPartition>, timeoutMilliseconds: Int
    ) throws -> [TopicPartition: Int64]

    /// Reads a partition's first retained offset and its end.
    func watermarks(_ partition: TopicPartition, timeoutMilliseconds: Int) throws -> Watermarks
}
