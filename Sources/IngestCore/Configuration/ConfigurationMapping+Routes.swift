import RecordDecoding

extension ConfigurationNode {
    /// Reads a list of routes.
    func routes(name: String = "routes", problems: inout ConfigurationProblems) -> [RouteConfiguration] {
        guard case .sequence(let sequence) = node else {
            if !isNull { problems.wrongValue(self, name: name, expected: "a list of routes") }
            return []
        }
        return sequence.compactMap { child($0).route(problems: &problems) }
    }

    static let routeKeys = [
        "topic", "type", "table", "headers", "where", "filter", "entity", "verb", "identity", "identityPrefix",
        "prefixReferences", "data", "typeField", "timeField", "aliases", "constants", "defaults", "fields", "add",
        "remove", "types", "split", "ignore", "dates", "zone", "also", "each", "jq",
    ]
    static let splitKeys = [
        "field", "map", "entity", "parent", "relationship", "filter", "identity", "identityPrefix", "replace",
        "aliases",
        "constants", "defaults", "fields", "types", "split", "ignore",
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
        route.data = mapping.text("data", problems: &problems)
        route.typeField = mapping["typeField"]?.expression(name: "typeField", problems: &problems)
        route.timeField = mapping["timeField"]?.expression(name: "timeField", problems: &problems)
        mapping.readValues(into: &route, problems: &problems)
        mapping.readDates(into: &route, problems: &problems)
        route.splits = mapping["split"]?.splits(problems: &problems) ?? []
        route.also = mapping["also"]?.routes(name: "also", problems: &problems) ?? []
        route.program = mapping["jq"]?.program(problems: &problems)
        if mapping["jq"] != nil { mapping.refuseBesideProgram(Self.routeKeys, problems: &problems) }
        route.each = mapping.text("each", problems: &problems)
        if route.each != nil { mapping.refuseBesideEach(Self.routeKeys, problems: &problems) }
        // A dropped record needs no entity, a program names them itself, and elements have routes of their own.
        if route.verb == .drop || mapping["jq"] != nil || route.each != nil { return route }
        guard let entity = mapping.required("entity", what: "a route", problems: &problems) else { return nil }
        route.entity = entity
        return route
    }

    fileprivate func splits(problems: inout ConfigurationProblems) -> [SplitConfiguration] {
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
        let relationship = mapping.text("relationship", problems: &problems)
        let parent =
            relationship == nil
            ? mapping.required("parent", what: "a split", problems: &problems)
            : mapping.text("parent", problems: &problems) ?? ""
        guard let field, let entity, let parent else { return nil }
        var split = SplitConfiguration(field: field, entity: entity, parent: parent)
        split.place = ConfigurationPlace(mapping.origin)
        split.relationship = relationship
        split.isMap = mapping["map"]?.boolean(name: "map", problems: &problems) ?? false
        split.filter = mapping.text("filter", problems: &problems)
        split.identity = mapping["identity"]?.identity(isSplit: true, problems: &problems)
        split.identityPrefix = mapping["identityPrefix"]?.prefix(isSplit: true, problems: &problems)
        if mapping["replace"]?.text == "delete" {
            (split.replaces, split.deletesLost) = (true, true)
        } else {
            split.replaces = mapping["replace"]?.boolean(name: "replace", problems: &problems) ?? false
        }
        split.aliases = mapping["aliases"]?.names(of: "aliases", problems: &problems) ?? [:]
        split.constants = mapping["constants"]?.scalars(of: "constants", problems: &problems) ?? [:]
        split.defaults = mapping["defaults"]?.scalars(of: "defaults", problems: &problems) ?? [:]
        split.fields = mapping["fields"]?.expressions(of: "fields", isSplit: true, problems: &problems) ?? [:]
        (split.types, split.typePatterns) = mapping["types"]?.forms(problems: &problems) ?? ([:], [:])
        split.ignore = mapping["ignore"]?.texts(name: "ignore", problems: &problems) ?? []
        split.splits = mapping["split"]?.splits(problems: &problems) ?? []
        return split
    }

    /// Reads an identity: `$row`, or an expression.
    fileprivate func identity(
        isSplit: Bool = false, problems: inout ConfigurationProblems
    ) -> RouteConfiguration.Identity? {
        guard let text = expression(name: "identity", isSplit: isSplit, problems: &problems) else { return nil }
        return text == "$row" ? .row : .field(text)
    }

