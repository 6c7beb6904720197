/// The properties of one request's objects or rows.
public final class FetchShape: Sendable {
    /// A fetched property.
    public struct Column: Sendable {
        /// The kind of property.
        package enum Source: Sendable {
            case attribute(Attribute)
            case toOne(Relationship)
            case toMany(Relationship)
            case expression(TypedExpression)
        }

        /// The property's name.
        public let name: String
        /// The type of the value; for a relationship, the type of its destinations' identities.
        public let type: AttributeType
        package let source: Source

        /// Tells whether the property is a list of identities.
        public var isToMany: Bool {
            if case .toMany = source { return true }
            return false
        }
    }

    /// The entity of the properties.
    public let entity: Entity
    /// The properties, in the order of the request or else of the model.
    public let columns: [Column]
    /// Tells for each column whether it is a list. Each value asks for it, and reading a whole column would copy it.
    package let areLists: [Bool]
    /// Tells whether an aggregate makes one row of all objects.
    let hasRowAggregates: Bool
    private let positions: [String: Int]

    init(entity: Entity, columns: [Column], hasRowAggregates: Bool) {
        self.entity = entity
        self.columns = columns
        areLists = columns.map(\.isToMany)
        self.hasRowAggregates = hasRowAggregates
        positions = Dictionary(columns.enumerated().map { ($1.name, $0) }) { first, _ in first }
    }

    /// Attributes and to-one relationships.
    static func standardColumns(_ entity: Entity, _ model: ObjectModel) -> [Column] {
        (entity.attributes.map(\.name) + entity.relationships.filter { !$0.isToMany }.map(\.name))
            .compactMap { column(named: $0, entity, model) }
    }

    /// Returns the column of a property of the entity itself, or nil if the entity has no property of that name.
    package static func column(named name: String, _ entity: Entity, _ model: ObjectModel) -> Column? {
        if let attribute = entity.attribute(named: name) {
            return Column(name: name, type: attribute.type, source: .attribute(attribute))
        }
        guard let relationship = entity.relationship(named: name) else { return nil }
        let type = model.entities[relationship.destinationIndex].identity.type
        return Column(
            name: name, type: type, source: relationship.isToMany ? .toMany(relationship) : .toOne(relationship))
    }

    /// Returns the position of a property among the columns, or nil.
    public func position(of name: String) -> Int? { positions[name] }
}
