/// Tells where a record was written.
public struct DeliveryReport: Hashable, Sendable {
    /// The topic and the partition.
    public let topicPartition: TopicPartition
    /// The record's offset; -1 where the broker had the record already, and did not tell its offset.
    public let offset: Int64
    /// Milliseconds since 1970 UTC, if the record has a timestamp.
    public let timestampMilliseconds: Int64?
}
