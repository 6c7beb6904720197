/// A predicate whose names and values are those of a model: what a compiler needs, and nothing can be wrong with it.
indirect enum CheckedPredicate: Sendable {
    case constant(Bool)
    case and([CheckedPredicate])
    case or([CheckedPredicate])
    case not(CheckedPredicate)
    case comparison(CheckedComparison)
    /// A comparison of the objects that a to-many relationship leads to; `prefix` leads to the relationship's owner,
    /// and the comparison's paths begin at the destinations.
    case quantified(Predicate.Quantifier, prefix: [Relationship], over: Relationship, CheckedComparison)
}

struct CheckedComparison: Sendable {
    enum Right: Sendable {
        /// In the stored form of the left side's type; one of them but for `between` and `contained`.
        case values([Value])
        case path(ResolvedPath)
    }

    let left: ResolvedPath
    let relation: Predicate.Relation
    let right: Right
    let isCaseInsensitive: Bool
}

/// A path from an object along to-one relationships to something that compares.
struct ResolvedPath: Sendable {
    enum End: Sendable {
        case attribute(Attribute)
        /// The destination of a to-one relationship; it compares by identity.
        case destination(Relationship)
        /// The object itself, by identity.
        case object
        case count(Relationship)
    }

    /// The position of the entity in which the path begins.
    let origin: Int
    let steps: [Relationship]
    let end: End

    /// The position of the entity that has the end.
    var owner: Int { steps.last?.destinationIndex ?? origin }
}

extension ResolvedPath {
    /// What values of the end look like; of objects, their identities.
    func type(in model: ObjectModel) -> AttributeType {
        switch end {
        case .attribute(let attribute): attribute.type
        case .destination(let relationship): model.entities[relationship.destinationIndex].identity.type
        case .object: model.entities[owner].identity.type
        case .count: .integer64
        }
    }

    /// Tells whether the end is an object rather than a value.
    var isObject: Bool {
        switch end {
        case .destination, .object: true
        case .attribute, .count: false
        }
    }

    /// The position of the entity of the object at the end, or nil where the end is a value.
    var objectEntity: Int? {
        switch end {
        case .destination(let relationship): relationship.destinationIndex
        case .object: owner
        case .attribute, .count: nil
        }
    }
}
