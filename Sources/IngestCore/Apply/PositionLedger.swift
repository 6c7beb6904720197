import ObjectGraph

/// Names what is read from: a partition or a file.
struct SourceKey: Hashable {
    let topic: String
    let partition: Int32
}

/// Remembers what the store holds of each source, so that every position is saved as a compare-and-set.
///
/// A consumer may go on with an old position after a rebalance or another program's write that it has not seen. It
/// saves nothing: the store refuses its chunk.
struct PositionLedger {
    private typealias Predecessor = SourcePosition.Predecessor

    private var saved: [SourceKey: SourcePosition.Predecessor] = [:]
    /// The positions before the open transaction, for when it is undone; nil stands for a source not known before.
    private var beforeTransaction: [SourceKey: SourcePosition.Predecessor?] = [:]

    /// Takes what the store was read to hold of a source: its next offset, or nil where it does not know it.
    mutating func begin(_ key: SourceKey, at offset: Int64?) {
        saved[key] = offset.map { .offset($0) } ?? .nothing
    }

    /// Forgets a source.
    mutating func end(_ key: SourceKey) {
        saved[key] = nil
        beforeTransaction[key] = nil
    }

    /// Returns positions with what the store has to hold for each.
    func following(_ positions: [SourcePosition]) -> [SourcePosition] {
        positions.map { position in
            var position = position
            position.predecessor =
                saved[SourceKey(topic: position.topic, partition: position.partition)] ?? .anything
            return position
        }
    }

    /// Takes positions that were saved and not yet committed.
    mutating func saved(_ positions: [SourcePosition]) {
        for position in positions {
            let key = SourceKey(topic: position.topic, partition: position.partition)
            if beforeTransaction[key] == nil { beforeTransaction[key] = .some(saved[key]) }
            saved[key] = .offset(position.nextOffset)
        }
    }

    /// Takes the commit of what was saved.
    mutating func committed() { beforeTransaction.removeAll(keepingCapacity: true) }

    /// Takes the loss of what was saved since the last commit.
    mutating func undone() {
        for (key, before) in beforeTransaction { saved[key] = before }
        beforeTransaction.removeAll()
    }
}
