/// A derived attribute of a model: the entity that declares it, whose sub-entities have it too, and its slot.
package struct DerivedNode: Hashable, Sendable {
    package let entity: Int
    package let slot: Int
}

/// In which order derived attributes are computed: each after those it reads, over all entities.
package struct DerivationOrder: Sendable {
    /// The attributes by rank: an attribute of the first level reads stored values only.
    package let levels: [[DerivedNode]]
    /// Attributes of which each reads the next and the last the first, or none where there is no circle.
    let circle: [DerivedNode]

    package init(_ entities: [Entity]) {
        var reads: [DerivedNode: [DerivedNode]] = [:]
        var waiting: [DerivedNode] = []
        for (index, entity) in entities.enumerated() {
            for attribute in entity.ownAttributes where attribute.isDerived {
                let node = DerivedNode(entity: index, slot: attribute.slot)
                waiting.append(node)
                reads[node] = Self.read(by: attribute, of: entity, entities).filter {
                    entities[$0.entity].attributes[$0.slot].isDerived
                }
            }
        }
        var levels: [[DerivedNode]] = []
        var placed: Set<DerivedNode> = []
        while !waiting.isEmpty {
            let ready = waiting.filter { node in reads[node, default: []].allSatisfy { placed.contains($0) } }
            if ready.isEmpty { break }
            levels.append(ready)
            placed.formUnion(ready)
            waiting.removeAll { placed.contains($0) }
        }
        self.levels = levels
        circle = Self.circle(among: waiting, reads, placed)
    }

    private static func read(
        by attribute: Attribute, of entity: Entity, _ entities: [Entity]
    ) -> [DerivedNode] {
        switch attribute.derivation {
        case .count, nil: return []
        case .aggregate(_, let relationship, let slot):
            return [entities[entity.relationships[relationship].destinationIndex].node(of: slot)]
        case .keyPath(let path):
            var last = entity
            for relationship in path.relationships {
                last = entities[last.relationships[relationship].destinationIndex]
            }
            return [last.node(of: path.slot)]
        case .arithmetic(let expression): return expression.slots.sorted().map { entity.node(of: $0) }
        case .now:
            // Any other change of the object changes the time.
            let kin = [entity] + entity.subentityIndexes.map { entities[$0] }
            return kin.flatMap { member in
                member.attributes.filter { attribute in
                    if case .now? = attribute.derivation { return false }
                    return attribute.isDerived
                }.map { member.node(of: $0.slot) }
            }
        }
    }

    /// Follows the reads among attributes that cannot be placed, until one attribute comes again.
    private static func circle(
        among waiting: [DerivedNode], _ reads: [DerivedNode: [DerivedNode]], _ placed: Set<DerivedNode>
    ) -> [DerivedNode] {
        guard var node = waiting.first else { return [] }
        var way: [DerivedNode] = []
        while true {
            if let start = way.firstIndex(of: node) { return Array(way[start...]) }
            way.append(node)
            guard let next = reads[node, default: []].first(where: { !placed.contains($0) }) else { return way }
            node = next
        }
    }
}

extension Entity {
    /// The attribute at a slot, by the entity that declares it.
    package func node(of slot: Int) -> DerivedNode { DerivedNode(entity: attributes[slot].entityIndex, slot: slot) }
}
