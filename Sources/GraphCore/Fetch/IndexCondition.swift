/// The condition of a partial index: comparisons of an object's own properties with constants, joined by AND, OR, NOT.
///
/// A storage writes it into its schema once. So it has no variables and no time, and no comparison whose order a plain
/// program that opens the storage would not know.
package indirect enum IndexCondition: Sendable {
    case and([IndexCondition])
    case or([IndexCondition])
    case not(IndexCondition)
    case comparison(IndexComparison)

    /// Checks a condition on the objects of an entity.
    ///
    /// - Throws: ``FetchPredicateError`` where the condition is wrong, or an index cannot have it.
    package init(_ text: String, entity: Entity, model: ObjectModel) throws(FetchPredicateError) {
        let predicate = try FetchPredicate.parse(text)
        try self.init(try PredicateChecker.check(predicate, entity: entity, model: model))
    }

    /// Returns the reason why an index cannot have a condition, or nil.
    package static func problem(_ text: String, entity: Entity, model: ObjectModel) -> (
        message: String, remedy: String
    )? {
        do {
            _ = try IndexCondition(text, entity: entity, model: model)
            return nil
        } catch {
            return (error.message, error.remedy)
        }
    }

    private init(_ predicate: CheckedPredicate) throws(FetchPredicateError) {
        switch predicate {
        case .and(let parts): self = .and(try Self.parts(parts))
        case .or(let parts): self = .or(try Self.parts(parts))
        case .not(let inner): self = .not(try IndexCondition(inner))
        case .comparison(let comparison): self = .comparison(try IndexComparison(comparison))
        default: throw Self.refused("It says something that is no comparison of the object's own properties")
        }
    }

    private static func parts(_ predicates: [CheckedPredicate]) throws(FetchPredicateError) -> [IndexCondition] {
        var parts: [IndexCondition] = []
        for predicate in predicates { parts.append(try IndexCondition(predicate)) }
        guard !parts.isEmpty else { throw refused("It is empty") }
        return parts
    }

    fileprivate static func refused(_ message: String) -> FetchPredicateError {
        FetchPredicateError(
            .unsupported, message, at: nil,
            remedy:
                "Compare attributes with constants by =, !=, <, <=, >, >=, BETWEEN or IN, or with nil; join with AND, "
                + "OR, NOT")
    }

    /// The comparisons of the condition.
    var comparisons: Set<IndexComparison> {
        switch self {
        case .and(let parts), .or(let parts): Set(parts.flatMap(\.comparisons))
        case .not(let inner): inner.comparisons
        case .comparison(let comparison): [comparison]
        }
    }
}

/// A comparison of an object's own property with constants.
package struct IndexComparison: Sendable, Hashable {
    /// The name of the property's column.
    package let column: String
    /// A relation of equality or order, `between` or `contained`.
    package let relation: FetchPredicate.Relation
    /// Two constants for `between`, any number for `contained`, otherwise one.
    package let values: [Value]

    /// Checks a comparison.
    ///
    /// - Throws: ``FetchPredicateError`` where it cannot be part of an index's condition.
    package init(_ comparison: CheckedComparison) throws(FetchPredicateError) {
        guard case .path(let path) = comparison.left.node, path.steps.isEmpty, comparison.options.isEmpty,
            let values = Self.values(comparison.right)
        else { throw IndexCondition.refused("It compares more than a property of the object with constants") }
        relation = comparison.relation
        self.values = values
        switch path.end {
        case .attribute(let attribute):
            if attribute.type == .decimal, relation != .equal, relation != .notEqual {
                throw IndexCondition.refused("Decimals are kept as texts, whose order is another")
            }
            column = attribute.columnName
        case .destination(let relationship) where values.allSatisfy(\.isNull): column = relationship.columnName
        default: throw IndexCondition.refused("It compares something that is no attribute")
        }
        if relation.isTextual || relation == .contained && values.contains(where: \.isNull) {
            throw IndexCondition.refused("It uses \(relation.rawValue)")
        }
    }

    /// The constants of a right side, or nil where it has to be computed.
    private static func values(_ right: CheckedComparison.Right) -> [Value]? {
        let expressions =
            switch right {
            case .one(let expression): [expression]
            case .many(let expressions): expressions
            }
        let values = expressions.compactMap(\.value)
        return values.count == expressions.count ? values : nil
    }
}

// The indexes that the objects of an entity are in: the entity and its ancestors declare them.
extension ObjectModel {
    private func indexes(_ entity: Int) -> [(entity: Entity, index: EntityIndex)] {
        ([entity] + entities[entity].ancestorIndexes).flatMap { position in
            entities[position].indexes.map { (entities[position], $0) }
        }
    }

    /// Tells whether an index of an entity's objects is ordered by what a suitable function makes of an attribute.
    package func hasIndex(
        on attribute: Attribute, of entity: Int, _ isSuitable: (EntityIndex.Element.Function) -> Bool
    ) -> Bool {
        indexes(entity).contains { _, index in
            index.elements.contains { $0.property == attribute.name && $0.function.map(isSuitable) ?? false }
        }
    }

    /// Tells whether a comparison is part of the condition of a partial index of an entity's objects.
    package func hasPartialIndex(with comparison: IndexComparison, of entity: Int) -> Bool {
        indexes(entity).contains { declaring, index in
            guard let text = index.predicate,
                let condition = try? IndexCondition(text, entity: declaring, model: self)
            else { return false }
            return condition.comparisons.contains(comparison)
        }
    }
}
