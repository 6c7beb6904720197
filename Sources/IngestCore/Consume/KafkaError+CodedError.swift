import GraphCore
import KafkaClient

/// The client's errors have the shape of all others; `KafkaClient` is a library of its own and does not know it.
extension KafkaError: CodedError {
    /// librdkafka's name of the error, or the client's own.
    public var stableCode: String { code.name }
    /// The topic and partition.
    public var location: String? { topicPartition.map { "\($0)" } }
}
