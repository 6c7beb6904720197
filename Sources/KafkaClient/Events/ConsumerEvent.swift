/// Tells something about a partition, or about the consumer, that is not a record.
public struct ConsumerEvent: Sendable {
    /// The partition concerned; nil when the whole consumer is.
    public let topicPartition: TopicPartition?
    /// The offset concerned, if the library says one.
    public let offset: Int64?
    /// The library's code and message for the event.
    public let error: KafkaError

    package init(topicPartition: TopicPartition?, offset: Int64?, error: KafkaError) {
        self.topicPartition = topicPartition
        self.offset = offset
        self.error = error
    }
}
