import ObjectGraph

/// Resolves the parts of routes and splits against a model, and words what does not fit.
struct RouteResolver {
    /// Names the topic or file, as in "topic chat-events".
    let place: String
    private let location: String?

    init(place: String, at position: ConfigurationPlace) {
        self.place = place
        location = position.location
    }

    /// Makes an error with its place in the configuration.
    func error(_ text: String) -> RouteError { RouteError(location: location, message: text) }

    func entity(_ name: String, _ model: ObjectModel) throws(RouteError) -> Entity {
        if let entity = model.entity(matching: name) { return entity }
        let known = model.entities.map(\.name).joined(separator: ", ")
        throw error("A route of \(place) leads to '\(name)', which is no entity. Known entities are: \(known)")
    }

    func check(aliases: [String: String], _ entity: Entity) throws(RouteError) {
        for name in aliases.values.sorted() where !entity.propertyNames.contains(name) {
            throw error(
                "An alias of \(place) stands for '\(name)', which \(entity.name) does not have. "
                    + "Its properties are: \(entity.propertyNames.joined(separator: ", "))")
        }
    }

    /// Compiles constants or defaults.
    func values(
        _ scalars: [String: ConfigurationScalar], _ entity: Entity, what: String
    ) throws(RouteError) -> [ObjectOperation.AttributeValue] {
        try scalars.sorted { $0.key < $1.key }.map { name, scalar throws(RouteError) in
            guard let attribute = entity.attribute(named: name), !attribute.isDerived else {
                throw error("A \(what) of \(place) is for '\(name)', which is no stored attribute of \(entity.name).")
            }
            if attribute.slot == entity.identitySlot {
                throw error(
                    "A \(what) of \(place) is for '\(name)', which tells the objects of \(entity.name) apart. "
                        + "Remove it, or use 'identity'.")
            }
            guard let value = Self.value(scalar, for: attribute.type) else {
                throw error(
                    "The \(what) of \(place) for \(entity.name).\(name) has to be \(attribute.type.expectation).")
            }
            return ObjectOperation.AttributeValue(slot: attribute.slot, value: value)
        }
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

    /// Compiles the forms of values: stated for properties, looked up by the keys that stand for them.
    func forms(
        _ forms: [String: RouteConfiguration.ValueForm], _ entity: Entity, _ model: ObjectModel,
        names: ObjectDecoder.PropertyTable
    ) throws(RouteError) -> [String: RouteConfiguration.ValueForm] {
        var byKey: [String: RouteConfiguration.ValueForm] = [:]
        for (name, form) in forms.sorted(by: { $0.key < $1.key }) {
            let type: AttributeType
            let isMeant: (ObjectDecoder.Property) -> Bool
            if let attribute = entity.attribute(named: name), !attribute.isDerived {
                type = attribute.type
                let isIdentity = attribute.slot == entity.identitySlot
                isMeant = { property in
                    switch property {
                    case .identity: isIdentity
                    case .attribute(let slot): slot == attribute.slot
                    default: false
                    }
                }
            } else if let relationship = entity.relationship(named: name), !relationship.isToMany {
                type = model.entities[relationship.destinationIndex].identity.type
                isMeant = { if case .relationship(relationship.index) = $0 { true } else { false } }
            } else {
                throw error(
                    "A type of \(place) is for '\(name)', which is no stored attribute and no relationship to one of "
                        + "\(entity.name). Its properties are: \(entity.propertyNames.joined(separator: ", "))")
            }
            guard form.canBecome(type) else {
                throw error(
                    "The type '\(form.rawValue)' of \(place) for \(entity.name).\(name) cannot become "
                        + "\(type.expectation). Use another one, or leave it out")
            }
            for (key, property) in names.properties.sorted where isMeant(property) { byKey[key] = form }
        }
        return byKey
    }

    /// Resolves properties whose values stand at paths of the record.
    func fields(_ paths: [String: String], _ entity: Entity) throws(RouteError) -> [Route.Field] {
        try paths.sorted { $0.key < $1.key }.map { name, path throws(RouteError) in
            let property = ObjectDecoder.table(entity).properties[name]
            switch property {
            case .attribute?, .relationship?: break
            default:
                throw error(
                    "A field of \(place) is for '\(name)', which \(entity.name) does not store, or which identifies it. "
                        + "Its properties are: \(entity.propertyNames.joined(separator: ", "))")
            }
            return Route.Field(name: name, path: Route.path(path), property: property ?? .ignored)
        }
    }

    func condition(_ text: String?, named key: String) throws(RouteError) -> RecordCondition? {
        guard let text else { return nil }
        do throws(ConditionError) {
            return try RecordCondition(text)
        } catch {
            throw self.error("The '\(key)' of a route of \(place) cannot be read: \(error.description)")
        }
    }
}
