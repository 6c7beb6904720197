// Answers to the read plans of a writer.
extension MemoryTables {
    func answer(
        _ plan: [ReadRequest], _ model: ObjectModel, in arena: ValueArena, each: (Int, ReadAnswer) -> Void
    ) {
        for (position, request) in plan.enumerated() {
            switch request {
            case .rows(let entity, let keys, let limit):
                let found = found(rows[model.entities[entity].rootIndex], keys, model)
                for row in found.prefix(limit ?? .max) { each(position, .row(PackedRow(row, in: arena))) }
            case .links(let table, let keys, let isOwnerSide, let limit):
                let keys = Set(keys)
                let found = links[table].filter { keys.contains(isOwnerSide ? $0.key.owner : $0.key.destination) }
                for (pair, places) in found.prefix(limit ?? .max) { each(position, .link(pair, places)) }
            case .existingLinks(let table, let pairs):
                for pair in pairs { links[table][pair].map { each(position, .link(pair, $0)) } }
            case .greatestPlaces(let relationship, let owners):
                for (owner, place) in greatestPlaces(relationship, Set(owners), model) {
                    each(position, .place(owner: owner, greatest: place))
                }
            case .tombstones(let lists):
                for (root, identities) in lists {
                    for identity in identities.lazy.map(\.value) {
                        guard let found = tombstones[root][identity] else { continue }
                        each(position, .tombstone(root: root, identity: identity, found.tombstone))
                    }
                }
            }
        }
    }

    private func found(_ rows: MemoryRows, _ keys: RowKeys, _ model: ObjectModel) -> [StoredRow] {
        switch keys {
        case .identities(let identities): return identities.compactMap { rows.row(identity: $0.value) }
        case .primaryKeys(let keys): return keys.compactMap { rows[$0] }
        case .values(let values, let slot):
            let values = Set(values.lazy.map(\.value).filter { !$0.isNull })
            return rows.all.filter { values.contains($0.values[slot]) }
        case .unique(let tuples, let constraint):
            let tuples = Set(tuples.filter { !$0.contains(.null) })
            let declaring = model.entities[constraint.entityIndex]
            return rows.all.filter { row in
                row.entity.isKind(of: declaring) && tuples.contains(constraint.slots.map { row.values[$0] })
            }
        }
    }

    private func greatestPlaces(
        _ relationship: Relationship, _ owners: Set<Int64>, _ model: ObjectModel
    ) -> [Int64: Int64] {
        var places: [Int64: Int64] = [:]
        func note(_ owner: Int64?, _ place: Int64?) {
            guard let owner, let place, owners.contains(owner) else { return }
            places[owner] = max(places[owner] ?? place, place)
        }
        switch relationship.storage {
        case .column: break
        case .inverseColumn(let slot):
            guard let placeSlot = relationship.positionSlot else { break }
            for row in rows[model.entities[relationship.destinationIndex].rootIndex].all {
                note(row.values[slot].integer, row.values[placeSlot].integer)
            }
        case .join(let table, let isOwner):
            for (pair, link) in links[table] {
                note(pair.ends(isOwner: isOwner).near, isOwner ? link.destination : link.owner)
            }
        }
        return places
    }
}
