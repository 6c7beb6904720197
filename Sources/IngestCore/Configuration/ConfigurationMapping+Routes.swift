extension ConfigurationNode {
    /// Reads a list of routes.
    func routes(problems: inout ConfigurationProblems) -> [RouteConfiguration] {
        guard case .sequence(let sequence) = node else {
            if !isNull { problems.wrongValue(self, name: "routes", expected: "a list of routes") }
            return []
        }
        return sequence.compactMap { child($0).route(problems: &problems) }
    }

    private static let routeKeys = [
        "topic", "type", "table", "headers", "where", "filter", "entity", "verb", "identity", "identityPrefix", "data",
        "typeField", "timeField", "aliases", "constants", "defaults", "fields", "types", "split", "ignore", "dates",
    ]
    private static let splitKeys = [
        "field", "entity", "parent", "identity", "identityPrefix", "replace", "aliases", "constants", "defaults",
        "types", "ignore",
    ]

    private func route(problems: inout ConfigurationProblems) -> RouteConfiguration? {
        guard
            let mapping = ConfigurationMapping(self, what: "a route", keys: Self.routeKeys, problems: &problems)
        else { return nil }
        var route = RouteConfiguration(entity: "")
        route.place = ConfigurationPlace(mapping.origin)
        route.topic = mapping.text("topic", problems: &problems)
        route.type = mapping.text("type", problems: &problems)
        route.table = mapping.text("table", problems: &problems)
        route.headers = mapping["headers"]?.names(of: "headers", problems: &problems) ?? [:]
        route.condition = mapping.text("where", problems: &problems)
        route.filter = mapping.text("filter", problems: &problems)
        route.verb = mapping["verb"]?.choice(RouteConfiguration.Verb.self, name: "verb", problems: &problems)
        route.identity = mapping["identity"]?.identity(problems: &problems)
        route.identityPrefix = mapping.text("identityPrefix", problems: &problems)
        route.data = mapping.text("data", problems: &problems)
        route.typeField = mapping.text("typeField", problems: &problems)
        route.timeField = mapping.text("timeField", problems: &problems)
        route.aliases = mapping["aliases"]?.names(of: "aliases", problems: &problems) ?? [:]
        route.constants = mapping["constants"]?.scalars(of: "constants", problems: &problems) ?? [:]
        route.defaults = mapping["defaults"]?.scalars(of: "defaults", problems: &problems) ?? [:]
        route.fields = mapping["fields"]?.names(of: "fields", problems: &problems) ?? [:]
        route.types = mapping["types"]?.forms(problems: &problems) ?? [:]
        route.splits = mapping["split"]?.splits(problems: &problems) ?? []
        route.ignore = mapping["ignore"]?.texts(name: "ignore", problems: &problems) ?? []
        if let dates = mapping["dates"] {
            route.dates =
                dates.choice(RouteConfiguration.DateFormat.self, name: "dates", problems: &problems) ?? .iso8601
        }
        // A dropped record needs no entity.
        if route.verb == .drop { return route }
        guard let entity = mapping.required("entity", what: "a route", problems: &problems) else { return nil }
        route.entity = entity
        return route
    }

    private func splits(problems: inout ConfigurationProblems) -> [SplitConfiguration] {
        guard case .sequence(let sequence) = node else {
            if !isNull { problems.wrongValue(self, name: "split", expected: "a list of splits") }
            return []
        }
        return sequence.compactMap { child($0).split(problems: &problems) }
    }

    private func split(problems: inout ConfigurationProblems) -> SplitConfiguration? {
        guard
            let mapping = ConfigurationMapping(self, what: "a split", keys: Self.splitKeys, problems: &problems)
        else { return nil }
        let field = mapping.required("field", what: "a split", problems: &problems)
        let entity = mapping.required("entity", what: "a split", problems: &problems)
        let parent = mapping.required("parent", what: "a split", problems: &problems)
        guard let field, let entity, let parent else { return nil }
        var split = SplitConfiguration(field: field, entity: entity, parent: parent)
        split.place = ConfigurationPlace(mapping.origin)
        split.identity = mapping["identity"]?.identity(problems: &problems)
        split.identityPrefix = mapping.text("identityPrefix", problems: &problems)
        split.replaces = mapping["replace"]?.boolean(name: "replace", problems: &problems) ?? false
        split.aliases = mapping["aliases"]?.names(of: "aliases", problems: &problems) ?? [:]
        split.constants = mapping["constants"]?.scalars(of: "constants", problems: &problems) ?? [:]
        split.defaults = mapping["defaults"]?.scalars(of: "defaults", problems: &problems) ?? [:]
        split.types = mapping["types"]?.forms(problems: &problems) ?? [:]
        split.ignore = mapping["ignore"]?.texts(name: "ignore", problems: &problems) ?? []
        return split
    }

    private func identity(problems: inout ConfigurationProblems) -> RouteConfiguration.Identity? {
        guard let text = requiredText(name: "identity", problems: &problems) else { return nil }
        guard text.hasPrefix("$") else { return .field(text) }
        if text == "$row" { return .row }
        problems.add(
            .invalidValue, at: origin, "identity is \(shown(name: "identity")), which is no known variable",
            suggestion: "$row", remedy: "Use a field's name, or $row for the record's number.")
        return nil
    }

    /// Reads a mapping of texts to texts.
    private func names(of name: String, problems: inout ConfigurationProblems) -> [String: String] {
        var names: [String: String] = [:]
        eachPair(of: name, problems: &problems) { key, value, problems in
            names[key] = value.requiredText(name: "\(name).\(key)", problems: &problems)
        }
        return names
    }

    private func scalars(of name: String, problems: inout ConfigurationProblems) -> [String: ConfigurationScalar] {
        var scalars: [String: ConfigurationScalar] = [:]
        eachPair(of: name, problems: &problems) { key, value, problems in
            if let scalar = value.scalarValue {
                scalars[key] = scalar
            } else {
                problems.wrongValue(value, name: "\(name).\(key)", expected: "a text, number, boolean or null")
            }
        }
        return scalars
    }

    private func forms(problems: inout ConfigurationProblems) -> [String: RouteConfiguration.ValueForm] {
        var forms: [String: RouteConfiguration.ValueForm] = [:]
        eachPair(of: "types", problems: &problems) { key, value, problems in
            forms[key] = value.choice(RouteConfiguration.ValueForm.self, name: "types.\(key)", problems: &problems)
        }
        return forms
    }

    private func eachPair(
        of name: String, problems: inout ConfigurationProblems,
        _ body: (String, ConfigurationNode, inout ConfigurationProblems) -> Void
    ) {
        guard case .mapping(let mapping) = node else {
            if !isNull { problems.wrongValue(self, name: name, expected: "a mapping") }
            return
        }
        for (key, value) in mapping {
            guard let key = child(key).requiredText(name: "a key of \(name)", problems: &problems) else { continue }
            body(key, child(value), &problems)
        }
    }
}
