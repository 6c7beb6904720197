/// A kind of object.
///
/// Entities with a common ancestor share one table, named after the topmost, and one space of primary keys and
/// identities. So a slot means the same column for every entity of a hierarchy.
public final class Entity: Sendable {
    /// The entity's name as the model file states it.
    public let name: String
    /// The entity's position in its model.
    public let index: Int
    /// The position of the entity whose properties this one inherits, or nil.
    public let parentIndex: Int?
    /// The position of the entity at the top of the hierarchy; the entity's own where it has no parent.
    public let rootIndex: Int
    /// The name of the table that holds the objects: the root's.
    public let tableName: String
    /// The name of the table, or of the view on the root's, that shows the objects of this entity and of those below.
    public let viewName: String
    /// The name of the view that shows the same to people.
    public let readableViewName: String
    /// The name of the entity at the top of the hierarchy.
    package let rootName: String
    /// The positions of the parent, its parent and so on.
    public let ancestorIndexes: [Int]
    /// The positions of all entities below this one, nearer ones first.
    public let subentityIndexes: [Int]
    /// Tells whether there are no objects of this very entity, only of its sub-entities.
    public let isAbstract: Bool
    /// Tells whether the table holds objects of several entities, named in its column `_entity`.
    public let sharesTable: Bool
    /// The attributes that are stored, inherited ones first; each one's position is its column's slot.
    public let attributes: AttributeList
    /// The attributes without a column: events may name them, and contexts keep them in memory.
    public let transientAttributes: [Attribute]
    /// The relationships, inherited ones first, so that a position means the same in all sub-entities.
    public let relationships: [Relationship]
    /// The relationships without a place in the store.
    public let transientRelationships: [TransientRelationship]
    /// The slot of the attribute that events address objects by.
    public let identitySlot: Int
    /// The slot of the attribute that orders an object's versions, or nil.
    public let versionSlot: Int?
    /// The properties whose values together no two objects may share, inherited ones first; the identity aside.
    public let uniquenessConstraints: [UniquenessConstraint]
    /// The indexes that this entity declares.
    public let indexes: [EntityIndex]
    /// The name of the policy for conflicts, or nil where the model states none.
    public let mergePolicy: String?
    /// The name in the model's versions before, or nil.
    public let renamedFrom: String?
    /// A text that makes the entity another one though nothing else changed, or nil.
    public let hashModifier: String?
    /// The class that represents the objects in a program, or nil.
    public let className: String?
    /// The model file's notes for people and tools.
    public let info: [String: String]
    /// The number of slots in a row of the table, for all entities of the hierarchy. Attributes come first, then to-one
    /// relationships, then positions in ordered relationships.
    package let slotCount: Int
    /// The number of the slots before the positions, which are no properties.
    package let propertySlotCount: Int
    /// The names of the slots' columns.
    package let columnNames: [String]
    /// The names of the properties that the slots hold; of a position its column's.
    package let slotNames: [String]
    /// The values of a new object, one a slot: defaults, otherwise null.
    package let defaults: [Value]
    /// The values that an object begins with before anything is known of it: what is derived from nothing.
    package let initialValues: [Value]
    /// The slots whose defaults are not null.
    package let defaultSlots: [Int]
    /// The relationships whose number of destinations is limited.
    package let countedRelationships: [Relationship]
    /// Tells whether a column of the table is cleared when the row that it refers to goes: there is no inverse.
    private let hasClearedColumns: Bool
    /// The slots that a program or an event sets: neither the identity nor what the store computes.
    package let editableSlots: [Int]
    /// The attributes among them.
    package let editableAttributes: [Int]
    /// The slots that have to hold a value once the object's own event has come.
    package let requiredSlots: [Int]
    /// The columns that lead to other objects, in the order of their relationships.
    package let linkColumns: [LinkColumn]
    /// The limits of the attributes that are set, as far as they have any.
    package let limits: [AttributeLimits]
    /// The same by slot.
    package let limitsBySlot: [AttributeLimits?]
    /// The slots that are part of uniqueness constraints.
    package let constraintSlots: [Int]
    /// How many relationships are inherited.
    let inheritedRelationshipCount: Int
    private let attributePositions: [String: Int]
    private let relationshipPositions: [String: Int]

