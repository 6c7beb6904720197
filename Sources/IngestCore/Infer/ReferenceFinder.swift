/// A column whose values are identities of another entity.
package struct FoundReference: Sendable, Equatable {
    /// The number of the entity that has the column.
    package let entity: Int
    /// The number of the column.
    package let column: Int
    /// The number of the entity that it leads to.
    package let destination: Int
    /// The distinct values that are identities there.
    package let resolved: Int
    /// All distinct values.
    package let total: Int
}

/// Finds columns that refer to other entities: by their values, helped by their names.
package enum ReferenceFinder {
    /// An entity as the finder sees it.
    package struct Candidate {
        /// The entity's name.
        package let name: String
        /// Its records.
        package let profile: EntityProfile
        /// The number of the column with the identity; nil where records are numbered.
        package let identity: Int?
    }

    /// Finds the references between entities; a column has one at most, the one that resolves most values.
    package static func find(_ entities: [Candidate]) -> [FoundReference] {
        entities.indices.flatMap { number in
            entities[number].profile.columns.indices.compactMap { column in
                column == entities[number].identity ? nil : best(entities, number, column)
            }
        }
    }

    private static func best(_ entities: [Candidate], _ number: Int, _ column: Int) -> FoundReference? {
        entities.indices.compactMap { reference(entities, number, column, to: $0) }
            .max { ($0.resolved, $1.destination) < ($1.resolved, $0.destination) }
    }

    private static func reference(
        _ entities: [Candidate], _ number: Int, _ column: Int, to destination: Int
    ) -> FoundReference? {
        let profile = entities[number].profile.columns[column]
        guard let identity = entities[destination].identity, !profile.distinct.hashes.isEmpty else { return nil }
        let target = entities[destination].profile.columns[identity]
        let type = ColumnGuess(target).type
        // A number that is written among texts cannot be an identity of numbers.
        guard ColumnGuess(profile).type == type else { return nil }
        let resolved = profile.distinct.hashes.count { target.distinct.hashes.contains($0) }
        let share = Double(resolved) / Double(profile.distinct.hashes.count)
        let isNamed = names(profile.name, target.name, entities[destination].name)
        let isText = type == .string || type == .uuid
        guard isNamed && share >= 0.5 || isText && share >= 0.9 && resolved >= 3 else { return nil }
        return FoundReference(
            entity: number, column: column, destination: destination, resolved: resolved,
            total: profile.distinct.hashes.count)
    }

    /// Tells whether a column's name speaks of an entity or its identity.
    private static func names(_ column: String, _ identity: String, _ entity: String) -> Bool {
        let (column, identity, entity) = (
            InferredNames.folded(column), InferredNames.folded(identity), InferredNames.folded(entity)
        )
        if column == identity { return !["id", "key", "code", "name", "number"].contains(identity) }
        return column == entity || column == entity + identity || column == entity + "id"
            || column.hasSuffix(identity)
                && column.dropLast(identity.count).hasSuffix(entity)
    }
}
