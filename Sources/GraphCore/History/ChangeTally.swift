/// How many objects a save changed, by entity and kind.
public struct ChangeTally: Sendable {
    private var counts: [[Int]]

    package init(entityCount: Int) { counts = Array(repeating: [0, 0, 0], count: entityCount) }

    package mutating func note(_ kind: ChangeKind, entity: Int, count: Int = 1) {
        counts[entity][kind.rawValue] += count
    }

    /// Returns the number of an entity's objects with changes of a kind.
    public func count(_ kind: ChangeKind, entity: Int) -> Int { counts[entity][kind.rawValue] }

    /// Returns the number of objects with changes of a kind.
    public func count(_ kind: ChangeKind) -> Int { counts.reduce(0) { $0 + $1[kind.rawValue] } }

    /// The number of all changes.
    public var total: Int { counts.reduce(0) { $0 + $1.reduce(0, +) } }

    /// Adds the counts of another save.
    public mutating func add(_ other: ChangeTally) {
        for entity in counts.indices {
            for kind in counts[entity].indices { counts[entity][kind] += other.counts[entity][kind] }
        }
    }
}
