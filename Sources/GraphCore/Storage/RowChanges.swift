/// The rows and links that one save writes, sorted by what is done to them.
///
/// A storage writes them in the order of the fields, so that no unique value is taken twice on the way. An object's values
/// are its own slots, in memory that this keeps. They may change after the write, so a storage may not keep them.
package struct RowChanges {
    /// Changes of the same slots in rows of one hierarchy.
    package struct Updates {
        /// The position of the hierarchy's root.
        package let root: Int
        /// The slots to write, ascending.
        package fileprivate(set) var slots: [Int]
        /// Whether the mark of a placeholder is written too.
        package let setsPlaceholder: Bool
        /// The rows' primary keys.
        package fileprivate(set) var keys: [Int64] = []
        /// One value for each slot of the hierarchy, a row each; only `slots` are written.
        package fileprivate(set) var values: [SlotValues] = []
        /// The marks of placeholders, one a row.
        package fileprivate(set) var placeholders: [Bool] = []
        /// The values that the rows had when they were read, where writers share the store; else empty.
        package fileprivate(set) var formerValues: [SlotValues] = []

        fileprivate init(root: Int, slots: [Int], setsPlaceholder: Bool) {
            self.root = root
            self.slots = slots
            self.setsPlaceholder = setsPlaceholder
        }
    }

    /// New rows of one entity.
    package struct Insertions {
        package let entity: Entity
        package fileprivate(set) var keys: [Int64] = []
        /// One value for each slot of the hierarchy, a row each.
        package fileprivate(set) var values: [SlotValues] = []
        /// The marks of placeholders, one a row.
        package fileprivate(set) var placeholders: [Bool] = []
    }

    /// A link of a join table with the places of its ends in each other's lists.
    package struct Link {
        package let table: Int
        package let pair: Pair
        package let places: PairPlaces
    }

    /// Links to remove.
    package var removedLinks: [Link] = []
    /// The primary keys of rows to delete, by the position of the hierarchy's root. The storage first clears the
    /// references to them that no delete rule has cleared: references of relationships without inverse, and links of
    /// join tables.
    package var deletedKeys: [Int: [Int64]] = [:]
    /// Updates that clear unique values which other rows of this save take over.
    package private(set) var vacated: [Updates] = []
    /// Rows to change.
    package private(set) var updates: [Updates] = []
    /// Rows whose objects have turned out to be of another entity, after their values are written.
    package var entityChanges: [(key: Int64, entity: Entity)] = []
    /// Rows to insert.
    package private(set) var insertions: [Insertions] = []
    /// Links to write; one that is there already gets the places.
    package var links: [Link] = []

    private var updatePositions: [UpdateKey: Int] = [:]
    private var insertionPositions: [Int?]

    private struct UpdateKey: Hashable {
        let root: Int
        let slots: SlotSet
        let setsPlaceholder: Bool
    }

    /// The memory of the values. Most often all stand in that of one registry.
    private var arenas: [ValueArena] = []
    private var own: ValueArena?
    private let keepsFormerValues: Bool
    private let joinsUpdates: Bool

    /// Makes an empty set of changes, for a model with this number of entities.
    ///
    /// - Parameter joinsUpdates: whether the rows of a hierarchy stand together and have all slots that one of them
    ///   changes: one long list for few.
    init(entityCount: Int, keepsFormerValues: Bool = false, joinsUpdates: Bool = false) {
        self.keepsFormerValues = keepsFormerValues
        self.joinsUpdates = joinsUpdates
        insertionPositions = Array(repeating: nil, count: entityCount)
    }

    /// Adds a changed row. Rows that change the same slots stand together, whatever else changes between them. Rows of
    /// other slots have them with their present values where updates are joined.
    ///
    /// - Parameter values: what the row holds after the save, where that is not what the object holds.
    package mutating func update(
        _ object: ContextObject, _ slots: SlotSet, setsPlaceholder: Bool, values: SlotValues? = nil
    ) {
        let root = object.entity.rootIndex
        let key = UpdateKey(root: root, slots: joinsUpdates ? SlotSet() : slots, setsPlaceholder: setsPlaceholder)
        let position: Int
        if let known = updatePositions[key] {
            position = known
            if joinsUpdates {
                let added = slots.sorted.filter { !updates[known].slots.contains($0) }
                if !added.isEmpty { updates[known].slots = (updates[known].slots + added).sorted() }
            }
        } else {
            position = updates.count
            updatePositions[key] = position
            updates.append(Updates(root: root, slots: slots.sorted, setsPlaceholder: setsPlaceholder))
        }
        keep(object.state.arena)
        if keepsFormerValues { keep(object.arena) }
        updates[position].keys.append(object.pk)
        updates[position].values.append(values ?? object.state.values)
        updates[position].placeholders.append(object.state.isPlaceholder)
        if keepsFormerValues { updates[position].formerValues.append(object.original) }
    }

    /// Adds some slots of a row, given in ascending order.
    mutating func update(_ root: Int, key: Int64, slots: [Int], _ values: [Value]) {
        if updates.last?.root != root || updates.last?.slots != slots {
            updates.append(Updates(root: root, slots: slots, setsPlaceholder: false))
        }
        let arena = ownArena()
        updates[updates.count - 1].keys.append(key)
        let packed = arena.slots(count: values.count) { slots.contains($0) ? arena.pack(values[$0]) : .null }
        updates[updates.count - 1].values.append(packed)
        updates[updates.count - 1].placeholders.append(false)
    }

    /// Clears some slots of a row before others are written.
    package mutating func vacate(_ entity: Entity, key: Int64, slots: [Int]) {
        var update = Updates(root: entity.rootIndex, slots: slots.sorted(), setsPlaceholder: false)
        update.keys.append(key)
        update.values.append(ownArena().slots([Value](repeating: .null, count: entity.slotCount)))
        update.placeholders.append(false)
        vacated.append(update)
    }

    private mutating func keep(_ arena: ValueArena) {
        if arenas.last !== arena { arenas.append(arena) }
    }

    /// The memory of values that no object holds.
    private mutating func ownArena() -> ValueArena {
        if let own { return own }
        let made = ValueArena()
        own = made
        return made
    }

    /// Adds a new row.
    package mutating func insert(_ object: ContextObject) {
        let position: Int
        if let known = insertionPositions[object.entity.index] {
            position = known
        } else {
            position = insertions.count
            insertionPositions[object.entity.index] = position
            insertions.append(Insertions(entity: object.entity))
        }
        keep(object.state.arena)
        insertions[position].keys.append(object.pk)
        insertions[position].values.append(object.state.values)
        insertions[position].placeholders.append(object.state.isPlaceholder)
    }
}
