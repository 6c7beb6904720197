/// A consumer group as its coordinator sees it.
public struct ConsumerGroup: Hashable, Sendable {
    /// A member of the group.
    public struct Member: Hashable, Sendable {
        /// The name that the client gives itself: the property `client.id`.
        public let clientID: String
        /// The property `group.instance.id`, or nil where the member has none.
        public let instanceID: String?
        /// The address that the member connects from, such as `/10.0.0.7`.
        public let host: String
        /// The partitions that the group has assigned to it, in order.
        public let partitions: [TopicPartition]

        /// Makes a member.
        public init(clientID: String, instanceID: String? = nil, host: String, partitions: [TopicPartition]) {
            self.clientID = clientID
            self.instanceID = instanceID
            self.host = host
            self.partitions = partitions
        }
    }

    /// The state in the protocol's words, such as `Stable` or `Empty`.
    public let state: String
    /// The members; none of a group that nobody has joined.
    public let members: [Member]
}
