/// Decides where to start reading, and finishes work on partitions that go.
///
/// For `.assigned` it returns start offsets; a partition that is absent starts at the group's committed offset. The
/// consumer ignores the result for the other events. The handler may commit, query and pause, but neither poll nor
/// close. When it throws for `.assigned`, none of the partitions is read, and `poll` rethrows: close the consumer then.
public typealias RebalanceHandler = @Sendable (RebalanceEvent, Consumer) throws -> [TopicPartition: Int64]
