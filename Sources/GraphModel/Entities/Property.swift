/// A value that each object of an entity has.
///
/// Attributes and relationships are classes: an event hands them around for each value and link, and copies of structures
/// would take their texts along.
public final class Attribute: Sendable {
    /// The name as the model file states it.
    public let name: String
    /// The name of the column; of a transient attribute, which has none, the attribute's own.
    public let columnName: String
    /// The type of the attribute's values.
    public let type: AttributeType
    /// The position among the columns of the entity's table; of a transient attribute, the position among
    /// ``Entity/transientAttributes``.
    public let slot: Int
    /// The position of the entity that declares the attribute; its sub-entities have it too.
    public let entityIndex: Int
    /// Tells whether an object may lack a value.
    public let isOptional: Bool
    /// The value of a new object whose event does not name the attribute.
    public let defaultValue: Value
    /// The limits on the values; without any, all values of the type pass.
    public let constraints: ValueConstraints
    /// How the value follows from others, or nil for a stored attribute.
    public let derivation: DerivedExpression?
    /// Tells whether no two objects of the entity may share a value: a constraint of its own says so too.
    public let isUnique: Bool
    /// Tells whether the store keeps an index on the attribute.
    public let isIndexed: Bool
    /// Tells whether the value of a deleted object stays readable in its history.
    public let isPreservedAfterDeletion: Bool

    /// The name in the model's versions before, or nil.
    public let renamedFrom: String?
    /// The hash modifier: a text that changes the version hash of the attribute where nothing else does, or nil.
    public let hashModifier: String?
    /// The model file's notes for people and tools.
    public let info: [String: String]
    /// Tells whether the value lives in memory only; see ``Entity/transientAttributes``.
    public let isTransient: Bool

    init(
        _ declared: AttributeDeclaration, columnName: String, slot: Int, entityIndex: Int, defaultValue: Value,
        constraints: ValueConstraints, derivation: DerivedExpression?
    ) {
        name = declared.name
        self.columnName = columnName
        type = declared.type
        self.slot = slot
        self.entityIndex = entityIndex
        isOptional = declared.isOptional
        self.defaultValue = defaultValue
        self.constraints = constraints
        self.derivation = derivation
        isUnique = declared.isUnique
        isIndexed = declared.isIndexed
        isPreservedAfterDeletion = declared.isPreservedAfterDeletion
        renamedFrom = declared.renamedFrom?.content
        hashModifier = declared.hashModifier
        info = declared.info
        isTransient = declared.isTransient
    }

    /// Tells whether the store computes the value.
    @inlinable public var isDerived: Bool { derivation != nil }

    /// The value of a derived attribute before anything is known: zero for counts and sums, otherwise null.
    package var initialDerivedValue: Value { derivation?.beginsAtZero == true ? zero : .null }

    /// Zero in the attribute's stored form.
    package var zero: Value {
        switch type {
        case .double, .float: .double(0)
        case .decimal: .text("0")
        default: .integer(0)
        }
    }
}

/// Where a relationship's links are kept.
@usableFromInline package enum RelationshipStorage: Sendable, Equatable {
    /// In a column of the relationship's own entity.
    case column(slot: Int)
    /// In the column of the destination's to-one inverse.
    case inverseColumn(slot: Int)
    /// In a join table; `isOwner` tells which of its two columns this side is.
    case join(table: Int, isOwner: Bool)
}

/// A relationship: it links the objects of one entity with objects of another by a name.
public final class Relationship: Sendable {
    /// The name as the model file states it.
    public let name: String
    /// The name of a to-one relationship's column; of others, which have none, the relationship's own.
    public let columnName: String
    /// The name in the model's versions before, or nil.
    public let renamedFrom: String?
    /// A text that makes the relationship another one though nothing else changed, or nil.
    public let hashModifier: String?
    /// The model file's notes for people and tools.
    public let info: [String: String]
    /// The position among the entity's relationships.
    public let index: Int
    /// The position of the entity that declares the relationship; its sub-entities have it too.
    public let entityIndex: Int
    /// The position of the destination's entity.
    public let destinationIndex: Int
    /// Tells whether an object may have more than one destination.
    public let isToMany: Bool
    /// Tells whether an object may lack a destination.
    public let isOptional: Bool
    /// The effect of an object's deletion on its destinations.
    public let deleteRule: DeleteRule
    /// The treatment of a reference to a destination that has not arrived.
    public let onMissing: MissingDestination
    /// The least number of destinations, 0 for none; of an optional relationship it counts once there are any.
    public let minimumCount: Int
    /// The greatest number of destinations, or nil.
    public let maximumCount: Int?
    /// The position of the inverse among the destination's relationships, or nil where there is none.
    public let inverseIndex: Int?
    @usableFromInline package let storage: RelationshipStorage
    /// Tells whether the destinations of a to-many relationship have an order.
    public let isOrdered: Bool
    /// The slot of the destinations' rows that holds their place in an ordered one-to-many relationship, or nil.
    package let positionSlot: Int?

