/// A predicate whose names and values are those of a model: what a compiler needs, and nothing can be wrong with it.
indirect enum CheckedPredicate: Sendable {
    case constant(Bool)
    case and([CheckedPredicate])
    case or([CheckedPredicate])
    case not(CheckedPredicate)
    case comparison(CheckedComparison)
    /// True where the predicate is of one object of the collection at least.
    case exists(CheckedCollection, CheckedPredicate)
}

struct CheckedComparison: Sendable {
    enum Right: Sendable {
        case one(TypedExpression)
        /// Two of them for `between`, any number for `contained`.
        case many([TypedExpression])
    }

    let left: TypedExpression
    let relation: FetchPredicate.Relation
    let right: Right
    let options: FetchPredicate.TextOptions
}

/// What a value of an expression is.
enum ExpressionType: Sendable, Equatable {
    case value(AttributeType)
    /// An object of the entity at a position; written as its identity.
    case object(Int)

    /// What values look like; of objects, their identities.
    func attributeType(in model: ObjectModel) -> AttributeType {
        switch self {
        case .value(let type): type
        case .object(let entity): model.entities[entity].identity.type
        }
    }

    var isObject: Bool {
        if case .object = self { return true }
        return false
    }

    var isNumeric: Bool {
        if case .value(let type) = self { return type.isNumeric }
        return false
    }

    var isDecimal: Bool { self == .value(.decimal) }
    var isDate: Bool { self == .value(.date) }
}

/// An expression with its type.
struct TypedExpression: Sendable {
    let node: CheckedExpression
    let type: ExpressionType

    /// The value as written, or nil where it has to be computed.
    var value: Value? {
        if case .value(let value) = node { return value }
        return nil
    }
}

/// What is computed for each object.
indirect enum CheckedExpression: Sendable {
    /// A value in the stored form of its type; of an object, its identity.
    case value(Value)
    /// The time at which the request is carried out.
    case now
    case path(ResolvedPath)
    case aggregate(CheckedAggregate)
    case negated(TypedExpression)
    case arithmetic(TypedExpression, FetchPredicate.ArithmeticOperator, TypedExpression)
    case text(TextTransformation, TypedExpression)
    /// Computed over all rows of a request or group; without operand their number.
    case overRows(CollectionFunction, TypedExpression?)
}

/// What is computed over the objects of a to-many relationship, or over rows.
enum CollectionFunction: String, Sendable {
    case count, sum, min, max
    case average = "avg"
}

/// The objects that a to-many relationship leads to, from the object at the end of to-one steps.
///
/// Scopes are the objects that paths begin at: 0 is the fetched object, each collection has one for its objects.
struct CheckedCollection: Sendable {
    let scope: Int
    let steps: [Relationship]
    let relationship: Relationship
    /// The scope of the collection's objects.
    let element: Int
}

/// An aggregate of a collection's objects: of those that the filter is true of, if there is one.
struct CheckedAggregate: Sendable {
    let function: CollectionFunction
    let collection: CheckedCollection
    let filter: CheckedPredicate?
    /// What is aggregated, begun at the collection's objects; nil for their number.
    let operand: TypedExpression?
}

/// A path from a scope's object along to-one relationships.
struct ResolvedPath: Sendable {
    enum End: Sendable {
        case attribute(Attribute)
        /// The destination of a to-one relationship.
        case destination(Relationship)
        /// The object itself.
        case object
    }

    let scope: Int
    /// The position of the entity of the scope's objects.
    let origin: Int
    let steps: [Relationship]
    let end: End

    /// The position of the entity that has the end.
    var owner: Int { steps.last?.destinationIndex ?? origin }

    var type: ExpressionType {
        switch end {
        case .attribute(let attribute): .value(attribute.type)
        case .destination(let relationship): .object(relationship.destinationIndex)
        case .object: .object(owner)
        }
    }
}
