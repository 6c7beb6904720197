import GraphCore

/// A split of a route, resolved against the model.
///
/// The elements of an array, the members of a map or one object become objects that belong to the object around them.
struct RouteSplit {
    /// How an element's object and the object around it are linked.
    enum Link {
        /// By the to-many relationship of the object around it.
        case fromParent(Int)
        /// By the to-one relationship of the object around it.
        case oneFromParent(Int)
        /// By the element's own to-one relationship: the other side has no name, or leads to one.
        case fromElement(Int)
        /// By the element's own to-many relationship, whose other side has no name.
        case manyFromElement(Int)
    }

    let path: RecordPath
    let isMap: Bool
    let entity: Entity
    let table: ObjectDecoder.PropertyTable
    let link: Link
    let filter: RecordCondition?
    /// The expression of an element's identity, or nil for the model's identity attribute.
    let identity: RouteExpression?
    let identityPrefix: String?
    let replaces: Bool
    let deletesLost: Bool
    let made: RouteValues
    let splits: [RouteSplit]
    /// Whether an element may be a text or a number.
    let takesScalars: Bool
    /// The aliases, and the forms of values by property, that the configuration states, for reports.
    let aliasNames: [String]
    let statedTypes: [String: String]

    /// The relationship of the object around the elements, where the link is its own.
    var parentRelationship: Int? {
        switch link {
        case .fromParent(let index), .oneFromParent(let index): index
        case .fromElement, .manyFromElement: nil
        }
    }

    /// The path as messages name it.
    var field: String { path.text }

    /// Resolves a split.
    ///
    /// - Parameters:
    ///   - parent: the entity of the object around the elements.
    ///   - zone: the zone of dates without an offset.
    init(
        _ split: SplitConfiguration, parent: Entity, model: ObjectModel, place: String, zone: String? = nil
    ) throws(RouteError) {
        let resolver = RouteResolver(place: place, at: split.place)
        entity = try resolver.entity(split.entity, model)
        path = try resolver.path(split.field, for: "field of a split")
        isMap = split.isMap
        filter = try resolver.condition(split.filter, named: "filter")
        let stated = split.identity ?? (split.isMap ? .field("$name") : nil)
        identity = try resolver.identity(stated, isSplit: true)
        identityPrefix = split.identityPrefix
        replaces = split.replaces
        deletesLost = split.deletesLost
        aliasNames = split.aliases.keys.sorted()
        statedTypes = split.types.mapValues(\.rawValue).merging(split.typePatterns) { $1 }
        link = try resolver.link(split, entity, parent: parent, model)
        if deletesLost {
            guard case .fromParent = link else {
                throw resolver.error(
                    "A split of \(place) has 'replace: delete', but no relationship of \(parent.name) to many leads to its "
                        + "elements")
            }
        }
        made = try resolver.values(
            constants: split.constants, defaults: split.defaults, fields: split.fields, entity, model, isSplit: true)
        splits = try split.splits.map { [entity] inner throws(RouteError) in
            try RouteSplit(inner, parent: entity, model: model, place: place, zone: zone)
        }
        takesScalars = split.isMap || identity?.usesValue ?? false
        try resolver.check(aliases: split.aliases, entity)
        table = try Self.table(
            split, resolver, entity, model, zone: zone, made: made, splits: splits, identity: identity,
            statesIdentity: stated != nil)
    }

    /// Returns the meaning of each key of an element.
    private static func table(
        _ split: SplitConfiguration, _ resolver: RouteResolver, _ entity: Entity, _ model: ObjectModel, zone: String?,
        made: RouteValues, splits: [RouteSplit], identity: RouteExpression?, statesIdentity: Bool
    ) throws(RouteError) -> ObjectDecoder.PropertyTable {
        let used = ([identity].compactMap { $0 } + made.expressions).flatMap(\.paths) + splits.map(\.path)
        var ignored = split.ignore.filter { $0 != "*" }
        if statesIdentity { ignored.append(entity.identity.name) }
        ignored += used.compactMap(\.firstKey)
        var table = ObjectDecoder.table(entity, aliases: split.aliases, ignored: [])
        for name in ignored
        where table.properties[name] == nil || split.ignore.contains(name)
            || statesIdentity && name == entity.identity.name
        {
            table.properties[name] = .ignored
        }
        for name in made.givenNames { table.properties[name] = .ignored }
        table.ignoresUnknown = split.ignore.contains("*")
        table.forms = try resolver.forms(
            split.types, patterns: split.typePatterns, zone: zone, entity, model, names: table)
        for (index, inner) in splits.enumerated() {
            if let key = inner.path.onlyKey { table.splits[key] = (table.splits[key] ?? []) + [index] }
        }
        return table
    }

