/// The names of an update's changed properties, as the history keeps them: each combination is joined once.
///
/// A stream of events changes few combinations of properties many times.
final class ChangedNames {
    /// A combination: the entity, and a bit for each of its slots and relationships.
    private struct Key: Hashable {
        let entity: Int
        let slots: UInt64
        let links: UInt64
    }

    private static let maximumCount = 4096
    private var known: [Key: String] = [:]

    /// Returns the names separated by commas: those of slots first, each in the entity's order.
    ///
    /// - Parameters:
    ///   - slots: the changed slots; those that hold no property are left out.
    ///   - links: the relationships in join tables whose links changed.
    func text(_ entity: Entity, slots: [Int], links: Set<Int>) -> String {
        guard let key = Self.key(entity, slots, links) else { return Self.joined(entity, slots, links) }
        if let text = known[key] { return text }
        if known.count >= Self.maximumCount { known.removeAll(keepingCapacity: true) }
        let text = Self.joined(entity, slots, links)
        known[key] = text
        return text
    }

    /// Returns nil for an entity that has more slots or relationships than a key has bits.
    private static func key(_ entity: Entity, _ slots: [Int], _ links: Set<Int>) -> Key? {
        var (slotBits, linkBits): (UInt64, UInt64) = (0, 0)
        for slot in slots {
            if slot >= 64 { return nil }
            slotBits |= 1 << UInt64(slot)
        }
        for link in links {
            if link >= 64 { return nil }
            linkBits |= 1 << UInt64(link)
        }
        return Key(entity: entity.index, slots: slotBits, links: linkBits)
    }

    private static func joined(_ entity: Entity, _ slots: [Int], _ links: Set<Int>) -> String {
        let columns = slots.filter { $0 < entity.propertySlotCount }.map { entity.slotNames[$0] }
        return (columns + links.sorted().map { entity.relationships[$0].name }).joined(separator: ",")
    }
}
