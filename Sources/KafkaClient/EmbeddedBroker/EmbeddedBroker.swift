/// Runs a Kafka cluster inside this process, for tests and demonstrations: librdkafka's mock cluster.
///
/// It keeps records in memory, checks little (no size limit, no authentication), and stops when it is freed. A topic
/// that a client names is created with 4 partitions; each partition keeps about 5 MB, the older records go. Group
/// members need a `session.timeout.ms` over 3000.
public final class EmbeddedBroker: Sendable {
    private let native: NativeMockCluster

    /// The value for `bootstrap.servers`.
    public var bootstrapServers: String { native.bootstrapServers }

    /// Starts a cluster of `brokers` brokers, numbered from 1, on free loopback ports.
    ///
    /// `groupDelayMilliseconds` is how long a new group waits for more members; libraries before 2.4 always wait 3 s.
    ///
    /// - Throws: ``KafkaError``.
    public init(brokers: Int = 1, groupDelayMilliseconds: Int = 0, onLog: KafkaConfiguration.LogHandler? = nil) throws {
        guard (1...100).contains(brokers) else {
            throw KafkaError(.invalidArgument, "brokers is \(brokers): give 1 to 100")
        }
        var configuration = KafkaConfiguration()
        configuration.onLog = onLog
        native = try NativeMockCluster(brokers: brokers, configuration: configuration)
        native.setGroupDelay(milliseconds: groupDelayMilliseconds)
    }

    /// Creates a topic; throws `topicAlreadyExists` when there is one of that name.
    public func createTopic(_ name: String, partitions: Int, replicationFactor: Int = 1) throws {
        try native.createTopic(name, partitions: partitions, replicationFactor: replicationFactor)
    }

    /// Answers the next requests of a kind with these errors, one each; `_TRANSPORT` cuts the connection instead.
    ///
    /// - Throws: ``KafkaError``.
    public func failNext(_ request: Request, with errors: [KafkaError.Code]) throws {
        try native.pushErrors(errors, request: request.key)
    }

    /// Forgets the errors that were set for a kind of request.
    public func clearFailures(_ request: Request) { native.clearErrors(request: request.key) }

    /// Cuts a broker's connections and refuses new ones.
    ///
    /// - Throws: ``KafkaError``.
    public func setDown(broker: Int32 = 1) throws { try native.setDown(true, broker: broker) }

    /// Lets a broker accept connections again.
    ///
    /// - Throws: ``KafkaError``.
    public func setUp(broker: Int32 = 1) throws { try native.setDown(false, broker: broker) }

    /// Moves a partition's leadership.
    ///
    /// - Throws: ``KafkaError``.
    public func setLeader(of partition: TopicPartition, broker: Int32) throws {
        try native.setLeader(partition, broker: broker)
    }

    /// Names a kind of request by its number in the Kafka protocol.
    public struct Request: Hashable, Sendable {
        /// The number in the Kafka protocol.
        public let key: Int16

        /// Names a kind of request.
        public init(key: Int16) { self.key = key }

        /// Writing records.
        public static let produce = Self(key: 0)
        /// Reading records.
        public static let fetch = Self(key: 1)
        /// Staying in a group.
        public static let heartbeat = Self(key: 12)
    }
}