    init(_ parts: EntityParts, table: TableLayout) {
        let declared = parts.declaration
        (name, index, isAbstract) = (declared.name, parts.index, declared.isAbstract)
        (parentIndex, rootIndex) = (parts.ancestors.first, parts.ancestors.last ?? parts.index)
        (ancestorIndexes, subentityIndexes) = (parts.ancestors, parts.subentities)
        (tableName, rootName, sharesTable) = (table.name, parts.rootName, table.entityCount > 1)
        (viewName, readableViewName) = (parts.names.table, parts.names.readable)
        attributes = AttributeList(parts.attributes)
        transientAttributes = parts.transientAttributes
        relationships = parts.relationships
        transientRelationships = parts.transientRelationships
        identitySlot = parts.identitySlot
        versionSlot = parts.versionSlot
        uniquenessConstraints = parts.uniquenessConstraints
        indexes = parts.indexes
        mergePolicy = declared.mergePolicy?.content
        renamedFrom = declared.renamedFrom?.content
        (hashModifier, className, info) = (declared.hashModifier, declared.className, declared.info)
        inheritedRelationshipCount = parts.inheritedRelationshipCount
        (columnNames, slotNames) = (table.columnNames, table.slotNames)
        (slotCount, propertySlotCount) = (table.columnNames.count, table.propertySlotCount)
        (defaults, initialValues) = parts.values(slotCount: table.columnNames.count)
        defaultSlots = defaults.indices.filter { [defaults] in !defaults[$0].isNull }
        countedRelationships = parts.relationships.filter(\.hasCountLimits)
        hasClearedColumns = parts.relationships.contains { $0.slot != nil && $0.inverseIndex == nil }
        editableAttributes = parts.editableAttributes
        editableSlots = editableAttributes + parts.relationships.compactMap(\.slot)
        requiredSlots =
            parts.attributes.filter { !$0.isOptional && !$0.isDerived }.map(\.slot)
            + parts.relationships.filter { !$0.isOptional }.compactMap(\.slot)
        linkColumns = parts.relationships.compactMap { LinkColumn($0) }
        limits = parts.attributes.compactMap { AttributeLimits($0) }
        var limitsBySlot = [AttributeLimits?](repeating: nil, count: table.columnNames.count)
        for limits in limits { limitsBySlot[limits.slot] = limits }
        self.limitsBySlot = limitsBySlot
        constraintSlots = Set(parts.uniquenessConstraints.flatMap(\.slots)).sorted()
        attributePositions = Dictionary(uniqueKeysWithValues: parts.attributes.map { ($0.name, $0.slot) })
        relationshipPositions = Dictionary(uniqueKeysWithValues: parts.relationships.map { ($0.name, $0.index) })
    }

    /// The attribute that events address objects by.
    @inlinable public var identity: Attribute { attributes[identitySlot] }

    /// Tells whether objects of this entity are objects of another one too: the same, or one of its ancestors.
    @inlinable public func isKind(of other: Entity) -> Bool {
        index == other.index || ancestorIndexes.contains(other.index)
    }

    /// Returns the stored attribute of a name, or nil.
    public func attribute(named name: String) -> Attribute? {
        attributePositions[name].map { attributes[$0] }
    }

    /// Returns the attribute of a name that has no column, or nil.
    public func transientAttribute(named name: String) -> Attribute? {
        transientAttributes.first { $0.name == name }
    }

    /// Returns the relationship of a name, or nil.
    public func relationship(named name: String) -> Relationship? {
        relationshipPositions[name].map { relationships[$0] }
    }

    /// Returns the column of a stored attribute or to-one relationship, or nil.
    package func columnName(of property: String) -> String? {
        if let attribute = attribute(named: property) { return attribute.columnName }
        return relationship(named: property).flatMap { $0.slot == nil ? nil : $0.columnName }
    }

    /// Returns the to-one relationship without inverse whose column a slot is, or nil.
    package func clearedRelationship(slot: Int) -> Relationship? {
        !hasClearedColumns || attributes.hasAttribute(at: slot)
            ? nil : linkColumns.first { $0.slot == slot && !$0.hasInverse }.map { relationships[$0.relationship] }
    }

    /// Returns the to-one relationship whose column a slot is, or nil.
    package func relationship(at slot: Int) -> Relationship? {
        attributes.hasAttribute(at: slot)
            ? nil : linkColumns.first { $0.slot == slot }.map { relationships[$0.relationship] }
    }

    /// The stored attributes that the entity itself declares.
    public var ownAttributes: [Attribute] { attributes.filter { $0.entityIndex == index } }

    /// The relationships that the entity itself declares.
    public var ownRelationships: ArraySlice<Relationship> { relationships[inheritedRelationshipCount...] }

    /// The uniqueness constraints that the entity itself declares.
    public var ownUniquenessConstraints: [UniquenessConstraint] {
        uniquenessConstraints.filter { $0.entityIndex == index }
    }

    /// The property names, for messages that say what is known.
    public var propertyNames: [String] {
        attributes.map(\.name) + relationships.map(\.name) + transientAttributes.map(\.name)
    }
}

/// A to-one relationship's column, for loops over many objects.
package struct LinkColumn: Sendable {
    package let slot: Int
    /// The position of the destination's entity.
    package let destination: Int
    /// The position among the entity's relationships.
    package let relationship: Int
    package let hasInverse: Bool

    /// Makes the column of a relationship that has one.
    init?(_ relationship: Relationship) {
        guard let slot = relationship.slot else { return nil }
        self.slot = slot
        destination = relationship.destinationIndex
        self.relationship = relationship.index
        hasInverse = relationship.inverseIndex != nil
    }
}

