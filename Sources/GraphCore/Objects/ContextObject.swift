/// An object as the writer context holds it until its next reset.
package final class ContextObject {
    /// The object's entity: the most special one by which an event or a reference has named it.
    package var entity: Entity
    /// The entity that the store's row names.
    package let originalEntity: Entity
    package let pk: Int64
    /// Tells whether the store has no row of the object yet.
    package let isNew: Bool
    /// The values that the store held when the object was read. A new object has the values that any object begins
    /// with, without its identity.
    package let original: SlotValues
    package let wasPlaceholder: Bool
    package var state: State
    /// The memory of the original values.
    let arena: ValueArena
    /// Whether the object has memory of its own: then each state has, which is freed with it.
    private let isApart: Bool
    /// Whether a snapshot of the state holds the same slots, so that the next change has to copy them.
    private var sharesSlots: Bool
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
        package fileprivate(set) var values: SlotValues
        /// The memory of the values.
        fileprivate(set) var arena: ValueArena
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

        fileprivate init(values: SlotValues, in arena: ValueArena, isPlaceholder: Bool) {
            (self.values, self.arena, self.isPlaceholder) = (values, arena, isPlaceholder)
        }

        package var isAlive: Bool { burial == nil && !isVoid }

        /// A tombstone in memory of its own, which few objects need.
        private final class Burial {
            let tombstone: Tombstone

            init(_ tombstone: Tombstone) { self.tombstone = tombstone }
        }
    }

    /// Makes an object of a row, with memory of its own.
    package convenience init(row: StoredRow) {
        let arena = ValueArena()
        self.init(row: PackedRow(row, in: arena), in: arena, isApart: true)
    }

    /// Makes an object of a row whose values stand in the arena.
    init(row: PackedRow, in arena: ValueArena, isApart: Bool) {
        entity = row.entity
        originalEntity = row.entity
        pk = row.pk
        isNew = false
        original = row.values
        wasPlaceholder = row.isPlaceholder
        state = State(values: original, in: arena, isPlaceholder: row.isPlaceholder)
        (self.arena, self.isApart) = (arena, isApart)
        sharesSlots = true
    }

    /// Makes a new object that holds nothing but its identity, which stands in the arena.
    init(entity: Entity, pk: Int64, identity: PackedValue, in arena: ValueArena, isApart: Bool) {
        self.entity = entity
        originalEntity = entity
        self.pk = pk
        isNew = true
        original = isApart ? arena.slots(entity.initialValues) : arena.initialValues(of: entity)
        wasPlaceholder = false
        state = State(values: arena.copy(original), in: arena, isPlaceholder: true)
        (self.arena, self.isApart) = (arena, isApart)
        sharesSlots = false
        state.values.set(identity, at: entity.identitySlot)
    }

    // MARK: Values

    /// The present value of a slot.
    package subscript(slot: Int) -> Value {
        get { state.values[slot] }
        set {
            prepareChange()
            state.values.set(state.arena.pack(newValue), at: slot)
        }
    }

    /// Gives a slot a value, whose bytes are copied.
    func set(_ value: PackedValue, at slot: Int) {
        prepareChange()
        state.values.set(state.arena.copy(value), at: slot)
    }

    /// Gives the present state slots of its own.
    private func prepareChange() {
        if !sharesSlots { return }
        sharesSlots = false
        if !isApart { return state.values = state.arena.copy(state.values) }
        let (former, arena) = (state, ValueArena())
        state.values = arena.slots(count: former.values.count) { arena.copy(former.values.packed($0)) }
        state.arena = arena
    }

    /// Gives all slots values.
    package func setValues(_ values: [Value]) {
        for slot in values.indices where !(state.values.packed(slot) == values[slot]) { self[slot] = values[slot] }
    }

    /// The present values, with null in some slots.
    func values(clearing slots: [Int]) -> SlotValues {
        let values = state.arena.copy(state.values)
        for slot in slots { values.set(.null, at: slot) }
        return values
    }

    /// The state as it is now, for ``restore(_:)``.
    package func snapshot() -> State {
        sharesSlots = true
        return state
    }

    /// Takes a former state back.
    package func restore(_ state: State) {
        self.state = state
        sharesSlots = true
    }

    /// Makes a placeholder an object that has arrived, with the defaults of the properties that are not known.
    package func arrive(isKnown: (Int) -> Bool) {
        state.isPlaceholder = false
        for slot in entity.defaultSlots where state.values.packed(slot).isNull && !isKnown(slot) {
            self[slot] = entity.defaults[slot]
        }
    }

    package var identity: Value { packedIdentity.value }

    var packedIdentity: PackedValue { state.values.packed(entity.identitySlot) }

    /// The object as a row of the store, with what was changed of it.
    package var row: StoredRow {
        StoredRow(pk: pk, entity: entity, isPlaceholder: state.isPlaceholder, values: state.values.array)
    }

    /// The slots whose values differ from the store's.
    package var changedSlots: SlotSet {
        if let savedSlots { return savedSlots }
        let (original, values) = (original, state.values)
        var slots = SlotSet()
        for slot in original.indices where !original.agrees(with: values, at: slot) { slots.insert(slot) }
        return slots
    }

    /// Whether a slot has the value that the store holds.
    package func keeps(_ slot: Int) -> Bool { original.agrees(with: state.values, at: slot) }

    /// Whether an editing context has made the object and not saved it: its key is the context's own.
    package var isUnsaved: Bool { isNew && pk < 0 }

    package var isAlive: Bool { state.isAlive }

    package var version: Value { packedVersion.value }

    var packedVersion: PackedValue { entity.versionSlot.map { state.values.packed($0) } ?? .null }
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
