/// The origins of a model's entities and properties in another model: by renaming identifier, else by name.
///
/// Renaming identifiers are canonical, as in Core Data. An entity `A` becomes `B` with `renamedFrom: A`, and then `C` with
/// `renamedFrom: A`. It maps from the first model to the third.
package struct ModelMapping: Sendable {
    /// The origin of an entity of the new model.
    package struct Source: Sendable {
        /// The old entity, or nil where the new one has none.
        package let entity: Entity?
        /// The old attribute of each stored attribute that has one, by the new name.
        package let attributes: [String: Attribute]
        /// The old relationship of each stored relationship that has one, by the new name.
        package let relationships: [String: Relationship]
    }

    package let old: ObjectModel
    package let new: ObjectModel
    /// By the position of the new entity.
    package let sources: [Source]
    /// The positions of the new entities, by the position of the old one that they go back to.
    private let targets: [Int: Int]

    package init(from old: ObjectModel, to new: ObjectModel) {
        self.old = old
        self.new = new
        let matches = Self.matches(
            new.entities.map { Name($0.name, $0.renamedFrom) }, old.entities.map { Name($0.name, $0.renamedFrom) })
        targets = Dictionary(
            matches.enumerated().compactMap { target, source in source.map { ($0, target) } },
            uniquingKeysWith: { first, _ in first })
        sources = zip(new.entities, matches).map { entity, match in
            guard let source = match.map({ old.entities[$0] }) else {
                return Source(entity: nil, attributes: [:], relationships: [:])
            }
            let attributes = Array(source.attributes)
            let attributeMatches = Self.matches(
                entity.attributes.map { Name($0.name, $0.renamedFrom) },
                attributes.map { Name($0.name, $0.renamedFrom) })
            let relationshipMatches = Self.matches(
                entity.relationships.map { Name($0.name, $0.renamedFrom) },
                source.relationships.map { Name($0.name, $0.renamedFrom) })
            return Source(
                entity: source,
                attributes: Self.pairs(entity.attributes.map(\.name), attributeMatches) { attributes[$0] },
                relationships: Self.pairs(entity.relationships.map(\.name), relationshipMatches) {
                    source.relationships[$0]
                })
        }
    }

    /// Returns the new entity that goes back to an old one, or nil where the old one is gone.
    package func target(of old: Entity) -> Entity? { targets[old.index].map { new.entities[$0] } }

    /// How the objects of an old entity, sub-entities included, stand to a new one.
    package enum Kinship: Sendable {
        /// All that live on are of it.
        case all
        /// Some are of it, or may be.
        case some
        case none
    }

    package func kinship(of former: Entity, to destination: Entity) -> Kinship {
        let heirs = old.entities.filter { $0.isKind(of: former) && !$0.isAbstract }.compactMap { target(of: $0) }
        if heirs.isEmpty { return target(of: former)?.isKind(of: destination) == true ? .all : .none }
        let kin = heirs.filter { $0.isKind(of: destination) }
        if kin.count == heirs.count { return .all }
        return kin.isEmpty && !heirs.contains { destination.isKind(of: $0) } ? .none : .some
    }

    package func source(of entity: Entity) -> Source { sources[entity.index] }

    /// Returns the old relationship that a new one goes back to, seen from the entity that declares it.
    package func source(of relationship: Relationship) -> Relationship? {
        sources[relationship.entityIndex].relationships[relationship.name]
    }

    /// The old entities that no new one goes back to.
    package var removedEntities: [Entity] { old.entities.filter { targets[$0.index] == nil } }

    private static func pairs<Property>(
        _ names: [String], _ matches: [Int?], _ property: (Int) -> Property
    ) -> [String: Property] {
        Dictionary(
            zip(names, matches).compactMap { name, match in match.map { (name, property($0)) } },
            uniquingKeysWith: { first, _ in first })
    }

    // MARK: Matching

    private struct Name {
        let name: String
        let renamedFrom: String?

        init(_ name: String, _ renamedFrom: String?) {
            self.name = name
            self.renamedFrom = renamedFrom
        }
    }

    /// Returns for each target the position of its source, or nil; no source serves two.
    ///
    /// A renaming that the model states goes before equal names.
    private static func matches(_ targets: [Name], _ sources: [Name]) -> [Int?] {
        var result = [Int?](repeating: nil, count: targets.count)
        var free = Set(sources.indices)
        func take(_ isMatch: (Name, Name) -> Bool) {
            for (index, target) in targets.enumerated() where result[index] == nil {
                guard let found = sources.indices.first(where: { free.contains($0) && isMatch(target, sources[$0]) })
                else { continue }
                result[index] = found
                free.remove(found)
            }
        }
        take { $0.renamedFrom != nil && $0.renamedFrom == $1.renamedFrom }
        take { $0.renamedFrom == $1.name }
        take { $0.name == $1.name }
        // Back from a later version to an earlier one.
        take { $0.name == $1.renamedFrom }
        return result
    }
}
