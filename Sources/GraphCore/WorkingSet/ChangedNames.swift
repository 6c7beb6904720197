/// The names of an update's changed properties, as the history keeps them: each combination is joined once.
///
/// A stream of events changes few combinations of properties many times.
final class ChangedNames {
    /// A combination: the entity, and a bit for each of its slots and relationships.
    private struct Key: KeyHashable {
        let entity: Int
        let slots: UInt64
        let links: UInt64

        /// Returns nil where more slots or relationships changed than the key has bits for.
        init?(_ object: ContextObject) {
            guard let slots = object.changedSlots.word, let links = object.changedLinks.word else { return nil }
            entity = object.entity.index
            (self.slots, self.links) = (slots, links)
        }

        var keyHash: KeyHash { KeyHash(Int64(bitPattern: slots), Int64(entity), Int64(bitPattern: links)) }
    }

    private static let maximumCount = 4096
    private var known: [Key: String] = [:]

    /// Returns the names separated by commas: changed slots of properties first, then relationships with changed links in
    /// join tables. Each group is in the entity's order.
    func text(of object: ContextObject) -> String {
        guard let key = Key(object) else { return Self.joined(object) }
        if let text = known[key] { return text }
        if known.count >= Self.maximumCount { known.removeAll(keepingCapacity: true) }
        let text = Self.joined(object)
        known[key] = text
        return text
    }

    private static func joined(_ object: ContextObject) -> String {
        let entity = object.entity
        let slots = object.changedSlots.sorted.prefix { $0 < entity.propertySlotCount }
        let links = object.changedLinks.sorted.map { entity.relationships[$0].name }
        return (slots.map { entity.slotNames[$0] } + links).joined(separator: ",")
    }
}
