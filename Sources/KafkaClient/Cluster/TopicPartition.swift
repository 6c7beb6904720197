/// Names one partition of one topic.
public struct TopicPartition: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The topic's name.
    public let topic: String
    /// The partition's number, from 0.
    public let partition: Int32

    /// Names partition `partition` of `topic`.
    public init(_ topic: String, _ partition: Int32) {
        self.topic = topic
        self.partition = partition
    }

    /// Orders by topic, then by partition number.
    public static func < (left: TopicPartition, right: TopicPartition) -> Bool {
        (left.topic, left.partition) < (right.topic, right.partition)
    }

    /// Prints `topic/partition`, or the topic where a negative number stands for the whole of it.
    public var description: String { partition < 0 ? topic : "\(topic)/\(partition)" }
}

/// Holds the first offset that a partition still keeps and the offset that its next record will get.
public struct Watermarks: Hashable, Sendable {
    /// The first offset that is still retained.
    public let low: Int64
    /// One past the last offset written.
    public let high: Int64

    /// Makes a pair of watermarks.
    public init(low: Int64, high: Int64) {
        self.low = low
        self.high = high
    }
}
