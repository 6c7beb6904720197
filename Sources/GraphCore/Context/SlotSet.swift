/// A set of slots; those of most entities need no memory of their own.
package struct SlotSet: Hashable {
    /// The slots below 64, a bit each.
    private var bits: UInt64 = 0
    private var others: Set<Int> = []

    /// A bit for each slot, or nil where one is above 63.
    package var word: UInt64? { others.isEmpty ? bits : nil }

    package var isEmpty: Bool { bits == 0 && others.isEmpty }

    package func contains(_ slot: Int) -> Bool { slot < 64 ? bits & 1 << UInt64(slot) != 0 : others.contains(slot) }

    /// Tells whether a slot before the given one is in the set.
    func hasSlot(below slot: Int) -> Bool {
        if slot < 64 { return bits & (1 << UInt64(slot) - 1) != 0 }
        return bits != 0 || others.contains { $0 < slot }
    }

    package mutating func insert(_ slot: Int) {
        if slot < 64 { bits |= 1 << UInt64(slot) } else { others.insert(slot) }
    }

    /// The slots, ascending.
    package var sorted: [Int] {
        var slots: [Int] = []
        slots.reserveCapacity(bits.nonzeroBitCount + others.count)
        var rest = bits
        while rest != 0 {
            slots.append(rest.trailingZeroBitCount)
            rest &= rest - 1
        }
        return others.isEmpty ? slots : slots + others.sorted()
    }
}
