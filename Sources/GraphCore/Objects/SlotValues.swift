/// The values of an object, one a slot, in the memory of a ``ValueArena``.
///
/// Read one by one as ``Value``, a text is copied; ``packed(_:)`` copies nothing.
@frozen package struct SlotValues: RandomAccessCollection, SlotReadable {
    @usableFromInline let slots: UnsafeMutablePointer<PackedValue>
    package let count: Int

    init(_ slots: UnsafeMutablePointer<PackedValue>, count: Int) {
        (self.slots, self.count) = (slots, count)
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    package subscript(slot: Int) -> Value { packed(slot).value }

    @inlinable package func packed(_ slot: Int) -> PackedValue {
        precondition(slot >= 0 && slot < count, "No such slot")
        return slots[slot]
    }

    /// Copies of all values.
    package var array: [Value] { map { $0 } }

    /// Whether a slot holds the same value in both.
    package func agrees(with other: SlotValues, at slot: Int) -> Bool { packed(slot) == other.packed(slot) }

    /// Sets a value in place, for everybody who holds these.
    func set(_ value: PackedValue, at slot: Int) {
        precondition(slot >= 0 && slot < count, "No such slot")
        slots[slot] = value
    }
}
