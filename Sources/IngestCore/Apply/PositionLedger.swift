import GraphCore
import KafkaClient

/// Remembers the store's position of each source, a partition or a file. So every position is saved as a
/// compare-and-set.
///
/// A consumer may have missed a rebalance or another writer's commit. The store refuses its chunk then, so it saves nothing
/// with an old position.
struct PositionLedger {
    private var stored: [TopicPartition: SourcePosition.Predecessor] = [:]

    /// Notes the store's next offset of a source, or nil where the store does not know the source.
    mutating func begin(_ key: TopicPartition, at offset: Int64?) {
        stored[key] = offset.map { .offset($0) } ?? .nothing
    }

    /// Forgets a source.
    mutating func end(_ key: TopicPartition) { stored[key] = nil }

    /// Returns positions, each with the position that the store has to hold before.
    func following(_ positions: [SourcePosition]) -> [SourcePosition] {
        positions.map { position in
            var position = position
            position.predecessor =
                stored[TopicPartition(position.topic, position.partition)] ?? .anything
            return position
        }
    }

    /// Notes positions that were committed.
    mutating func committed(_ positions: [SourcePosition]) {
        for position in positions {
            stored[TopicPartition(position.topic, position.partition)] = .offset(position.nextOffset)
        }
    }
}
