import ObjectGraph

/// Why a route does not fit the model.
public struct RouteError: Error, Sendable, CustomStringConvertible {
    /// What does not fit and what to do.
    public let description: String
    /// A stable code for scripts and logs.
    public var code: String { "config.route" }
    /// A route does not mend itself.
    public var isRetriable: Bool { false }
}

/// A route of the configuration, resolved against the model.
struct Route {
    let type: String?
    let entity: Entity
    let verb: Operation.Kind?
    let identity: RouteConfiguration.Identity?
    let identityPrefix: String?
    let data: [String]
    let typeField: [String]
    let timeField: [String]
    let table: ObjectDecoder.PropertyTable
    let constants: [Operation.AttributeValue]
    let values: ValueDecoding

    /// Resolves a route; `place` names it in errors, as in "topic chat-events".
    init(_ route: RouteConfiguration, model: ObjectModel, place: String) throws(RouteError) {
        guard let entity = model.entity(matching: route.entity) else {
            let known = model.entities.map(\.name).joined(separator: ", ")
            throw RouteError(
                description:
                    "A route of \(place) leads to '\(route.entity)', which is no entity. Known entities are: \(known)")
        }
        self.entity = entity
        type = route.type
        verb = route.verb.map { $0 == .delete ? .delete : .upsert }
        identity = route.identity
        identityPrefix = route.identityPrefix
        data = Self.path(route.data)
        typeField = Self.path(route.typeField)
        timeField = Self.path(route.timeField)
        values = ValueDecoding(dates: route.dates)
        for name in route.aliases.values.sorted() where !entity.propertyNames.contains(name) {
            throw RouteError(
                description: "An alias of \(place) stands for '\(name)', which \(entity.name) does not have. "
                    + "Its properties are: \(entity.propertyNames.joined(separator: ", "))")
        }
        var ignored = route.ignore
        if data.isEmpty {
            ignored.append(RowDecoder.numberMember)
            // What the envelope says stands beside the properties.
            ignored += [typeField.first, timeField.first].compactMap { $0 }
            if case .field(let field)? = identity { ignored.append(Self.path(field)[0]) }
        }
        let known = Set(entity.propertyNames).union(route.aliases.keys)
        ignored = ignored.filter { !known.contains($0) } + route.ignore
        // Where the route says what the identity is, the data does not.
        if identity != nil {
            let name = entity.identity.name
            ignored += [name] + route.aliases.filter { $0.value == name }.keys
        }
        table = ObjectDecoder.table(entity, aliases: route.aliases, ignored: ignored)
        constants = try route.constants.sorted { $0.key < $1.key }.map { name, scalar throws(RouteError) in
            guard let attribute = entity.attribute(named: name), !attribute.isDerived else {
                throw RouteError(
                    description:
                        "A constant of \(place) is for '\(name)', which is no stored attribute of \(entity.name).")
            }
            if attribute.slot == entity.identitySlot {
                throw RouteError(
                    description:
                        "A constant of \(place) is for '\(name)', which tells the objects of \(entity.name) apart. "
                        + "Remove it, or use 'identity'.")
            }
            guard let value = Self.value(scalar, for: attribute.type) else {
                throw RouteError(
                    description:
                        "The constant of \(place) for \(entity.name).\(name) has to be \(attribute.type.expectation).")
            }
            return Operation.AttributeValue(slot: attribute.slot, value: value)
        }
    }

    private static func path(_ text: String?) -> [String] {
        text?.split(separator: ".").map { String($0) } ?? []
    }

    private static func value(_ scalar: ConfigurationScalar, for type: AttributeType) -> Value? {
        switch scalar {
        case .null: .null
        case .boolean(let flag): type == .boolean ? .integer(flag ? 1 : 0) : nil
        case .integer(let number): type == .string ? .text(String(number)) : type.value(fromInteger: number)
        case .double(let number): type == .string ? .text("\(number)") : type.value(fromDouble: number)
        case .string(let text): type.value(fromText: text)
        }
    }

    /// Returns the identity that a record's number gives.
    func rowIdentity(_ number: Int64) -> Value? {
        identityValue(text: String(number), integer: number)
    }

    /// Puts the prefix before an identity and gives it the identity attribute's form; nil where it does not fit.
    func identityValue(text: String, integer: Int64?) -> Value? {
        if let prefix = identityPrefix { return entity.identityValue(fromText: prefix + text) }
        if let integer, let value = entity.identity.type.value(fromInteger: integer) { return value }
        return entity.identityValue(fromText: text)
    }
}

extension Entity {
    /// Returns the identity that a text states, or nil where it is none; NUL ends a text for most readers of a store.
    func identityValue(fromText text: String) -> Value? {
        text.utf8.contains(0) ? nil : identity.type.value(fromText: text)
    }
}

extension JSONValue {
    /// Follows a path of keys; nil where a step is missing.
    func member(at path: [String]) -> JSONValue? {
        var value = self
        for key in path {
            guard let next = value.member(named: key) else { return nil }
            value = next
        }
        return value
    }
}
