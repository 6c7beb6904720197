import GraphModel

/// Which columns writers change without a look at each other.
struct SharedColumns {
    /// By the position of a root: counts and sums of whole numbers, to which a save adds its difference.
    private(set) var added: [Set<Int>]
    /// By the position of a root: times of change, which nothing reads.
    private(set) var unread: [Set<Int>]
    private let bounds: [[Int: ClosedRange<Int64>]]

    init(_ model: ObjectModel) {
        let plan = DerivedPlan(model)
        var added = [Set<Int>](repeating: [], count: model.entities.count)
        var unread = added
        var bounds = [[Int: ClosedRange<Int64>]](repeating: [:], count: model.entities.count)
        let attributes = model.entities.flatMap { entity in entity.ownAttributes.map { (entity, $0) } }
        for (entity, attribute) in attributes {
            switch Self.use(of: attribute, entity, model, plan) {
            case .added(let range):
                added[entity.rootIndex].insert(attribute.slot)
                bounds[entity.rootIndex][attribute.slot] = range
            case .unread: unread[entity.rootIndex].insert(attribute.slot)
            case .compared: break
            }
        }
        // Entities beside each other may keep two attributes in one column, and then the stricter use holds.
        for (entity, attribute) in attributes {
            let use = Self.use(of: attribute, entity, model, plan)
            let isSame = use == .added(bounds[entity.rootIndex][attribute.slot] ?? 0...0)
            if !isSame { added[entity.rootIndex].remove(attribute.slot) }
            if use != .unread { unread[entity.rootIndex].remove(attribute.slot) }
        }
        (self.added, self.unread, self.bounds) = (added, unread, bounds)
    }

    private enum Use: Equatable {
        /// A save adds its difference, as long as the value is within the bounds of its type.
        case added(ClosedRange<Int64>)
        /// The last save's value stays.
        case unread
        case compared
    }

    private static func use(
        of attribute: Attribute, _ entity: Entity, _ model: ObjectModel, _ plan: DerivedPlan
    ) -> Use {
        guard isReadByNobody(attribute, entity, model, plan) else { return .compared }
        switch attribute.derivation {
        case .count, .aggregate(.sum, _, _):
            guard let range = attribute.type.integerRange, addsUpWhole(attribute, entity, model) else {
                return .compared
            }
            return .added(range)
        case .now: return .unread
        default: return .compared
        }
    }

    /// Whether no derived value, rule or history shows the attribute's value.
    private static func isReadByNobody(
        _ attribute: Attribute, _ entity: Entity, _ model: ObjectModel, _ plan: DerivedPlan
    ) -> Bool {
        let isConstrained = model.entities.contains { other in
            other.rootIndex == entity.rootIndex
                && other.uniquenessConstraints.contains { $0.slots.contains(attribute.slot) }
        }
        return !isConstrained && !attribute.isPreservedAfterDeletion
            && plan.readers(of: entity.node(of: attribute.slot)).isEmpty
    }

    private static func addsUpWhole(_ attribute: Attribute, _ entity: Entity, _ model: ObjectModel) -> Bool {
        guard case .aggregate(_, let relationship, let slot)? = attribute.derivation else { return true }
        let source = model.entities[entity.relationships[relationship].destinationIndex]
        return source.attributes[slot].type.integerRange != nil
    }

    /// The hash of a row, with all that a chunk may have decided by: of a sum, whether it stands at its bound.
    func hash(_ table: PostgresTable, _ alias: String) -> String {
        let root = table.root.index
        var parts = ["\(alias).pk", "\(alias)._placeholder"]
        for (slot, column) in table.columns.enumerated() where !unread[root].contains(slot) {
            if let range = bounds[root][slot], added[root].contains(slot) {
                parts.append(
                    "coalesce(\(alias).\(column) <= \(range.lowerBound) OR \(alias).\(column) >= \(range.upperBound), false)"
                )
            } else {
                parts.append("\(alias).\(column)")
            }
        }
        if table.root.sharesTable { parts.append("\(alias)._entity") }
        return Self.hash(parts)
    }

    static func hash(_ parts: [String]) -> String { "hash_record_extended(ROW(\(parts.joined(separator: ", "))), 0)" }
}
