/// The group gives partitions to the consumer, or takes them away. `Consumer.poll` and `Consumer.close` deliver the event
/// on their thread, before the library acts on it.
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
    /// The event in one word, for logs.
    package var name: String {
        switch self {
        case .assigned: "assigned"
        case .revoked: "revoked"
        case .lost: "lost"
        }
    }
}
