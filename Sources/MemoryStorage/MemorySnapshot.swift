/// A snapshot of tables in memory.
///
/// It evaluates every request on all rows of an entity. The destinations of to-many relationships have an index, which
/// the first question about a relationship makes.
final class MemorySnapshot: SnapshotSession {
    let tables: MemoryTables
    let model: ObjectModel
    /// The rows that refer to an object, by the position of their root entity and their slot.
    private var members: [Members: [Int64: [StoredRow]]] = [:]
    /// The links of an object, by the position of the join table and the side.
    private var links: [Side: [Int64: [MemoryLink]]] = [:]

    private typealias MemoryLink = (pair: Pair, places: PairPlaces)

    private struct Members: Hashable {
        let root: Int
        let slot: Int
    }

    private struct Side: Hashable {
        let table: Int
        let isOwner: Bool
    }

    init(_ tables: MemoryTables, model: ObjectModel) {
        self.tables = tables
        self.model = model
    }

    func storeID() throws -> String { tables.storeID }

    // MARK: Rows

    func rows(_ entity: Int) -> MemoryRows { tables.rows[model.entities[entity].rootIndex] }

    func storedRows(_ entity: Entity, primaryKeys: [Int64]) throws -> [StoredRow] {
        let rows = rows(entity.index)
        return primaryKeys.compactMap { rows[$0] }
    }

    func count(_ entity: Entity) throws -> (objects: Int, placeholders: Int) {
        let rows = rows(entity.index).all.filter { $0.entity.isKind(of: entity) }
        return (rows.count, rows.count(where: \.isPlaceholder))
    }

    // MARK: Relationships

    func destinations(
        _ relationship: Relationship, of owners: [Int64]
    ) throws -> [(owner: Int64, row: StoredRow)] {
        owners.flatMap { owner in placed(relationship, of: owner, missing: .max).map { (owner, $0) } }
    }

    /// Returns the destinations of a to-many relationship in their order, or else by primary key.
    ///
    /// - Parameter missing: the place of a destination without one.
    func placed(_ relationship: Relationship, of owner: Int64, missing: Int64) -> [StoredRow] {
        let found: [(place: Int64?, row: StoredRow)]
        switch relationship.storage {
        case .column(let slot), .inverseColumn(let slot):
            let position = relationship.positionSlot
            let root = model.entities[relationship.destinationIndex].rootIndex
            found = (members(Members(root: root, slot: slot))[owner] ?? []).map { row in
                (position.flatMap { row.values[$0].integer }, row)
            }
        case .join(let table, let isOwner):
            let rows = rows(relationship.destinationIndex)
            found = (links(Side(table: table, isOwner: isOwner))[owner] ?? []).compactMap { link in
                let place = relationship.isOrdered ? (isOwner ? link.places.destination : link.places.owner) : nil
                return rows[isOwner ? link.pair.destination : link.pair.owner].map { (place, $0) }
            }
        }
        return found.sorted { ($0.place ?? missing, $0.row.pk) < ($1.place ?? missing, $1.row.pk) }.map(\.row)
    }

    private func members(_ key: Members) -> [Int64: [StoredRow]] {
        if let known = members[key] { return known }
        var found: [Int64: [StoredRow]] = [:]
        for row in tables.rows[key.root].all {
            if case .integer(let owner) = row.values[key.slot] { found[owner, default: []].append(row) }
        }
        members[key] = found
        return found
    }

    private func links(_ side: Side) -> [Int64: [MemoryLink]] {
        if let known = links[side] { return known }
        let found = Dictionary(grouping: tables.links[side.table].map { (pair: $0.key, places: $0.value) }) {
            side.isOwner ? $0.pair.owner : $0.pair.destination
        }
        links[side] = found
        return found
    }
}

extension MemorySnapshot: EvaluatedObjects {
    func object(_ entity: Int, _ pk: Int64) -> StoredRow? { rows(entity)[pk] }

    func forEachDestination(
        of object: StoredRow, _ relationship: Relationship, _ each: (StoredRow) throws -> Bool
    ) throws {
        for row in placed(relationship, of: object.pk, missing: .min) where try !each(row) { return }
    }
}
