/// The properties that fetched objects or rows of one request have.
public final class FetchShape: Sendable {
    /// A property that is read.
    public struct Column: Sendable {
        /// What kind of property it is.
        enum Source: Sendable {
            case attribute(Attribute)
            case toOne(Relationship)
            case toMany(Relationship)
            case expression(TypedExpression)
        }

        /// The property's name.
        public let name: String
        /// The type of the value; of a relationship, that of its destinations' identities.
        public let type: AttributeType
        let source: Source

        /// Tells whether the property is a list of identities.
        public var isToMany: Bool {
            if case .toMany = source { return true }
            return false
        }
    }

    /// The entity whose properties these are.
    public let entity: Entity
    /// The properties, in the order of the request or else of the model.
    public let columns: [Column]
    /// For each column, whether it is a list: asked for each value, where a whole column would be copied.
    let areLists: [Bool]
    /// Tells whether all objects make one row.
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

    /// Returns the column of a property of the entity itself, or nil where it has none of that name.
    static func column(named name: String, _ entity: Entity, _ model: ObjectModel) -> Column? {
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