    /// Reads a path, a variable or a template, and refuses a fault where it stands.
    fileprivate func expression(
        name: String, isSplit: Bool = false, problems: inout ConfigurationProblems
    ) -> String? {
        guard let text = requiredText(name: name, problems: &problems) else { return nil }
        do throws(ExpressionError) {
            _ = try RouteExpression(text, isSplit: isSplit)
            return text
        } catch {
            problems.add(
                .invalidValue, at: origin, "\(name) is \(shown(name: name)): \(error.message)",
                suggestion: error.suggestion,
                remedy: "Write a path, a variable, or a template such as \"{site}-{number}\".")
            return nil
        }
    }

    /// Reads a text before identities; of variables a split knows `$parent`.
    fileprivate func prefix(isSplit: Bool, problems: inout ConfigurationProblems) -> String? {
        guard let text = requiredText(name: "identityPrefix", problems: &problems) else { return nil }
        for part in text.split(separator: "$", omittingEmptySubsequences: false).dropFirst() {
            let name = "$" + part.prefix { $0.isLetter }
            if name == "$" || isSplit && name.hasPrefix("$parent") { continue }
            let error = RouteExpression.unknown(name, isSplit: isSplit)
            problems.add(
                .invalidValue, at: origin,
                "identityPrefix is \(shown(name: "identityPrefix")), and '\(name)' is not known in it",
                suggestion: isSplit ? "$parent" : error.suggestion,
                remedy: "Write a template as the identity, such as \"{$topic}-{id}\".")
            return nil
        }
        return text
    }

    fileprivate func expressions(
        of name: String, isSplit: Bool = false, problems: inout ConfigurationProblems
    ) -> [String: String] {
        var expressions: [String: String] = [:]
        eachPair(of: name, problems: &problems) { key, value, problems in
            expressions[key] = value.expression(name: "\(name).\(key)", isSplit: isSplit, problems: &problems)
        }
        return expressions
    }

    /// Reads a mapping of texts to texts.
    fileprivate func names(of name: String, problems: inout ConfigurationProblems) -> [String: String] {
        var names: [String: String] = [:]
        eachPair(of: name, problems: &problems) { key, value, problems in
            names[key] = value.requiredText(name: "\(name).\(key)", problems: &problems)
        }
        return names
    }

    fileprivate func scalars(of name: String, problems: inout ConfigurationProblems) -> [String: ConfigurationScalar] {
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

    /// Reads how values are written: the name of a form, or the form of a date.
    fileprivate func forms(
        problems: inout ConfigurationProblems
    ) -> (forms: [String: RouteConfiguration.ValueForm], patterns: [String: String]) {
        var forms: [String: RouteConfiguration.ValueForm] = [:]
        var patterns: [String: String] = [:]
        eachPair(of: "types", problems: &problems) { key, value, problems in
            if let text = value.text, DatePattern.isMeant(text) {
                patterns[key] = text
            } else {
                forms[key] = value.choice(RouteConfiguration.ValueForm.self, name: "types.\(key)", problems: &problems)
            }
        }
        return (forms, patterns)
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

extension ConfigurationMapping {
    /// Reads a route's rules for values.
    fileprivate func readValues(into route: inout RouteConfiguration, problems: inout ConfigurationProblems) {
        route.identity = self["identity"]?.identity(problems: &problems)
        route.identityPrefix = self["identityPrefix"]?.prefix(isSplit: false, problems: &problems)
        route.prefixReferences = self["prefixReferences"]?.texts(name: "prefixReferences", problems: &problems) ?? []
        route.aliases = self["aliases"]?.names(of: "aliases", problems: &problems) ?? [:]
        route.constants = self["constants"]?.scalars(of: "constants", problems: &problems) ?? [:]
        route.defaults = self["defaults"]?.scalars(of: "defaults", problems: &problems) ?? [:]
        route.fields = self["fields"]?.expressions(of: "fields", problems: &problems) ?? [:]
        route.add = self["add"]?.expressions(of: "add", problems: &problems) ?? [:]
        route.remove = self["remove"]?.expressions(of: "remove", problems: &problems) ?? [:]
        (route.types, route.typePatterns) = self["types"]?.forms(problems: &problems) ?? ([:], [:])
        route.ignore = self["ignore"]?.texts(name: "ignore", problems: &problems) ?? []
    }

    /// Reads how a route's dates are written.
    fileprivate func readDates(into route: inout RouteConfiguration, problems: inout ConfigurationProblems) {
        route.zone = text("zone", problems: &problems)
        guard let dates = self["dates"] else { return }
        if let text = dates.text, DatePattern.isMeant(text) {
            route.datePattern = text
        } else {
            let choice = dates.choice(RouteConfiguration.DateFormat.self, name: "dates", problems: &problems)
            route.dates = choice ?? .iso8601
        }
    }
}
