import GraphModel

/// Which columns writers change without a look at each other.
struct SharedColumns {
    /// By the position of a root: counts and sums of whole numbers or decimals, to which a save adds its difference.
    let added: [Set<Int>]
    /// By the position of a root: times of change, which nothing reads.
    let unread: [Set<Int>]
    private let bounds: [[Int: Bound]]

    /// The values from which on a column's sum is no longer exact.
    enum Bound: Equatable {
        /// The ends of a whole-number type.
        case ends(ClosedRange<Int64>)
        /// Decimals of as many digits as the graph keeps.
        case digits

        /// With so many digits a decimal may be a rounded one.
        private static let digitCount = 38

        /// Returns SQL that tells whether a sum stands at its bound.
        func isReached(by sum: String) -> String {
            switch self {
            case .ends(let range): "coalesce(\(sum) <= \(range.lowerBound) OR \(sum) >= \(range.upperBound), false)"
            case .digits: "coalesce(length(replace(abs(\(sum))::text, '.', '')) >= \(Self.digitCount), false)"
            }
        }
    }

    init(_ model: ObjectModel) {
        let plan = DerivedPlan(model)
        var added = [Set<Int>](repeating: [], count: model.entities.count)
        var unread = added
        var bounds = [[Int: Bound]](repeating: [:], count: model.entities.count)
        let attributes = model.entities.flatMap { entity in entity.ownAttributes.map { (entity, $0) } }
        for (entity, attribute) in attributes {
            switch Self.use(of: attribute, entity, model, plan) {
            case .added(let bound):
                added[entity.rootIndex].insert(attribute.slot)
                bounds[entity.rootIndex][attribute.slot] = bound
            case .unread: unread[entity.rootIndex].insert(attribute.slot)
            case .compared: break
            }
        }
        // Entities beside each other may keep two attributes in one column, and then the stricter use holds.
        for (entity, attribute) in attributes {
            let use = Self.use(of: attribute, entity, model, plan)
            let isSame = bounds[entity.rootIndex][attribute.slot].map { use == .added($0) } ?? false
            if !isSame { added[entity.rootIndex].remove(attribute.slot) }
            if use != .unread { unread[entity.rootIndex].remove(attribute.slot) }
        }
        (self.added, self.unread, self.bounds) = (added, unread, bounds)
    }

    /// Returns the way in which writers change a column of a hierarchy, given by the position of its root.
    func use(_ root: Int, _ slot: Int) -> Use {
        if added[root].contains(slot), let bound = bounds[root][slot] { return .added(bound) }
        return unread[root].contains(slot) ? .unread : .compared
    }

    enum Use: Equatable {
        /// A save adds its difference, as long as the value is within the bounds of its type.
        case added(Bound)
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
            let term = termType(attribute, entity, model)
            if let range = attribute.type.integerRange {
                return term.integerRange == nil ? .compared : .added(.ends(range))
            }
            return attribute.type == .decimal && term == .decimal ? .added(.digits) : .compared
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

    /// Returns the type of the values that a sum adds up; for a count, the count's own type.
    private static func termType(_ attribute: Attribute, _ entity: Entity, _ model: ObjectModel) -> AttributeType {
        guard case .aggregate(_, let relationship, let slot)? = attribute.derivation else { return attribute.type }
        return model.entities[entity.relationships[relationship].destinationIndex].attributes[slot].type
    }

    /// The new value of a column, to which a save adds a difference. Where a decimal gets too many digits, a division by
    /// zero fails the save, as a whole number fails that leaves its type.
    func sum(_ column: String, _ difference: String, _ kind: ColumnKind) -> String {
        let sum = "coalesce(\(column), 0) + \(difference)"
        guard kind == .numeric else { return sum }
        return """
            (SELECT CASE WHEN \(Bound.digits.isReached(by: "v.s")) THEN v.s / (v.s - v.s) ELSE v.s END \
            FROM (SELECT trim_scale(\(sum)) AS s) v)
            """
    }

    /// The hash of a row, with all that a chunk may have decided by: of a sum, whether it stands at its bound.
    func hash(_ table: PostgresTable, _ alias: String) -> String {
        let root = table.root.index
        var parts = ["\(alias).pk", "\(alias)._placeholder"]
        for (slot, column) in table.columns.enumerated() where !unread[root].contains(slot) {
            if let bound = bounds[root][slot], added[root].contains(slot) {
                let isReached = bound.isReached(by: "\(alias).\(column)")
                // A long decimal may be exact or rounded, and then its value counts.
                parts.append(bound == .digits ? "CASE WHEN \(isReached) THEN \(alias).\(column) END" : isReached)
            } else {
                parts.append("\(alias).\(column)")
            }
        }
        if table.root.sharesTable { parts.append("\(alias)._entity") }
        return Self.hash(parts)
    }

    static func hash(_ parts: [String]) -> String { "hash_record_extended(ROW(\(parts.joined(separator: ", "))), 0)" }
}
