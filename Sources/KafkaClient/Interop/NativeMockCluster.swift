import CLibrdkafka
import Glibc

/// The library's mock cluster, with the client that keeps its books.
final class NativeMockCluster: @unchecked Sendable {
    private let client: NativeClient
    private let cluster: OpaquePointer
    let bootstrapServers: String

    init(brokers: Int, configuration: KafkaConfiguration) throws {
        client = try NativeClient(role: .embeddedBroker, configuration: configuration)
        guard let cluster = rd_kafka_mock_cluster_new(client.pointer, Int32(clamping: brokers)) else {
            throw KafkaError(.creationFailed, "the embedded broker could not listen on the loopback interface")
        }
        self.cluster = cluster
        bootstrapServers = rd_kafka_mock_cluster_bootstraps(cluster).map { String(cString: $0) } ?? ""
    }

    deinit { rd_kafka_mock_cluster_destroy(cluster) }

    func createTopic(_ name: String, partitions: Int, replicationFactor: Int) throws {
        try KafkaError.check(
            rd_kafka_mock_topic_create(
                cluster, name, Int32(clamping: partitions), Int32(clamping: replicationFactor)))
    }

    func pushErrors(_ errors: [KafkaError.Code], request: Int16) throws {
        let numbers = try errors.map { code in
            guard let number = code.number else {
                throw KafkaError(.invalidArgument, "\(code) is not one of librdkafka's error names")
            }
            return number
        }
        rd_kafka_mock_push_request_errors_array(cluster, request, numbers.count, numbers)
    }

    func clearErrors(request: Int16) { rd_kafka_mock_clear_request_errors(cluster, request) }

    func setDown(_ isDown: Bool, broker: Int32) throws {
        try KafkaError.check(
            isDown ? rd_kafka_mock_broker_set_down(cluster, broker) : rd_kafka_mock_broker_set_up(cluster, broker))
    }

    func setLeader(_ partition: TopicPartition, broker: Int32) throws {
        try KafkaError.check(
            rd_kafka_mock_partition_set_leader(cluster, partition.topic, partition.partition, broker))
    }

    /// Sets how long a new group waits for members. Older libraries do not have the call; they wait 3 s.
    func setGroupDelay(milliseconds value: Int) {
        typealias Setter = @convention(c) (OpaquePointer?, Int32) -> Void
        guard let symbol = dlsym(nil, "rd_kafka_mock_group_initial_rebalance_delay_ms") else { return }
        unsafeBitCast(symbol, to: Setter.self)(cluster, milliseconds(value))
    }
}
