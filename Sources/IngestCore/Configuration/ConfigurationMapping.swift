import Yams

/// Is a mapping with a closed set of keys, such as a route.
struct ConfigurationMapping {
    let origin: ConfigurationOrigin
    private var values: [String: ConfigurationNode] = [:]

    /// Reads the keys, and reports those that are not known.
    ///
    /// Returns nil, with a problem, when the node is no mapping.
    init?(_ value: ConfigurationNode, what: String, keys: [String], problems: inout ConfigurationProblems) {
        guard case .mapping(let mapping) = value.node else {
            problems.add(
                .invalidValue, at: value.origin, "\(what) is \(value.shown(name: what)), which is not a mapping",
                remedy: "Write it with the keys \(keys.joined(separator: ", ")).")
            return nil
        }
        origin = value.origin
        for (keyNode, valueNode) in mapping {
            let key = keyNode.scalar?.string ?? ""
            guard keys.contains(key) else {
                problems.add(
                    .unknownKey, at: value.child(keyNode).origin, "unknown key \"\(key)\" in \(what)",
                    suggestion: Suggestion.closest(to: key, among: keys),
                    remedy: "The known keys are \(keys.joined(separator: ", ")).")
                continue
            }
            values[key] = value.child(valueNode)
        }
    }

    subscript(key: String) -> ConfigurationNode? { values[key] }

    func text(_ key: String, problems: inout ConfigurationProblems) -> String? {
        values[key]?.requiredText(name: key, problems: &problems)
    }

    func required(_ key: String, what: String, problems: inout ConfigurationProblems) -> String? {
        guard let value = values[key] else {
            problems.add(
                .missingKey, at: origin, "\(what) has no \"\(key)\"", remedy: "Add \(key) to it.")
            return nil
        }
        return value.requiredText(name: key, problems: &problems)
    }
}

extension ConfigurationNode {
    /// Reads the topics: a name, names with commas, or a list of names and mappings.
    func topics(problems: inout ConfigurationProblems) -> [TopicConfiguration]? {
        switch node {
        case .scalar:
            guard let text = requiredText(name: "topics", problems: &problems) else { return nil }
            return text.split(separator: ",").map { TopicConfiguration(name: trimmed($0)) }.filter { !$0.name.isEmpty }
        case .sequence(let sequence):
            return sequence.compactMap { child($0).topic(problems: &problems) }
        case .mapping, .alias:
            problems.wrongValue(self, name: "topics", expected: "a list of names or {name, format, routes}")
            return nil
        }
    }

    private func topic(problems: inout ConfigurationProblems) -> TopicConfiguration? {
        if node.scalar != nil {
            return requiredText(name: "a topic", problems: &problems).map { TopicConfiguration(name: $0) }
        }
        guard
            let mapping = ConfigurationMapping(
                self, what: "a topic", keys: ["name", "format", "routes"], problems: &problems)
        else { return nil }
        let name = mapping.required("name", what: "a topic", problems: &problems)
        let format = mapping["format"]?.choice(EventFormat.self, name: "format", problems: &problems)
        let routes = mapping["routes"]?.routes(problems: &problems)
        return name.map { TopicConfiguration(name: $0, format: format ?? .cloudevents, routes: routes ?? []) }
    }

    /// Reads the mappings of replayed files.
    func files(problems: inout ConfigurationProblems) -> [FileConfiguration]? {
        if isNull { return [] }
        guard case .sequence(let sequence) = node else {
            problems.wrongValue(self, name: "files", expected: "a list of {match, format, routes}")
            return nil
        }
        return sequence.compactMap { child($0).file(problems: &problems) }
    }

    private func file(problems: inout ConfigurationProblems) -> FileConfiguration? {
        guard
            let mapping = ConfigurationMapping(
                self, what: "a file mapping", keys: ["match", "format", "routes"], problems: &problems)
        else { return nil }
        let match = mapping.required("match", what: "a file mapping", problems: &problems)
        let format = mapping["format"]?.choice(EventFormat.self, name: "format", problems: &problems)
        let routes = mapping["routes"]?.routes(problems: &problems)
        return match.map { FileConfiguration(match: $0, format: format ?? .cloudevents, routes: routes ?? []) }
    }

    private func routes(problems: inout ConfigurationProblems) -> [RouteConfiguration] {
        guard case .sequence(let sequence) = node else {
            if !isNull { problems.wrongValue(self, name: "routes", expected: "a list of routes") }
            return []
        }
        return sequence.compactMap { child($0).route(problems: &problems) }
    }

    private static let routeKeys = [
        "type", "entity", "verb", "identity", "identityPrefix", "data", "typeField", "timeField", "aliases",
        "constants",
        "ignore", "dates",
    ]

    private func route(problems: inout ConfigurationProblems) -> RouteConfiguration? {
        guard
            let mapping = ConfigurationMapping(self, what: "a route", keys: Self.routeKeys, problems: &problems)
        else { return nil }
        var route = RouteConfiguration(entity: "")
        route.type = mapping.text("type", problems: &problems)
        route.verb = mapping["verb"]?.choice(RouteConfiguration.Verb.self, name: "verb", problems: &problems)
        route.identity = mapping["identity"]?.identity(problems: &problems)
        route.identityPrefix = mapping.text("identityPrefix", problems: &problems)
        route.data = mapping.text("data", problems: &problems)
        route.typeField = mapping.text("typeField", problems: &problems)
        route.timeField = mapping.text("timeField", problems: &problems)
        route.aliases = mapping["aliases"]?.aliases(problems: &problems) ?? [:]
        route.constants = mapping["constants"]?.constants(problems: &problems) ?? [:]
        route.ignore = mapping["ignore"]?.texts(name: "ignore", problems: &problems) ?? []
        if let dates = mapping["dates"] {
            route.dates =
                dates.choice(RouteConfiguration.DateFormat.self, name: "dates", problems: &problems) ?? .iso8601
        }
        guard let entity = mapping.required("entity", what: "a route", problems: &problems) else { return nil }
        route.entity = entity
        return route
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

    private func aliases(problems: inout ConfigurationProblems) -> [String: String] {
        var aliases: [String: String] = [:]
        eachPair(of: "aliases", problems: &problems) { name, value, problems in
            aliases[name] = value.requiredText(name: "aliases.\(name)", problems: &problems)
        }
        return aliases
    }

    private func constants(problems: inout ConfigurationProblems) -> [String: ConfigurationScalar] {
        var constants: [String: ConfigurationScalar] = [:]
        eachPair(of: "constants", problems: &problems) { name, value, problems in
            if let scalar = value.scalarValue {
                constants[name] = scalar
            } else {
                problems.wrongValue(value, name: "constants.\(name)", expected: "a text, number, boolean or null")
            }
        }
        return constants
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

    private func trimmed(_ text: Substring) -> String {
        var text = text
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
