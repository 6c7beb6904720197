/// Evaluates checked predicates and expressions on objects in memory, by the rules of docs/reference/fetching.md.
///
/// It serves objects with unsaved changes, and storages that have no query language of their own. It reads one object's
/// destinations at a time.
package struct PredicateEvaluator<Objects: EvaluatedObjects> {
    package typealias Object = Objects.Object
    /// The objects at which paths begin, by scope; scope 0 is the evaluated object.
    package typealias Scopes = [Int: Object]

    package let objects: Objects
    /// The value of `now()`, in microseconds since 1970 UTC.
    package let now: Int64
    /// The objects over which functions of a group compute; empty outside of groups.
    package var group: [Object] = []

    package init(_ objects: Objects, now: Int64) {
        self.objects = objects
        self.now = now
    }

    /// Tells whether a predicate is true of an object.
    ///
    /// - Throws: ``StoreError``, and errors of the objects.
    package func isTrue(_ predicate: CheckedPredicate, of object: Object) throws -> Bool {
        try isTrue(predicate, [0: object])
    }

    /// Returns the sort values of an object.
    ///
    /// - Throws: as for predicates.
    package func order(_ sort: [CheckedSort], of object: Object) throws -> [Value] { try order(sort, [0: object]) }

    package func order(_ sort: [CheckedSort], _ scopes: Scopes) throws -> [Value] {
        try sort.map { folded(try value($0.expression, scopes), $0.options) }
    }

    // MARK: Conditions

    package func isTrue(_ predicate: CheckedPredicate, _ scopes: Scopes) throws -> Bool {
        switch predicate {
        case .constant(let value): return value
        case .and(let parts): return try parts.allSatisfy { try isTrue($0, scopes) }
        case .or(let parts): return try parts.contains { try isTrue($0, scopes) }
        case .not(let inner): return try !isTrue(inner, scopes)
        case .comparison(let comparison): return try isTrue(comparison, scopes)
        case .exists(let collection, let inner):
            var isFound = false
            try forEachMember(of: collection, scopes) { member in
                isFound = try isTrue(inner, member)
                return !isFound
            }
            return isFound
        }
    }

    private func isTrue(_ comparison: CheckedComparison, _ scopes: Scopes) throws -> Bool {
        let options = comparison.options
        let left = Side(comparison.left, try value(comparison.left, scopes))
        switch comparison.right {
        case .many(let right) where comparison.relation == .contained:
            return try right.contains { try isEqual(left, Side($0, try value($0, scopes)), options) }
        case .many(let right):
            let bounds = try right.map { Side($0, try value($0, scopes)) }
            guard bounds.count == 2 else { return false }
            return isOrdered(left, bounds[0], beside: bounds, options) { $0 >= 0 }
                && isOrdered(left, bounds[1], beside: bounds, options) { $0 <= 0 }
        case .one(let expression):
            let right = Side(expression, try value(expression, scopes))
            switch comparison.relation {
            case .equal: return try isEqual(left, right, options)
            case .notEqual: return try !isEqual(left, right, options)
            case .less: return isOrdered(left, right, beside: [right], options) { $0 < 0 }
            case .lessOrEqual: return isOrdered(left, right, beside: [right], options) { $0 <= 0 }
            case .greater: return isOrdered(left, right, beside: [right], options) { $0 > 0 }
            case .greaterOrEqual: return isOrdered(left, right, beside: [right], options) { $0 >= 0 }
            default: return try isLike(comparison.relation, left.value, right.value, options)
            }
        }
    }

    /// The value of a side of a comparison.
    private struct Side {
        let type: ExpressionType
        let value: Value
        /// Tells whether the value is a literal. For an object, a literal is an identity, any other value a primary key.
        let isWritten: Bool

        init(_ expression: TypedExpression, _ value: Value) {
            type = expression.type
            self.value = value
            isWritten = expression.value != nil
        }
    }

    /// Missing values are equal only to each other.
    private func isEqual(_ left: Side, _ right: Side, _ options: FetchPredicate.TextOptions) throws -> Bool {
        if case .object(let entity) = left.type, right.isWritten, !right.value.isNull {
            guard case .integer(let pk) = left.value, let object = try objects.object(entity, pk) else { return false }
            return objects.identity(of: object) == right.value
        }
        let isDecimal = left.type.isDecimal || right.type.isDecimal
        return ValueOrder.compare(
            comparable(left, isDecimal, options), comparable(right, isDecimal, options), asDecimals: isDecimal) == 0
    }

    /// A missing value has no order, so every comparison with it is false.
    private func isOrdered(
        _ left: Side, _ right: Side, beside others: [Side], _ options: FetchPredicate.TextOptions, _ test: (Int) -> Bool
    ) -> Bool {
        let isDecimal = left.type.isDecimal || others.contains { $0.type.isDecimal }
        let (first, second) = (comparable(left, isDecimal, options), comparable(right, isDecimal, options))
        if first.isNull || second.isNull { return false }
        return test(ValueOrder.compare(first, second, asDecimals: isDecimal))
    }

    private func comparable(_ side: Side, _ isDecimal: Bool, _ options: FetchPredicate.TextOptions) -> Value {
        if isDecimal, !side.type.isDecimal, side.type.isNumeric {
            return side.value.decimal.map { .text(DecimalText.text($0)) } ?? .null
        }
        return folded(side.value, options)
    }

    private func folded(_ value: Value, _ options: FetchPredicate.TextOptions) -> Value {
        guard !options.isEmpty, case .text(let text) = value else { return value }
        return .text(options.folded(text))
    }

    // MARK: Texts

    private func isLike(
        _ relation: FetchPredicate.Relation, _ left: Value, _ right: Value, _ options: FetchPredicate.TextOptions
    ) throws -> Bool {
        guard let left = left.text, let right = right.text else { return false }
        if relation == .matches {
            return RegularExpression(right, options: options)?.matches(left) ?? false
        }
        let (text, part) = (options.folded(left), options.folded(right))
        switch relation {
        case .beginsWith: return text.utf8.starts(with: part.utf8)
        case .endsWith: return text.utf8.reversed().starts(with: part.utf8.reversed())
        case .contains: return text.hasBytes(of: part)
        case .like: return TextPatterns.matches(text, like: part)
        default: return false
        }
    }

    // MARK: Objects

    /// Returns the object at the end of to-one steps, or nil if an object on the path is missing.
    package func object(_ steps: [Relationship], from start: Object?) throws -> Object? {
        var current = start
        for step in steps {
            guard let object = current, case .integer(let pk) = objects.reference(step, of: object) else { return nil }
            current = try objects.object(step.destinationIndex, pk)
        }
        return current
    }

    /// Calls `each` with the scopes of each of a collection's objects, until it returns false.
    func forEachMember(
        of collection: CheckedCollection, _ scopes: Scopes, _ each: (Scopes) throws -> Bool
    ) throws {
        guard let owner = try object(collection.steps, from: scopes[collection.scope]) else { return }
        var inner = scopes
        try objects.forEachDestination(of: owner, collection.relationship) { member in
            inner[collection.element] = member
            return try each(inner)
        }
    }
}
