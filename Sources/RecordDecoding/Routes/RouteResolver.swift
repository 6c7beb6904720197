import GraphCore

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

    /// Resolves the entity of a route. A dropped record has none, and a program names them itself: any stands in for it.
    func entity(of route: RouteConfiguration, _ model: ObjectModel) throws(RouteError) -> Entity {
        let needsNone = route.verb == .drop || route.program != nil || route.each != nil
        return needsNone && route.entity.isEmpty ? model.entities[0] : try entity(route.entity, model)
    }

    /// Resolves the expression of a key that may be left out.
    func optional(_ text: String?, for key: String) throws(RouteError) -> RouteExpression? {
        guard let text else { return nil }
        return try expression(text, for: key)
    }

    /// Refuses a route of `also` with a key that only the route itself has.
    func checkFurther(_ route: RouteConfiguration) throws(RouteError) {
        if route.program == nil, route.each == nil { return }
        let key = route.each == nil ? "a program" : "'each'"
        throw error("A route of 'also' of \(place) has \(key). Let the route itself have it")
    }

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

    /// Compiles constants or defaults: of attributes, and of relationships to one.
    func values(
        _ scalars: [String: ConfigurationScalar], _ entity: Entity, _ model: ObjectModel, what: String
    ) throws(RouteError) -> (
        attributes: [ObjectOperation.AttributeValue], links: [ObjectOperation.RelationshipValue]
    ) {
        var attributes: [ObjectOperation.AttributeValue] = []
        var links: [ObjectOperation.RelationshipValue] = []
        for (name, scalar) in scalars.sorted(by: { $0.key < $1.key }) {
            if let relationship = entity.relationship(named: name), !relationship.isToMany {
                let identity = model.entities[relationship.destinationIndex].identity
                let value = try checked(scalar, identity.type, "\(entity.name).\(name)", what)
                links.append(.init(relationship: relationship.index, change: .one(value)))
                continue
            }
            guard let attribute = entity.attribute(named: name), !attribute.isDerived else {
                throw error("A \(what) of \(place) is for '\(name)', which is no stored attribute of \(entity.name).")
            }
            if attribute.slot == entity.identitySlot {
                throw error(
                    "A \(what) of \(place) is for '\(name)', which tells the objects of \(entity.name) apart. "
                        + "Remove it, or use 'identity'.")
            }
            let value = try checked(scalar, attribute.type, "\(entity.name).\(name)", what)
            attributes.append(.init(slot: attribute.slot, value: value))
        }
        return (attributes, links)
    }

    private func checked(
        _ scalar: ConfigurationScalar, _ type: AttributeType, _ name: String, _ what: String
    ) throws(RouteError) -> Value {
        if let value = Self.value(scalar, for: type) { return value }
        throw error("The \(what) of \(place) for \(name) has to be \(type.expectation).")
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

    /// Compiles the forms of values: stated for properties or for keys that stand for them, looked up by key.
    func forms(
        _ forms: [String: RouteConfiguration.ValueForm], patterns: [String: String], zone: String?, _ entity: Entity,
        _ model: ObjectModel, names: ObjectDecoder.PropertyTable
    ) throws(RouteError) -> [String: ValueReading] {
        var readings = forms.mapValues { ValueReading.form($0) }
        for (name, text) in patterns {
            readings[name] = try pattern(text, zone: zone, for: "type of '\(name)'").map { .pattern($0) }
        }
        var byKey: [String: ValueReading] = [:]
        for (name, form) in readings.sorted(by: { $0.key < $1.key }) {
            let property = names.meaning(of: name, in: entity)
            guard let property, let type = valueType(of: property, entity, model) else {
                let closest = ClosestName.find(name, among: entity.propertyNames)
                let hint = closest.flatMap { $0 == name ? nil : ". Did you mean '\($0)'?" } ?? "."
                throw error(
                    "A type of \(place) is for '\(name)', which is no stored attribute and no relationship to one of "
                        + "\(entity.name)\(hint) Its properties are: \(entity.propertyNames.joined(separator: ", "))")
            }
            guard form.canBecome(type) else {
                let remedy = type == .transformable ? "Use 'json' for a text that holds JSON" : "Use another one"
                throw error(
                    "The type '\(form.name)' of \(place) for \(entity.name).\(name) cannot become "
                        + "\(type.expectation). \(remedy), or leave it out")
            }
            // The name itself stands for a value that an expression gives.
            for key in names.keys(of: property) + [name] { byKey[key] = form }
        }
        return byKey
    }

    /// Compiles the forms of values that a program makes, by the names of properties; one table for each entity.
    func programTables(
        _ route: RouteConfiguration, _ model: ObjectModel
    ) throws(RouteError) -> [ObjectDecoder.PropertyTable] {
        var unknown = Set(route.types.keys).union(route.typePatterns.keys)
        if unknown.isEmpty { return [] }
        let names = unknown
        let tables = try model.entities.map { entity throws(RouteError) in
            var table = ObjectDecoder.table(entity)
            let own = names.filter { name in
                table.properties[name].flatMap { valueType(of: $0, entity, model) } != nil
            }
            unknown.subtract(own)
            table.forms = try forms(
                route.types.filter { own.contains($0.key) },
                patterns: route.typePatterns.filter { own.contains($0.key) }, zone: route.zone, entity, model,
                names: table)
            return table
        }
        guard let name = unknown.min() else { return tables }
        throw error("A type of \(place) is for '\(name)', which no entity of the model stores")
    }

    /// The type of a property's values, or nil where an event gives it none.
    private func valueType(
        of property: ObjectDecoder.Property, _ entity: Entity, _ model: ObjectModel
    ) -> AttributeType? {
        switch property {
        case .identity: entity.identity.type
        case .attribute(let slot): entity.attributes[slot].type
        case .relationship(let index) where !entity.relationships[index].isToMany:
            model.entities[entity.relationships[index].destinationIndex].identity.type
        case .relationship, .transient, .ignored: nil
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
