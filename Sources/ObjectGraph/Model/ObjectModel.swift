/// Entities, their attributes and relationships, checked to hold together.
///
/// A model is immutable and shared freely between threads. Entities are addressed by name or by position.
public final class ObjectModel: Sendable {
    /// The model's name, for people.
    public let name: String
    /// The version that the model file states, for people; the store compares shapes, not versions.
    public let version: String
    /// The entities in the order of the file.
    public let entities: [Entity]
    /// The join tables of relationships that no column of an entity can hold.
    let joinTables: [JoinTable]
    private let positions: [String: Int]

    init(name: String, version: String, entities: [Entity], joinTables: [JoinTable]) {
        self.name = name
        self.version = version
        self.entities = entities
        self.joinTables = joinTables
        positions = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0.index) })
    }

    /// Returns the entity of a name, or nil.
    public func entity(named name: String) -> Entity? {
        positions[name].map { entities[$0] }
    }

    /// Returns the entity whose name equals `name` but for the case of letters, or nil.
    ///
    /// Event types spell entities in lower case: `message.upserted` means `Message`.
    public func entity(matching name: String) -> Entity? {
        if let exact = entity(named: name) { return exact }
        let folded = name.lowercased()
        return entities.first { $0.name.lowercased() == folded }
    }
}

/// A kind of object: one table in the store.
public final class Entity: Sendable {
    /// The entity's name, which is also its table's name.
    public let name: String
    /// The entity's position in its model.
    public let index: Int
    /// The attributes in the order of the file; their positions are their columns' slots.
    public let attributes: [Attribute]
    /// The relationships in the order of the file.
    public let relationships: [Relationship]
    /// The slot of the attribute that events address objects by.
    public let identitySlot: Int
    /// The slot of the attribute that orders an object's versions, or nil.
    public let versionSlot: Int?
    /// The properties of each declared index.
    public let indexes: [[String]]
    /// The slots of derived attributes in an order in which each comes after those it reads.
    let derivedOrder: [Int]
    /// How many slots a row has: attributes first, then to-one relationships.
    let slotCount: Int
    /// The names of the slots' columns.
    let columnNames: [String]
    /// The values of a new object: defaults, otherwise null.
    let defaults: [Value]
    /// The slots that have to hold a value once the object's own event has come.
    let requiredSlots: [Int]
    /// The slots of attributes with the option `unique`, the identity excluded.
    let uniqueSlots: [Int]
    private let attributePositions: [String: Int]
    private let relationshipPositions: [String: Int]

    init(
        name: String, index: Int, attributes: [Attribute], relationships: [Relationship], identitySlot: Int,
        versionSlot: Int?, indexes: [[String]], derivedOrder: [Int]
    ) {
        self.name = name
        self.index = index
        self.attributes = attributes
        self.relationships = relationships
        self.identitySlot = identitySlot
        self.versionSlot = versionSlot
        self.indexes = indexes
        self.derivedOrder = derivedOrder
        let toOne = relationships.filter { $0.slot != nil }
        slotCount = attributes.count + toOne.count
        columnNames = attributes.map(\.name) + toOne.map(\.name)
        defaults = attributes.map { $0.isDerived ? .null : $0.defaultValue } + toOne.map { _ in .null }
        requiredSlots =
            attributes.filter { !$0.isOptional && !$0.isDerived }.map(\.slot)
            + toOne.filter { !$0.isOptional }.compactMap(\.slot)
        uniqueSlots = attributes.filter { $0.isUnique && $0.slot != identitySlot }.map(\.slot)
        attributePositions = Dictionary(uniqueKeysWithValues: attributes.map { ($0.name, $0.slot) })
        relationshipPositions = Dictionary(uniqueKeysWithValues: relationships.map { ($0.name, $0.index) })
    }

    /// The attribute that events address objects by.
    public var identity: Attribute { attributes[identitySlot] }

    /// Returns the attribute of a name, or nil.
    public func attribute(named name: String) -> Attribute? {
        attributePositions[name].map { attributes[$0] }
    }

    /// Returns the relationship of a name, or nil.
    public func relationship(named name: String) -> Relationship? {
        relationshipPositions[name].map { relationships[$0] }
    }