/// The findings of a model's builder about an entity.
struct EntityParts {
    let declaration: EntityDeclaration
    let index: Int
    let ancestors: [Int]
    let subentities: [Int]
    let names: StoredNames
    let rootName: String
    var attributes: [Attribute] = []
    var transientAttributes: [Attribute] = []
    var relationships: [Relationship] = []
    var inheritedRelationshipCount = 0
    var transientRelationships: [TransientRelationship] = []
    var identitySlot = 0
    var versionSlot: Int?
    var uniquenessConstraints: [UniquenessConstraint] = []
    var indexes: [EntityIndex] = []

    /// The slots of the attributes that a program or an event sets.
    var editableAttributes: [Int] {
        attributes.filter { $0.slot != identitySlot && !$0.isDerived }.map(\.slot)
    }

    /// Returns one value a slot: for a new object the defaults, for an object that nothing is known of the initial
    /// values.
    func values(slotCount: Int) -> (defaults: [Value], initial: [Value]) {
        var defaults = [Value](repeating: .null, count: slotCount)
        var initial = defaults
        for attribute in attributes {
            if attribute.isDerived {
                initial[attribute.slot] = attribute.initialDerivedValue
            } else {
                defaults[attribute.slot] = attribute.defaultValue
            }
        }
        return (defaults, initial)
    }
}

/// The columns of a hierarchy's table.
struct TableLayout {
    let name: String
    let entityCount: Int
    let columnNames: [String]
    let slotNames: [String]
    let propertySlotCount: Int
}

/// The stored attributes of an entity, in the order of their slots.
///
/// A position is a slot. The slots of an entity without parent and sub-entities go from 0 up; in a hierarchy they leave
/// out what belongs to other entities.
public struct AttributeList: BidirectionalCollection, Sendable {
    @usableFromInline let list: [Attribute]
    /// For each slot up to the last, the position in `list` of the first attribute at it or behind it.
    @usableFromInline let positions: [Int]

    init(_ attributes: [Attribute]) {
        list = attributes.sorted { $0.slot < $1.slot }
        var positions: [Int] = []
        for (position, attribute) in list.enumerated() {
            while positions.count <= attribute.slot { positions.append(position) }
        }
        self.positions = positions
    }

    /// The slot of the first attribute.
    @inlinable public var startIndex: Int { list.first?.slot ?? 0 }
    /// The position behind the last attribute.
    @inlinable public var endIndex: Int { positions.count }
    /// The number of attributes.
    @inlinable public var count: Int { list.count }

    /// The attribute at a slot.
    @inlinable public subscript(slot: Int) -> Attribute { list[positions[slot]] }

    /// Returns the slot of the next attribute.
    @inlinable public func index(after slot: Int) -> Int {
        let next = positions[slot] + 1
        return next < list.count ? list[next].slot : endIndex
    }

    /// Returns the slot of the attribute before.
    public func index(before slot: Int) -> Int {
        list[(slot < positions.count ? positions[slot] : list.count) - 1].slot
    }

    /// Tells whether a slot belongs to one of the attributes.
    @inlinable package func hasAttribute(at slot: Int) -> Bool {
        slot < positions.count && list[positions[slot]].slot == slot
    }
}

/// Properties whose values together no two objects of an entity and its sub-entities may share. A null among the values
/// lifts the constraint, as in SQLite.
public struct UniquenessConstraint: Sendable {
    /// The position among the model's constraints.
    public let index: Int
    /// The position of the entity that declares it.
    public let entityIndex: Int
    /// The names of the properties: attributes and to-one relationships.
    public let properties: [String]
    /// The slots of the properties.
    package let slots: [Int]
}

/// An index that a model declares.
public struct EntityIndex: Sendable {
    /// A term that orders rows.
    public struct Element: Sendable, Equatable {
        /// A function of a property.
        public enum Function: String, Sendable, CaseIterable {
            case lowercase, uppercase, canonical
        }

        /// The name of an attribute or to-one relationship.
        public let property: String
        /// The function of it, or nil for the value itself.
        public var function: Function?
        /// Tells whether the order is descending.
        public var isDescending = false
    }

    /// The index's own name, or nil.
    public let name: String?
    /// The terms that order rows, the first most important.
    public let elements: [Element]
    /// The condition on the rows that a partial index holds, as the model file states it, or nil.
    public let predicate: String?

    /// The names of the properties.
    public var properties: [String] { elements.map(\.property) }

    /// Tells whether there is more to the index than a list of properties.
    package var isPlain: Bool {
        name == nil && predicate == nil && elements.allSatisfy { $0.function == nil && !$0.isDescending }
    }
}

/// The store's names of an entity.
struct StoredNames {
    /// The table, or the view of an entity below another.
    var table = ""
    /// The view for people.
    var readable = ""
}
