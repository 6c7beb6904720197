/// How many of everything a model declares.
public struct ModelCounts: Sendable, Equatable {
    /// How many entities there are.
    public let entities: Int
    /// The number of attributes that all entities declare, derived and transient ones included. Inherited ones count once.
    /// An attribute that only stands in for an identity does not count.
    public let attributes: Int
    /// Each declaration counts, so a relationship and its inverse are two.
    public let relationships: Int
    /// How many relationships have each delete rule.
    public let deleteRules: [DeleteRule: Int]

    init(_ model: ObjectModel) {
        let relationships = model.entities.flatMap(\.ownRelationships)
        let transients = model.entities.reduce(0) { sum, entity in
            sum + entity.transientRelationships.filter { $0.entityIndex == entity.index }.count
        }
        entities = model.entities.count
        attributes = model.entities.reduce(0) { sum, entity in
            sum + entity.ownAttributes.count { $0.name != HiddenIdentity.name }
                + entity.transientAttributes.filter { $0.entityIndex == entity.index }.count
        }
        self.relationships = relationships.count + transients
        deleteRules = Dictionary(relationships.map { ($0.deleteRule, 1) }, uniquingKeysWith: +)
    }
}

extension ObjectModel {
    /// How many entities, attributes, relationships and delete rules there are.
    public var counts: ModelCounts { ModelCounts(self) }

    /// The relationships in the order of the file, each pair of inverses once.
    var relationshipPairs: [(relationship: Relationship, inverse: Relationship?)] {
        var pairs: [(relationship: Relationship, inverse: Relationship?)] = []
        for relationship in entities.flatMap(\.ownRelationships) {
            let inverse = relationship.inverseIndex.map { entities[relationship.destinationIndex].relationships[$0] }
            if let inverse {
                let isSeen = (inverse.entityIndex, inverse.index) < (relationship.entityIndex, relationship.index)
                if isSeen { continue }
            }
            pairs.append((relationship, inverse))
        }
        return pairs
    }
}
