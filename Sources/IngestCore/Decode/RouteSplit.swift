import ObjectGraph

/// A split of a route, resolved against the model: elements of an array become objects that belong to the record's own.
struct RouteSplit {
    /// How an element's object and the record's object are linked.
    enum Link {
        /// By the to-many relationship of the record's object.
        case fromParent(Int)
        /// By the element's own relationship: the parent's has no name, or leads to one.
        case fromElement(Int)
    }

    let field: String
    let entity: Entity
    let table: ObjectDecoder.PropertyTable
    let link: Link
    let identity: RouteConfiguration.Identity?
    let identityPath: [String]
    let identityPrefix: String?
    let replaces: Bool
    let constants: [ObjectOperation.AttributeValue]
    let defaults: [ObjectOperation.AttributeValue]

    /// Resolves a split.
    ///
    /// - Throws: ``RouteError``.
    init(_ split: SplitConfiguration, parent: Entity, model: ObjectModel, place: String) throws(RouteError) {
        let resolver = RouteResolver(place: place, at: split.place)
        entity = try resolver.entity(split.entity, model)
        field = split.field
        identity = split.identity
        identityPrefix = split.identityPrefix
        replaces = split.replaces
        identityPath = if case .field(let path)? = split.identity { Route.path(path) } else { [] }
        guard let relationship = entity.relationship(named: split.parent), !relationship.isToMany,
            parent.isKind(of: model.entities[relationship.destinationIndex])
        else {
            throw resolver.error(
                "The split of '\(split.field)' names the parent '\(split.parent)', which is no relationship from "
                    + "\(entity.name) to one \(parent.name). Name one of: "
                    + entity.relationships.filter { !$0.isToMany }.map(\.name).joined(separator: ", "))
        }
        if let inverse = model.inverse(of: relationship), inverse.isToMany {
            link = .fromParent(inverse.index)
        } else if split.replaces {
            throw resolver.error(
                "The split of '\(split.field)' replaces the objects of a \(parent.name), but '\(split.parent)' has no "
                    + "inverse to many. Leave 'replace' out")
        } else {
            link = .fromElement(relationship.index)
        }
        var ignored = split.ignore.filter { $0 != "*" }
        if split.identity != nil { ignored += [entity.identity.name, identityPath.first].compactMap { $0 } }
        try resolver.check(aliases: split.aliases, entity)
        var table = ObjectDecoder.table(entity, aliases: split.aliases, ignored: [])
        for name in ignored
        where table.properties[name] == nil || split.ignore.contains(name) || name == entity.identity.name {
            table.properties[name] = .ignored
        }
        table.ignoresUnknown = split.ignore.contains("*")
        table.forms = try resolver.forms(split.types, entity, model, names: table)
        self.table = table
        constants = try resolver.values(split.constants, entity, what: "constant")
        defaults = try resolver.values(split.defaults, entity, what: "default")
    }

    /// Returns the identity of an element, or null where it has none.
    func identity(of element: JSONValue, number: Int, parent: String) throws(DecodeError) -> Value? {
        let text: String
        switch identity {
        case nil: return nil
        case .row?: text = String(number)
        case .field?:
            guard let value = element.member(at: identityPath), !value.isNull else { return .null }
            guard let written = value.string ?? RouteConfiguration.ValueForm.text(ofNumber: value) else {
                throw wrongIdentity
            }
            text = written
        }
        return try prefixed(text, parent: parent)
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