    /// Returns the to-one relationship without inverse whose column a slot is, or nil.
    func clearedRelationship(slot: Int) -> Relationship? {
        slot < attributes.count ? nil : relationships.first { $0.slot == slot && $0.inverseIndex == nil }
    }

    /// The property names, for messages that say what is known.
    public var propertyNames: [String] { attributes.map(\.name) + relationships.map(\.name) }
}

/// A value that each object of an entity has.
public struct Attribute: Sendable {
    /// The name as the model file states it.
    public let name: String
    /// What kind of value the attribute holds.
    public let type: AttributeType
    /// The position among the entity's columns.
    public let slot: Int
    /// Tells whether an object may lack a value.
    public let isOptional: Bool
    /// The value of a new object whose event does not name the attribute.
    public let defaultValue: Value
    /// The limits on the values; without any, all values of the type pass.
    public let constraints: ValueConstraints
    /// How the value follows from others, or nil for a stored attribute.
    public let derivation: DerivedExpression?
    /// Tells whether no two objects of the entity may share a value.
    public let isUnique: Bool
    /// Tells whether the store keeps an index on the attribute.
    public let isIndexed: Bool
    /// Tells whether the value of a deleted object stays readable in its history.
    public let isPreservedAfterDeletion: Bool

    /// Tells whether the store computes the value.
    public var isDerived: Bool { derivation != nil }
}

/// Where a relationship's links are kept.
enum RelationshipStorage: Sendable, Equatable {
    /// In a column of the relationship's own entity.
    case column(slot: Int)
    /// In the column of the destination's to-one inverse.
    case inverseColumn(slot: Int)
    /// In a join table; `isOwner` tells which of its two columns this side is.
    case join(table: Int, isOwner: Bool)
}

/// What deleting an object does to the objects that a relationship leads to.
public enum DeleteRule: String, Sendable, CaseIterable {
    /// Lets the destinations forget the deleted object.
    case nullify
    /// Deletes the destinations too.
    case cascade
    /// Refuses the deletion while there is a destination that stays.
    case deny
    /// Leaves the destinations as they are, dangling references included.
    case noAction
}

/// What becomes of a reference to an object that has not arrived.
public enum MissingDestination: String, Sendable, CaseIterable {
    /// An object with nothing but its identity stands in until its event comes.
    case placeholder
    /// The event goes to the dead letters.
    case reject
}

/// A named way from the objects of one entity to those of another.
public struct Relationship: Sendable {
    /// The name as the model file states it.
    public let name: String
    /// The position among the entity's relationships.
    public let index: Int
    /// The position of the entity that declares the relationship.
    public let entityIndex: Int
    /// The position of the destination's entity.
    public let destinationIndex: Int
    /// Tells whether an object may have more than one destination.
    public let isToMany: Bool
    /// Tells whether an object may lack a destination.
    public let isOptional: Bool
    /// What deleting an object does to its destinations.
    public let deleteRule: DeleteRule
    /// What becomes of a reference to a destination that has not arrived.
    public let onMissing: MissingDestination
    /// The least number of destinations, 0 for none; of an optional relationship it counts once there are any.
    public let minimumCount: Int
    /// The greatest number of destinations, or nil.
    public let maximumCount: Int?
    /// The position of the inverse among the destination's relationships, or nil where there is none.
    public let inverseIndex: Int?
    let storage: RelationshipStorage

    /// The slot of the column, for a to-one relationship.
    var slot: Int? {
        if case .column(let slot) = storage { return slot }
        return nil
    }

    /// Tells whether the number of destinations is limited.
    var hasCountLimits: Bool { minimumCount > 0 || maximumCount != nil }
}

/// A table of pairs: the links of a many-to-many relationship, or of a to-many one without inverse.
struct JoinTable: Sendable {
    let name: String
    let index: Int
    /// The side whose name the table has.
    let ownerEntity: Int
    let ownerRelationship: Int
    let destinationEntity: Int
    /// The relationship back, or nil.
    let destinationRelationship: Int?

    /// Tells whether the relationship is its own inverse: a pair then stands for both directions.
    var isOwnInverse: Bool { ownerEntity == destinationEntity && ownerRelationship == destinationRelationship }
}
