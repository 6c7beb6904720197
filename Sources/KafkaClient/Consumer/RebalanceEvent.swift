/// Tells that partitions come or go. It is delivered inside `Consumer.poll` or `Consumer.close`, on their thread,
/// before the library acts on it.
public enum RebalanceEvent: Hashable, Sendable {
    /// The consumer reads these partitions from now on. An eager protocol names all of them (the list can be empty), a
    /// cooperative protocol only the additional ones.
    case assigned([TopicPartition])
    /// These partitions will be read by another member; offsets can still be committed.
    case revoked([TopicPartition])
    /// These partitions may be read by another member already; nothing can be committed.
    case lost([TopicPartition])

    /// The partitions concerned.
    public var partitions: [TopicPartition] {
        switch self {
        case .assigned(let partitions), .revoked(let partitions), .lost(let partitions): partitions
        }
    }
}

/// Decides where to start reading, and finishes work on partitions that go.
///
/// For `.assigned` it returns start offsets; a partition that is absent starts at the group's committed offset. The
/// consumer ignores the result for the other events. The handler may commit, query and pause, but neither poll nor
/// close. When it throws for `.assigned`, none of the partitions is read, and `poll` rethrows: close the consumer then.
public typealias RebalanceHandler = @Sendable (RebalanceEvent, Consumer) throws -> [TopicPartition: Int64]

/// Tells something about a partition, or about the consumer, that is not a record.
public struct ConsumerEvent: Sendable {
    /// The partition concerned; nil when the whole consumer is.
    public let topicPartition: TopicPartition?
    /// The offset concerned, if the library says one.
    public let offset: Int64?
    /// The library's code and message for the event.
    public let error: KafkaError
}