    /// Returns the identity of an element, or nil where the model's attribute says it.
    func identity(in scope: RouteScope) throws(DecodeError) -> Value? {
        guard let identity else { return nil }
        let text: String
        if let path = identity.path {
            guard let value = scope.member(at: path), !scope.values.isNull(value) else { return .null }
            guard let written = ConnectValues.text(value, scope.schema(at: path)) else { throw wrongIdentity }
            text = written
        } else {
            let named = try scope.naming(entity, by: identity, table)
            guard case .text(let written) = try identity.text(in: named) else { return .null }
            text = written
        }
        return try prefixed(text, parent: scope.parent)
    }

    /// Puts the prefix before an identity.
    func prefixed(_ text: String, parent: String) throws(DecodeError) -> Value {
        guard let prefix = identityPrefix else { return try checked(text) }
        let parts = prefix.split(separator: "$parent", omittingEmptySubsequences: false)
        return try checked(parts.joined(separator: parent) + text)
    }

    private func checked(_ text: String) throws(DecodeError) -> Value {
        guard let value = entity.identityValue(fromText: text) else { throw wrongIdentity }
        return value
    }

    private var wrongIdentity: DecodeError {
        DecodeError(
            code: "decode.identity",
            "The identity of an element of '\(field)' has to be \(entity.identity.type.expectation)")
    }
}

extension RouteResolver {
    /// Compiles the expression of an identity.
    func identity(
        _ identity: RouteConfiguration.Identity?, isSplit: Bool = false
    ) throws(RouteError) -> RouteExpression? {
        switch identity {
        case nil: nil
        case .row?: try expression("$row", for: "identity", isSplit: isSplit)
        case .field(let text)?: try expression(text, for: "identity", isSplit: isSplit)
        }
    }

    /// Resolves the relationships whose identities get a prefix.
    func references(_ names: [String], _ entity: Entity) throws(RouteError) -> Set<Int> {
        var found: Set<Int> = []
        for name in names {
            if name == "*" {
                found.formUnion(entity.relationships.map(\.index))
            } else if let relationship = entity.relationship(named: name) {
                found.insert(relationship.index)
            } else {
                throw error(
                    "'prefixReferences' of \(place) names '\(name)', which is no relationship of \(entity.name). Those are: "
                        + entity.relationships.map(\.name).joined(separator: ", "))
            }
        }
        return found
    }

    /// Resolves how the elements of a split and the object around them are linked.
    func link(
        _ split: SplitConfiguration, _ entity: Entity, parent: Entity, _ model: ObjectModel
    ) throws(RouteError) -> RouteSplit.Link {
        if let name = split.relationship {
            guard let relationship = parent.relationship(named: name),
                entity.isKind(of: model.entities[relationship.destinationIndex])
            else {
                throw error(
                    "The split of '\(split.field)' names the relationship '\(name)', which does not lead from \(parent.name) "
                        + "to \(entity.name). The relationships of \(parent.name) are: "
                        + parent.relationships.map(\.name).joined(separator: ", "))
            }
            return relationship.isToMany ? .fromParent(relationship.index) : .oneFromParent(relationship.index)
        }
        guard let relationship = entity.relationship(named: split.parent),
            parent.isKind(of: model.entities[relationship.destinationIndex])
        else {
            throw error(
                "The split of '\(split.field)' names the parent '\(split.parent)', which is no relationship from "
                    + "\(entity.name) to one \(parent.name). Name one of: "
                    + entity.relationships.filter { !$0.isToMany }.map(\.name).joined(separator: ", "))
        }
        if let inverse = model.inverse(of: relationship), inverse.isToMany { return .fromParent(inverse.index) }
        if split.replaces {
            throw error(
                "The split of '\(split.field)' replaces the objects of a \(parent.name), but '\(split.parent)' has no "
                    + "inverse to many. Leave 'replace' out")
        }
        return relationship.isToMany ? .manyFromElement(relationship.index) : .fromElement(relationship.index)
    }
}
