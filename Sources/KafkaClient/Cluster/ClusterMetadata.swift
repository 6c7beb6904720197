/// Lists brokers, topics and partitions.
public struct ClusterMetadata: Hashable, Sendable {
    /// Names one broker.
    public struct Broker: Hashable, Sendable {
        /// The broker's number.
        public let id: Int32
        /// The host that it advertises.
        public let host: String
        /// The port that it advertises.
        public let port: Int

        package init(id: Int32, host: String, port: Int) {
            self.id = id
            self.host = host
            self.port = port
        }
    }

    /// Names one partition of a topic.
    public struct Partition: Hashable, Sendable {
        /// The partition's number.
        public let number: Int32
        /// The broker that leads it; nil when none does now.
        public let leader: Int32?

        package init(number: Int32, leader: Int32?) {
            self.number = number
            self.leader = leader
        }
    }

    /// The brokers of the cluster.
    public let brokers: [Broker]
    /// The partitions of each topic that was asked for.
    public let topics: [String: [Partition]]
    /// The cluster's identity; nil where the broker tells none.
    public let clusterID: String?
    /// The numbers of each topic's partitions.
    package var partitionNumbers: [String: Set<Int32>] { topics.mapValues { Set($0.map(\.number)) } }

    package init(brokers: [Broker], topics: [String: [Partition]], clusterID: String?) {
        self.brokers = brokers
        self.topics = topics
        self.clusterID = clusterID
    }
}

/// Describes a topic to be created.
public struct NewTopic: Hashable, Sendable {
    /// The topic's name.
    public var name: String
    /// The number of partitions.
    public var partitions: Int
    /// The number of copies of each partition.
    public var replicationFactor: Int
    /// The topic's properties by name, for example `cleanup.policy`.
    public var configuration: [String: String]

    /// Describes a topic.
    public init(
        _ name: String, partitions: Int = 1, replicationFactor: Int = 1, configuration: [String: String] = [:]
    ) {
        self.name = name
        self.partitions = partitions
        self.replicationFactor = replicationFactor
        self.configuration = configuration
    }
}
