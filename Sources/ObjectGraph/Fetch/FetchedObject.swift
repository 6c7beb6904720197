/// The properties that fetched objects of one request have.
public final class FetchShape: Sendable {
    /// A property that is read.
    public struct Column: Sendable {
        /// What kind of property it is.
        enum Source: Sendable {
            case attribute(Attribute)
            case toOne(Relationship)
            case toMany(Relationship)
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
    private let positions: [String: Int]

    init(entity: Entity, properties: [String]?, model: ObjectModel) throws(PredicateError) {
        var columns: [Column] = []
        let names = properties ?? Self.standardNames(entity)
        for name in names where !columns.contains(where: { $0.name == name }) {
            columns.append(try Self.column(name, entity, model))
        }
        self.entity = entity
        self.columns = columns
        positions = Dictionary(uniqueKeysWithValues: columns.enumerated().map { ($1.name, $0) })
    }

    private static func standardNames(_ entity: Entity) -> [String] {
        entity.attributes.map(\.name) + entity.relationships.filter { !$0.isToMany }.map(\.name)
    }

    private static func column(
        _ name: String, _ entity: Entity, _ model: ObjectModel
    ) throws(PredicateError) -> Column {
        if let attribute = entity.attribute(named: name) {
            return Column(name: name, type: attribute.type, source: .attribute(attribute))
        }
        guard let relationship = entity.relationship(named: name) else {
            throw PredicateError(
                .unknownProperty, "\(entity.name) has no property '\(name)'", at: nil,
                remedy: ClosestName.remedy(name, among: entity.propertyNames))
        }
        let type = model.entities[relationship.destinationIndex].identity.type
        return Column(
            name: name, type: type, source: relationship.isToMany ? .toMany(relationship) : .toOne(relationship))
    }

    /// Returns the position of a property among the columns, or nil.
    public func position(of name: String) -> Int? { positions[name] }
}

/// An object as a fetch delivers it: a copy, not tied to the store.
public struct FetchedObject: Sendable {
    /// What a property holds.
    public enum Content: Sendable, Hashable {
        /// A value in stored form; of a to-one relationship, the destination's identity.
        case value(Value)
        /// The identities of a to-many relationship's destinations, sorted.
        case list([Value])
    }

    /// Which properties were read.
    public let shape: FetchShape
    /// The object's primary key in its table.
    public let pk: Int64
    /// Tells whether the object was mentioned, but has not arrived.
    public let isPlaceholder: Bool
    /// One content for each column of the shape.
    public let contents: [Content]

    /// The object's entity.
    public var entity: Entity { shape.entity }

    /// Returns a property's value in stored form, or nil where the property was not fetched or is a list.
    public subscript(name: String) -> Value? {
        guard let position = shape.position(of: name), case .value(let value) = contents[position] else { return nil }
        return value
    }

    /// Returns the identities that a to-many relationship leads to, or nil where it was not fetched.
    public func identities(of name: String) -> [Value]? {
        guard let position = shape.position(of: name), case .list(let values) = contents[position] else { return nil }
        return values
    }

    /// Appends the object as one JSON object: its properties in the order of the shape, and `"_placeholder": true`
    /// where it is one.
    public func appendJSON(to output: inout String) {
        output += "{"
        for (position, column) in shape.columns.enumerated() {
            if position > 0 { output += "," }
            JSONText.append(column.name, to: &output)
            output += ":"
            switch contents[position] {
            case .value(let value): column.type.appendJSON(value, to: &output)
            case .list(let values): append(values, column.type, to: &output)
            }
        }
        if isPlaceholder { output += shape.columns.isEmpty ? "\"_placeholder\":true" : ",\"_placeholder\":true" }
        output += "}"
    }

    private func append(_ values: [Value], _ type: AttributeType, to output: inout String) {
        output += "["
        for (index, value) in values.enumerated() {
            if index > 0 { output += "," }
            type.appendJSON(value, to: &output)
        }
        output += "]"
    }
}
