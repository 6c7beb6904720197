/// A predicate with names and values of a model, checked and ready for a compiler.
package indirect enum CheckedPredicate: Sendable {
    case constant(Bool)
    case and([CheckedPredicate])
    case or([CheckedPredicate])
    case not(CheckedPredicate)
    case comparison(CheckedComparison)
    /// True if the predicate is true of at least one object of the collection.
    case exists(CheckedCollection, CheckedPredicate)
}

package struct CheckedComparison: Sendable {
    package enum Right: Sendable {
        case one(TypedExpression)
        /// Two of them for `between`, any number for `contained`.
        case many([TypedExpression])
    }

    package let left: TypedExpression
    package let relation: FetchPredicate.Relation
    package let right: Right
    package let options: FetchPredicate.TextOptions
}

/// The type of an expression's values.
package enum ExpressionType: Sendable, Equatable {
    case value(AttributeType)
    /// An object of the entity at a position; a literal is the object's identity.
    case object(Int)

    /// The attribute type of the values; for objects, of their identities.
    func attributeType(in model: ObjectModel) -> AttributeType {
        switch self {
        case .value(let type): type
        case .object(let entity): model.entities[entity].identity.type
        }
    }

    package var isObject: Bool {
        if case .object = self { return true }
        return false
    }

    package var isNumeric: Bool {
        if case .value(let type) = self { return type.isNumeric }
        return false
    }

    package var isDecimal: Bool { self == .value(.decimal) }
    package var isDate: Bool { self == .value(.date) }
}

/// An expression with its type.
package struct TypedExpression: Sendable {
    package let node: CheckedExpression
    package let type: ExpressionType

    package init(node: CheckedExpression, type: ExpressionType) {
        self.node = node
        self.type = type
    }

    /// The literal value, or nil if the value has to be computed.
    package var value: Value? {
        if case .value(let value) = node { return value }
        return nil
    }
}

/// A computation for each object.
package indirect enum CheckedExpression: Sendable {
    /// A value in the stored form of its type; of an object, its identity.
    case value(Value)
    /// The time of the request.
    case now
    case path(ResolvedPath)
    case aggregate(CheckedAggregate)
    case negated(TypedExpression)
    case arithmetic(TypedExpression, FetchPredicate.ArithmeticOperator, TypedExpression)
    case text(TextTransformation, TypedExpression)
    /// A function over all rows of a request or group; without operand, their number.
    case overRows(CollectionFunction, TypedExpression?)
}

/// A function over the objects of a to-many relationship, or over rows.
package enum CollectionFunction: String, Sendable {
    case count, sum, min, max
    case average = "avg"
}

/// The destinations of a to-many relationship of the object at the end of to-one steps.
///
/// Paths begin at scopes: scope 0 is the fetched object, and each collection has a scope for its objects.
package struct CheckedCollection: Sendable {
    package let scope: Int
    package let steps: [Relationship]
    package let relationship: Relationship
    /// The scope of the collection's objects.
    package let element: Int
}

/// An aggregate of a collection's objects, or of the objects that match the filter.
package struct CheckedAggregate: Sendable {
    package let function: CollectionFunction
    package let collection: CheckedCollection
    package let filter: CheckedPredicate?
    /// The aggregated expression, from the collection's objects; nil for their number.
    package let operand: TypedExpression?
}

/// A path from a scope's object along to-one relationships.
package struct ResolvedPath: Sendable {
    package enum End: Sendable {
        case attribute(Attribute)
        /// The destination of a to-one relationship whose references always lead to an object.
        case destination(Relationship)
        /// The object itself.
        case object
    }

    package let scope: Int
    /// The position of the entity of the scope's objects.
    package let origin: Int
    package let steps: [Relationship]
    package let end: End

    package init(scope: Int, origin: Int, steps: [Relationship], end: End) {
        self.scope = scope
        self.origin = origin
        self.steps = steps
        self.end = end
    }

    /// Makes the path to a to-one relationship's destination. Where deletions leave references behind, it leads to the
    /// object itself, so that a reference without object reads null.
    package init(
        scope: Int, origin: Int, steps: [Relationship], to relationship: Relationship, in model: ObjectModel
    ) {
        let mayDangle = model.inverse(of: relationship)?.deleteRule.leavesDanglingReferences == true
        self.init(
            scope: scope, origin: origin, steps: mayDangle ? steps + [relationship] : steps,
            end: mayDangle ? .object : .destination(relationship))
    }

    /// The position of the entity that has the end.
    package var owner: Int { steps.last?.destinationIndex ?? origin }

    package var type: ExpressionType {
        switch end {
        case .attribute(let attribute): .value(attribute.type)
        case .destination(let relationship): .object(relationship.destinationIndex)
        case .object: .object(owner)
        }
    }
}
