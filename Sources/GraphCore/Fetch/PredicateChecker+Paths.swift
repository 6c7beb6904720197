extension PredicateChecker {
    /// Resolves a path's names in the model.
    ///
    /// - Throws: ``FetchPredicateError`` with code `predicate.unknown_property`, `predicate.type`, `predicate.arguments` or
    ///   `predicate.unsupported`.
    package mutating func resolve(_ path: PropertyPath) throws(FetchPredicateError) -> TypedExpression {
        if path.root == nil, path.function == nil, path.names.count == 1, let named = names[path.names[0]] {
            return named
        }
        let start = try start(path)
        return try resolve(path, path.names[...], from: start)
    }

    private func start(_ path: PropertyPath) throws(FetchPredicateError) -> Element {
        guard let root = path.root else { return Element(scope: 0, entity: entity) }
        guard let element = variables[root] else {
            throw FetchPredicateError(
                .arguments, "The variable '$\(root)' has no value", at: path.column,
                remedy: variables.isEmpty
                    ? "Give it one before the predicate is used"
                    : "Give it one, or use \(variables.keys.sorted().map { "$" + $0 }.joined(separator: ", "))")
        }
        return element
    }

    private mutating func resolve(
        _ path: PropertyPath, _ names: ArraySlice<String>, from start: Element
    ) throws(FetchPredicateError) -> TypedExpression {
        var steps: [Relationship] = []
        var entity = model.entities[start.entity]
        for (index, name) in zip(names.indices, names) {
            let rest = names[(index + 1)...]
            if let attribute = entity.attribute(named: name) {
                guard rest.isEmpty else { throw notARelationship(name, entity, path) }
                if let function = path.function { throw notToMany(function, name, path) }
                return single(start, steps, .attribute(attribute))
            }
            guard let relationship = entity.relationship(named: name) else { throw unknown(name, entity, path) }
            if relationship.isToMany { return try many(path, rest, start.scope, steps, relationship) }
            if rest.isEmpty {
                if let function = path.function { throw notToMany(function, name, path) }
                return single(
                    ResolvedPath(
                        scope: start.scope, origin: start.entity, steps: steps, to: relationship, in: model))
            }
            steps.append(relationship)
            entity = model.entities[relationship.destinationIndex]
        }
        if let function = path.function { throw notToMany(function, "SELF", path) }
        return single(start, [], .object)
    }

    private func single(_ start: Element, _ steps: [Relationship], _ end: ResolvedPath.End) -> TypedExpression {
        single(ResolvedPath(scope: start.scope, origin: start.entity, steps: steps, end: end))
    }

    private func single(_ path: ResolvedPath) -> TypedExpression {
        TypedExpression(node: .path(path), type: path.type)
    }

    // MARK: To-many relationships

    /// Resolves the rest of a path after a to-many relationship: an aggregate, or the objects of a quantifier.
    private mutating func many(
        _ path: PropertyPath, _ rest: ArraySlice<String>, _ scope: Int, _ steps: [Relationship],
        _ relationship: Relationship
    ) throws(FetchPredicateError) -> TypedExpression {
        if let open = capture, !rest.isEmpty || path.function == nil {
            let collection = try captured(open, path, scope, steps, relationship)
            capture = nil
            let inner = try resolve(
                path, rest, from: Element(scope: collection.element, entity: relationship.destinationIndex))
            capture = Capture(collection: collection)
            return inner
        }
        if path.function != nil {
            let collection = CheckedCollection(
                scope: scope, steps: steps, relationship: relationship, element: newScope())
            let outer = capture
            capture = nil
            let aggregate = try aggregate(path, rest, collection, filter: nil)
            capture = outer
            return aggregate
        }
        throw FetchPredicateError(
            .unsupported, "'\(path.text)' has many values, for '\(relationship.name)' leads to many objects",
            at: path.column,
            remedy: "Put ANY, ALL or NONE before it in a condition, use \(relationship.name).@count, or SUBQUERY")
    }

    private mutating func captured(
        _ open: Capture, _ path: PropertyPath, _ scope: Int, _ steps: [Relationship], _ relationship: Relationship
    ) throws(FetchPredicateError) -> CheckedCollection {
        guard let known = open.collection else {
            return CheckedCollection(scope: scope, steps: steps, relationship: relationship, element: newScope())
        }
        let isSame =
            known.scope == scope && known.relationship.index == relationship.index
            && known.relationship.entityIndex == relationship.entityIndex
            && known.steps.map(\.name) == steps.map(\.name)
        guard isSame else {
            throw FetchPredicateError(
                .unsupported, "'\(path.text)' leads to other objects than the path before it", at: path.column,
                remedy: "Use one to-many relationship in a comparison, or SUBQUERY")
        }
        return known
    }

    /// Makes an aggregate; `names` lead from the collection's objects to the aggregated values.
    package mutating func aggregate(
        _ path: PropertyPath, _ names: ArraySlice<String>, _ collection: CheckedCollection, filter: CheckedPredicate?
    ) throws(FetchPredicateError) -> TypedExpression {
        guard let function = path.function.flatMap({ CollectionFunction(rawValue: $0) }) else {
            throw FetchPredicateError(
                .unsupported, "'@\(path.function ?? "")' is not supported", at: path.column,
                remedy: "Use @count, @sum, @min, @max or @avg")
        }
        let name = "@" + function.rawValue
        if function == .count {
            guard names.isEmpty else {
                throw FetchPredicateError(
                    .unsupported, "@count counts objects, not what they hold", at: path.column,
                    remedy: "Write \(collection.relationship.name).@count, or SUBQUERY for those with a value")
            }
            let node = CheckedAggregate(function: function, collection: collection, filter: filter, operand: nil)
            return TypedExpression(node: .aggregate(node), type: .value(.integer64))
        }
        guard !names.isEmpty else {
            throw FetchPredicateError(
                .unsupported, "\(name) needs a property of the objects", at: path.column,
                remedy: "Write as in \(collection.relationship.name).price.\(name)")
        }
        let inner = PropertyPath(names: Array(names), column: path.column)
        let operand = try resolve(
            inner, names,
            from: Element(scope: collection.element, entity: collection.relationship.destinationIndex))
        let type = try resultType(function, operand.type, name: name, column: path.column)
        let node = CheckedAggregate(function: function, collection: collection, filter: filter, operand: operand)
        return TypedExpression(node: .aggregate(node), type: type)
    }

    /// Resolves the path of a subquery, which ends with its to-many relationship.
    package mutating func collection(_ path: PropertyPath) throws(FetchPredicateError) -> CheckedCollection {
        let start = try start(path)
        guard let found = try toMany(path, from: start.entity), found.rest.isEmpty else {
            throw FetchPredicateError(
                .type, "'\(path.text)' leads to one object", at: path.column,
                remedy: "A subquery takes a to-many relationship")
        }
        return CheckedCollection(
            scope: start.scope, steps: found.steps, relationship: found.relationship, element: newScope())
    }

    /// Tells whether a path leads over a to-many relationship without aggregating it.
    func leadsToMany(_ path: PropertyPath) throws(FetchPredicateError) -> Bool {
        if path.function != nil || path.root != nil && variables[path.root ?? ""] == nil { return false }
        return try toMany(path, from: try start(path).entity) != nil
    }

    /// The first to-many relationship of a path, or nil; ``resolve(_:)`` reports unknown names.
    private func toMany(
        _ path: PropertyPath, from origin: Int
    ) throws(FetchPredicateError) -> (steps: [Relationship], relationship: Relationship, rest: ArraySlice<String>)? {
        var steps: [Relationship] = []
        var entity = model.entities[origin]
        for (index, name) in path.names.enumerated() {
            guard let relationship = entity.relationship(named: name) else {
                if entity.attribute(named: name) != nil { return nil }
                throw unknown(name, entity, path)
            }
            if relationship.isToMany { return (steps, relationship, path.names[(index + 1)...]) }
            steps.append(relationship)
            entity = model.entities[relationship.destinationIndex]
        }
        return nil
    }

    // MARK: Mistakes

    private func unknown(_ name: String, _ entity: Entity, _ path: PropertyPath) -> FetchPredicateError {
        if entity.transientAttribute(named: name) != nil {
            return FetchPredicateError(
                .unsupported, "\(entity.name).\(name) is transient: the store does not have it", at: path.column,
                remedy: "Use a property that is stored")
        }
        return FetchPredicateError(
            .unknownProperty, "\(entity.name) has no property '\(name)'", at: path.column,
            remedy: ClosestName.remedy(name, among: entity.propertyNames))
    }

    private func notARelationship(_ name: String, _ entity: Entity, _ path: PropertyPath) -> FetchPredicateError {
        FetchPredicateError(
            .unknownProperty, "\(entity.name).\(name) is an attribute, nothing can follow it", at: path.column,
            remedy: "End the path with '\(name)'")
    }

    private func notToMany(_ function: String, _ name: String, _ path: PropertyPath) -> FetchPredicateError {
        FetchPredicateError(
            .type, "'@\(function)' follows '\(name)', which is one value", at: path.column,
            remedy: "Aggregate a to-many relationship, as in members.@count")
    }
}