    init(
        _ declared: RelationshipDeclaration, index: Int, entityIndex: Int, destinationIndex: Int, inverseIndex: Int?,
        storage: RelationshipStorage, columnName: String?, positionSlot: Int?
    ) {
        name = declared.name
        self.columnName = columnName ?? declared.name
        renamedFrom = declared.renamedFrom?.content
        hashModifier = declared.hashModifier
        info = declared.info
        self.index = index
        self.entityIndex = entityIndex
        self.destinationIndex = destinationIndex
        isToMany = declared.isToMany
        isOptional = declared.isOptional
        deleteRule = declared.deleteRule
        onMissing = declared.onMissing
        // A required to-many relationship needs at least one.
        minimumCount =
            declared.isToMany && !declared.isOptional ? max(1, declared.minimumCount) : declared.minimumCount
        maximumCount = declared.maximumCount
        self.inverseIndex = inverseIndex
        self.storage = storage
        isOrdered = declared.isOrdered
        self.positionSlot = positionSlot
    }

    /// The slot of the column, for a to-one relationship.
    @inlinable package var slot: Int? {
        if case .column(let slot) = storage { return slot }
        return nil
    }

    /// Whether destinations that stay lose a deleted object by a rule: their link to it, or the reference in their column.
    package func isCleared(by rule: DeleteRule) -> Bool {
        if case .join = storage { rule.removesLinks } else { rule.clearsReferences }
    }

    /// Tells whether the number of destinations is limited.
    @inlinable package var hasCountLimits: Bool { minimumCount > 0 || maximumCount != nil }
}

/// A relationship that lives in memory only: the store has no place for it.
public struct TransientRelationship: Sendable {
    /// The name as the model file states it.
    public let name: String
    /// The position of the entity that declares it.
    public let entityIndex: Int
    /// The position of the destination's entity.
    public let destinationIndex: Int
    /// Tells whether an object may have more than one destination.
    public let isToMany: Bool
    /// Tells whether an object may lack a destination.
    public let isOptional: Bool
    /// The name in the model's versions before, or nil.
    public let renamedFrom: String?
    /// A text that makes the relationship another one though nothing else changed, or nil.
    public let hashModifier: String?
    /// The model file's notes for people and tools.
    public let info: [String: String]
}

/// A table of pairs: the links of a many-to-many relationship, or of a to-many one without inverse.
package struct JoinTable: Sendable {
    package var name: String
    package let index: Int
    /// The side whose name the table has.
    package let ownerEntity: Int
    package let ownerRelationship: Int
    package let destinationEntity: Int
    /// The relationship back, or nil.
    package let destinationRelationship: Int?
    /// Tells whether the owner's destinations have an order, kept in the column `destinationPosition`.
    package var ordersDestinations = false
    /// Tells whether the destination's owners have an order, kept in the column `ownerPosition`.
    package var ordersOwners = false

    /// The columns that hold positions.
    package var positionColumns: [String] {
        (ordersDestinations ? [Self.positionColumn(isOwner: true)] : [])
            + (ordersOwners ? [Self.positionColumn(isOwner: false)] : [])
    }

    /// The column with the places of the objects that a side's relationship leads to.
    package static func positionColumn(isOwner: Bool) -> String { isOwner ? "destinationPosition" : "ownerPosition" }

    /// Tells whether the relationship is its own inverse: a pair then stands for both directions.
    package var isOwnInverse: Bool { ownerEntity == destinationEntity && ownerRelationship == destinationRelationship }
}
