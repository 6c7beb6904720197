/// Looks the names of a path up in a model.
struct PathResolver {
    let model: ObjectModel

    /// A path, cut at the to-many relationship it leads through, if any.
    enum Resolution {
        case single(ResolvedPath)
        case many(prefix: [Relationship], over: Relationship, rest: PropertyPath)
    }

    /// Resolves a path from an entity.
    ///
    /// - Throws: ``PredicateError`` with code `predicate.unknown_property` or `predicate.unsupported`.
    func resolve(_ path: PropertyPath, from origin: Int) throws(PredicateError) -> Resolution {
        var steps: [Relationship] = []
        var entity = model.entities[origin]
        for (index, name) in path.names.enumerated() {
            let isLast = index == path.names.count - 1
            if let attribute = entity.attribute(named: name) {
                guard isLast, path.function == nil else { throw notARelationship(name, entity, path) }
                return .single(ResolvedPath(origin: origin, steps: steps, end: .attribute(attribute)))
            }
            guard let relationship = entity.relationship(named: name) else { throw unknown(name, entity, path) }
            if relationship.isToMany {
                if isLast, let function = path.function {
                    try checkCount(function, path)
                    return .single(ResolvedPath(origin: origin, steps: steps, end: .count(relationship)))
                }
                let rest = PropertyPath(
                    names: Array(path.names[(index + 1)...]), function: path.function, column: path.column)
                return .many(prefix: steps, over: relationship, rest: rest)
            }
            if isLast {
                if let function = path.function { throw notToMany(function, name, path) }
                return .single(ResolvedPath(origin: origin, steps: steps, end: .destination(relationship)))
            }
            steps.append(relationship)
            entity = model.entities[relationship.destinationIndex]
        }
        // An empty path, as behind `ANY members`, is the object itself.
        return .single(ResolvedPath(origin: origin, steps: [], end: .object))
    }

    /// Resolves a path that has one value an object.
    func resolveSingle(_ path: PropertyPath, from origin: Int) throws(PredicateError) -> ResolvedPath {
        switch try resolve(path, from: origin) {
        case .single(let resolved): return resolved
        case .many(_, let relationship, _):
            throw PredicateError(
                .unsupported, "'\(path.text)' has many values, for '\(relationship.name)' leads to many objects",
                at: path.column,
                remedy: "Put ANY, ALL or NONE before it in a condition, or use \(relationship.name).@count")
        }
    }

    private func checkCount(_ function: String, _ path: PropertyPath) throws(PredicateError) {
        guard function == "count" else {
            throw PredicateError(
                .unsupported, "'@\(function)' is not supported", at: path.column, remedy: "Use @count")
        }
    }

    private func unknown(_ name: String, _ entity: Entity, _ path: PropertyPath) -> PredicateError {
        PredicateError(
            .unknownProperty, "\(entity.name) has no property '\(name)'", at: path.column,
            remedy: ClosestName.remedy(name, among: entity.propertyNames))
    }

    private func notARelationship(_ name: String, _ entity: Entity, _ path: PropertyPath) -> PredicateError {
        PredicateError(
            .unknownProperty, "\(entity.name).\(name) is an attribute, nothing can follow it", at: path.column,
            remedy: "End the path with '\(name)'")
    }

    private func notToMany(_ function: String, _ name: String, _ path: PropertyPath) -> PredicateError {
        PredicateError(
            .type, "'@\(function)' follows '\(name)', which leads to one object", at: path.column,
            remedy: "Count a to-many relationship, or compare '\(name)' with nil")
    }
}
