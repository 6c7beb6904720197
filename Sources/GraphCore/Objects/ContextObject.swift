/// An object as the writer context holds it until its next reset.
///
/// A save uses the object's entity and state so often that exclusivity checks take 4 % of its time. Debug builds, and so
/// all tests, check each access; release builds do not.
package final class ContextObject {
    /// The object's entity: the most special one by which an event or a reference has named it.
    #if !DEBUG
    @exclusivity(unchecked)
    #endif
    package var entity: Entity
    /// The entity that the store's row names.
    package let originalEntity: Entity
    package let pk: Int64
    /// Tells whether the store has no row of the object yet.
    package let isNew: Bool
    /// The values that the store held when the object was read. A new object has the values that any object begins
    /// with, without its identity.
    package let original: [Value]
    package let wasPlaceholder: Bool
    #if !DEBUG
    @exclusivity(unchecked)
    #endif
    package var state: State
    /// The number of the event that noted the object's state for undoing.
    var journaledBy = 0
    /// Tells whether the object is in the context's list of changed ones.
    var isListed = false
    /// The changed slots as a save has found them, until it changes the object further.
    var savedSlots: SlotSet?
    /// The relationships kept in join tables whose links of this object changed.
    var changedLinks = SlotSet()

    /// The state that an event may change, and that an undone event restores.
    package struct State {
        package var values: [Value]
        package var isPlaceholder: Bool
        /// The tombstone that the object left, once it is deleted.
        package var deletion: Tombstone? {
            get { burial?.tombstone }
            set { burial = newValue.map { Burial($0) } }
        }
        private var burial: Burial?
        /// Tells whether the event that created the object was undone.
        package var isVoid = false
        /// The transient attributes that a program has set, by their slots; events leave it empty.
        package var transients: [Int: Value] {
            get { setTransients ?? [:] }
            set { setTransients = newValue }
        }
        private var setTransients: [Int: Value]?
        /// The slots that a program has set, of a new object of an editing context.
        package var assignedSlots = SlotSet()

        package init(values: [Value], isPlaceholder: Bool) {
            (self.values, self.isPlaceholder) = (values, isPlaceholder)
        }

        package var isAlive: Bool { burial == nil && !isVoid }

        /// A tombstone in memory of its own, which few objects need.
        private final class Burial {
            let tombstone: Tombstone

            init(_ tombstone: Tombstone) { self.tombstone = tombstone }
        }
    }

    package init(row: StoredRow) {
        entity = row.entity
        originalEntity = row.entity
        pk = row.pk
        isNew = false
        original = row.values
        wasPlaceholder = row.isPlaceholder
        state = State(values: row.values, isPlaceholder: row.isPlaceholder)
    }

    package init(entity: Entity, pk: Int64, values: [Value]) {
        self.entity = entity
        originalEntity = entity
        self.pk = pk
        isNew = true
        original = entity.initialValues
        wasPlaceholder = false
        state = State(values: values, isPlaceholder: true)
    }

    /// Makes a placeholder an object that has arrived, with the defaults of the properties that are not known.
    package func arrive(isKnown: (Int) -> Bool) {
        state.isPlaceholder = false
        for slot in entity.defaultSlots where state.values[slot].isNull && !isKnown(slot) {
            state.values[slot] = entity.defaults[slot]
        }
    }

    package var identity: Value { state.values[entity.identitySlot] }

    /// The object as a row of the store, with what was changed of it.
    package var row: StoredRow {
        StoredRow(pk: pk, entity: entity, isPlaceholder: state.isPlaceholder, values: state.values)
    }

    /// The slots whose values differ from the store's.
    package var changedSlots: SlotSet {
        if let savedSlots { return savedSlots }
        let (original, values) = (original, state.values)
        var slots = SlotSet()
        for slot in original.indices where original[slot] != values[slot] { slots.insert(slot) }
        return slots
    }

    /// Whether an editing context has made the object and not saved it: its key is the context's own.
    package var isUnsaved: Bool { isNew && pk < 0 }

    package var isAlive: Bool { state.isAlive }

    package var version: Value { entity.versionSlot.map { state.values[$0] } ?? .null }
}

extension ManagedObjectID {
    /// The key under which a registry holds the object.
    package var key: ObjectKey { ObjectKey(entity: kind.rootIndex, pk: pk) }

    package init(_ object: ContextObject) { self.init(object.entity, object.pk) }
}

extension ValidationFailure {
    /// Returns the failure with the object that it is of.
    package func about(_ object: ContextObject) -> ValidationFailure {
        // The key of an object that the writer would have made is another's after the failure.
        let isNamed = !object.isNew || object.isUnsaved
        return about(object.identity, isNamed ? ManagedObjectID(object) : nil)
    }
}
