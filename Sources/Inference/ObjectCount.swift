import GraphCore

/// Compares the objects that an import makes with its records, entity by entity.
package struct ObjectCount {
    /// An entity that has fewer objects than records.
    package struct Loss {
        /// The entity's name.
        package let entity: String
        /// The identity attribute's name.
        package let identity: String
        /// The records.
        package let records: Int
        /// The objects.
        package let objects: Int
    }

    private let entities: [Int: Entity]
    private var records: [Int: Int] = [:]
    private var identities: [Int: BoundedSet] = [:]

    /// The most objects of an entity that are compared.
    private static let limit = 4_000_000

    /// Counts the entities whose objects are records of files and topics. Objects of nested values do not count.
    package init(_ inferred: InferredModel, _ model: ObjectModel) {
        let named = inferred.entities.filter { $0.parent == nil }.compactMap { model.entity(named: $0.name) }
        entities = Dictionary(named.map { ($0.index, $0) }) { first, _ in first }
    }

    /// Counts the objects of a record's operations.
    package mutating func add(_ event: ChangeSet) {
        for operation in event.operations where operation.kind == .upsert {
            guard let entity = entities[operation.entity] else { continue }
            records[operation.entity, default: 0] += 1
            let text = entity.identity.type.text(of: operation.identity)
            identities[operation.entity, default: BoundedSet(limit: Self.limit)].insert(text.utf8.fnv1a)
        }
    }

    /// The entities whose records are fewer objects.
    package var losses: [Loss] {
        identities.sorted { $0.key < $1.key }.compactMap { index, found in
            guard let entity = entities[index], found.hasRepeats, let records = records[index] else { return nil }
            return Loss(
                entity: entity.name, identity: entity.identity.name, records: records, objects: found.hashes.count)
        }
    }
}
