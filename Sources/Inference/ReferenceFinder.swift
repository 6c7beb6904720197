/// A column whose values are identities of another entity.
package struct FoundReference: Sendable, Equatable {
    /// The number of the entity that has the column.
    package let entity: Int
    /// The number of the column.
    package let column: Int
    /// Whether the column identifies its own entity, too.
    package var isIdentity = false
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

    /// How well a column's name fits an entity.
    private enum Fit: Int, Comparable {
        /// The name says nothing.
        case none
        /// A role that such entities have: `SupportRepId` is an employee.
        case role
        /// It is the name of the identity.
        case identity
        /// It ends as the entity's name: `manager_staff_id`; or it says that it leads to one of the same: `ReportsTo`.
        case ending
        /// It is the entity's name: `route_id`.
        case entity

        static func < (left: Fit, right: Fit) -> Bool { left.rawValue < right.rawValue }
    }

    /// Finds the references between entities. A column has one at most: to the entity that its name fits best, and of
    /// several to the entity that resolves most values.
    package static func find(_ entities: [Candidate]) -> [FoundReference] {
        entities.indices.flatMap { number in
            entities[number].profile.columns.indices.compactMap { best(entities, number, $0) }
        }
    }

    private static func best(_ entities: [Candidate], _ number: Int, _ column: Int) -> FoundReference? {
        entities.indices.compactMap { reference(entities, number, column, to: $0) }
            .max {
                ($0.fit.rawValue, $0.found.resolved, $1.found.destination)
                    < ($1.fit.rawValue, $1.found.resolved, $0.found.destination)
            }?.found
    }

    private static func reference(
        _ entities: [Candidate], _ number: Int, _ column: Int, to destination: Int
    ) -> (found: FoundReference, fit: Fit)? {
        let profile = entities[number].profile.columns[column]
        let isIdentity = column == entities[number].identity
        guard let identity = entities[destination].identity, !profile.distinct.hashes.isEmpty,
            !(isIdentity && number == destination)
        else { return nil }
        let target = entities[destination].profile.columns[identity]
        let type = ColumnGuess(target).type
        // A number that is written among texts cannot be an identity of numbers.
        guard ColumnGuess(profile).type == type else { return nil }
        let resolved = profile.distinct.hashes.count { target.distinct.hashes.contains($0) }
        let share = Double(resolved) / Double(profile.distinct.hashes.count)
        let fit = fit(profile.name, target.name, entities[destination].name, isSelf: number == destination)
        let isText = type == .string || type == .uuid
        let isFound =
            switch fit {
            case .entity: share >= 0.5
            // Two entities may have equal identities: there the entities' names tell which refers to which.
            case .ending, .identity:
                (!isIdentity || isDetail(entities[number].name, of: entities[destination].name)) && share >= 0.5
            case .role: !isIdentity && share >= 0.9
            case .none: !isIdentity && isText && share >= 0.9 && resolved >= 3
            }
        guard isFound else { return nil }
        let found = FoundReference(
            entity: number, column: column, isIdentity: isIdentity, destination: destination, resolved: resolved,
            total: profile.distinct.hashes.count)
        return (found, fit)
    }

    // MARK: Names

    /// Tells whether an entity is named after another: `CalendarDate` after `Calendar`.
    private static func isDetail(_ entity: String, of other: String) -> Bool {
        entity.count > other.count && entity.hasPrefix(other)
    }

    private static let ownNames: Set<String> = [
        "boss", "duplicateof", "father", "inreplyto", "manager", "mother", "next", "predecessor", "prerequisite",
        "previous", "referredby", "replyto", "reportsto", "successor", "supervisor",
    ]
    private static let people: Set<String> = ["agent", "employee", "member", "person", "staff", "user", "worker"]
    private static let roles: Set<String> = [
        "agent", "assignee", "author", "by", "creator", "editor", "lead", "manager", "owner", "rep", "reporter",
        "representative", "reviewer", "seller", "supervisor",
    ]

    private static func fit(_ column: String, _ identity: String, _ entity: String, isSelf: Bool) -> Fit {
        let words = TimeName.words(column)
        let (column, identity, entity) = (
            InferredNames.folded(column), InferredNames.folded(identity), InferredNames.folded(entity)
        )
        let names = [entity + "id", entity + identity, entity + "key", entity + "code", entity + "no"]
        if column == entity || names.contains(column) { return .entity }
        if names.contains(where: column.hasSuffix) { return .ending }
        let stem = column.hasSuffix("id") ? String(column.dropLast(2)) : column
        if isSelf, ownNames.contains(stem) || stem.hasPrefix("parent") { return .ending }
        if column == identity, !["id", "key", "code", "name", "number"].contains(identity) { return .identity }
        return people.contains(entity) && words.contains(where: roles.contains) ? .role : .none
    }
}
