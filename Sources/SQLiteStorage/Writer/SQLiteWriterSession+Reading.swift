extension SQLiteWriterSession: RowReader {
    func load(
        _ plan: [ReadRequest], in arena: ValueArena, each: (Int, ReadAnswer) -> Void
    ) throws(StoreError) {
        for (position, request) in plan.enumerated() {
            switch request {
            // A connection that only reads learns nothing of insertions.
            case .rows(let entity, .identities(let identities), nil) where lease != nil:
                let root = model.entities[model.entities[entity].rootIndex]
                let candidates = try identityBounds.candidates(identities, of: root, in: self)
                try entities[entity].rows(.identities(candidates), model: model, in: arena) {
                    each(position, .row($0))
                }
            case .rows(let entity, let keys, let limit):
                try entities[entity].rows(keys, model: model, limit: limit, in: arena) {
                    each(position, .row($0))
                }
            case .links(let table, let keys, let isOwnerSide, let limit):
                try joins[table].placedPairs(keys: keys, onOwnerSide: isOwnerSide, limit: limit) {
                    each(position, .link($0, $1))
                }
            case .existingLinks(let table, let pairs):
                try joins[table].existing(pairs) { each(position, .link($0, $1)) }
            case .greatestPlaces(let relationship, let owners):
                try greatestPlaces(in: relationship, owners: owners) {
                    each(position, .place(owner: $0, greatest: $1))
                }
            case .tombstones(let lists):
                for (root, identities) in lists {
                    try tombstones(entity: model.entities[root], identities: identities) {
                        each(position, .tombstone(root: root, identity: $0, $1))
                    }
                }
            }
        }
    }

    private func greatestPlaces(
        in relationship: Relationship, owners: [Int64], each: (Int64, Int64) -> Void
    ) throws(StoreError) {
        switch relationship.storage {
        case .column: return
        case .inverseColumn(let slot):
            guard let place = relationship.positionSlot else { return }
            try entities[relationship.destinationIndex].greatestPositions(
                slot: slot, positionSlot: place, owners: owners, each: each)
        case .join(let table, let isOwner):
            try joins[table].greatestPlaces(keys: owners, onOwnerSide: isOwner, each: each)
        }
    }
}
