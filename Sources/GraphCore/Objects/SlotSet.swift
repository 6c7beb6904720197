/// A set of slots, or of other small numbers. For most entities it needs no memory of its own.
package struct SlotSet: Hashable {
    /// The slots below 64, a bit each.
    private var bits: UInt64 = 0
    /// The others; nil without any, so that a copy counts no reference.
    private var others: Set<Int>?

    /// A bit for each slot, or nil where one is above 63.
    package var word: UInt64? { others == nil ? bits : nil }

    package var isEmpty: Bool { bits == 0 && others == nil }

    package func contains(_ slot: Int) -> Bool {
        slot < 64 ? bits & 1 << UInt64(slot) != 0 : others?.contains(slot) == true
    }

    /// Tells whether a slot before the given one is in the set.
    func hasSlot(below slot: Int) -> Bool {
        if slot < 64 { return bits & (1 << UInt64(slot) - 1) != 0 }
        return bits != 0 || others?.contains { $0 < slot } == true
    }

    package mutating func insert(_ slot: Int) {
        if slot < 64 { bits |= 1 << UInt64(slot) } else { others = (others ?? []).union([slot]) }
    }

    /// The slots, ascending.
    package var sorted: [Int] {
        var slots: [Int] = []
        slots.reserveCapacity(bits.nonzeroBitCount)
        var rest = bits
        while rest != 0 {
            slots.append(rest.trailingZeroBitCount)
            rest &= rest - 1
        }
        return others.map { slots + $0.sorted() } ?? slots
    }
}
