import GraphCore
import RecordDecoding
import RecordFiles
import Yams

/// Is a mapping with a closed set of keys, such as a route.
struct ConfigurationMapping {
    let origin: ConfigurationOrigin
    private var values: [String: ConfigurationNode] = [:]

    /// Reads the keys, and reports unknown keys.
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
                    suggestion: ClosestName.find(key, among: keys),
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
            return text.split(separator: ",").map { TopicConfiguration(name: $0.trimmed) }.filter { !$0.name.isEmpty }
        case .sequence(let sequence):
            return sequence.compactMap { child($0).topic(problems: &problems) }
        case .mapping, .alias:
            problems.wrongValue(self, name: "topics", expected: "a list of names or {name, format, routes}")
            return nil
        }
    }

    static let topicKeys = ["name", "format", "routes", "nullValues", "broadcast"]
    static let fileKeys = ["match", "format", "routes", "nullValues", "delimiter", "quote"]

    private func topic(problems: inout ConfigurationProblems) -> TopicConfiguration? {
        if node.scalar != nil {
            return requiredText(name: "a topic", problems: &problems).map { TopicConfiguration(name: $0) }
        }
        guard
            let mapping = ConfigurationMapping(self, what: "a topic", keys: Self.topicKeys, problems: &problems)
        else { return nil }
        let name = mapping.required("name", what: "a topic", problems: &problems)
        let format = mapping["format"]?.choice(EventFormat.self, name: "format", problems: &problems)
        let routes = mapping["routes"]?.routes(problems: &problems)
        let nulls = mapping["nullValues"]?.nullValues(problems: &problems) ?? []
        let broadcast = mapping["broadcast"]?.boolean(name: "broadcast", problems: &problems)
        return name.map {
            var topic = TopicConfiguration(name: $0, format: format ?? .byDefault, routes: routes ?? [])
            topic.place = ConfigurationPlace(origin)
            (topic.nullValues, topic.broadcast) = (nulls, broadcast ?? false)
            return topic
        }
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
            let mapping = ConfigurationMapping(self, what: "a file mapping", keys: Self.fileKeys, problems: &problems)
        else { return nil }
        let match = mapping.required("match", what: "a file mapping", problems: &problems)
        let format = mapping["format"]?.choice(EventFormat.self, name: "format", problems: &problems)
        let routes = mapping["routes"]?.routes(problems: &problems)
        let nulls = mapping["nullValues"]?.nullValues(problems: &problems) ?? []
        let delimiter = mapping["delimiter"]?.delimiter(problems: &problems)
        let quote = mapping["quote"]?.quote(problems: &problems)
        return match.map {
            var file = FileConfiguration(match: $0, format: format ?? .byDefault, routes: routes ?? [])
            file.place = ConfigurationPlace(origin)
            (file.nullValues, file.delimiter, file.quote) = (nulls, delimiter, quote ?? .double)
            return file
        }
    }

    /// Reads texts that stand for null; an empty one may be among them.
    private func nullValues(problems: inout ConfigurationProblems) -> [String] {
        guard case .sequence(let sequence) = node else {
            problems.wrongValue(self, name: "nullValues", expected: "a list of texts, such as [\"NA\", \"\"]")
            return []
        }
        return sequence.compactMap { item in
            if let text = child(item).text { return text }
            problems.wrongValue(child(item), name: "nullValues", expected: "a list of texts")
            return nil
        }
    }

    private func delimiter(problems: inout ConfigurationProblems) -> CSVDelimiter? {
        switch text {
        case ",", "comma": return .comma
        case ";", "semicolon": return .semicolon
        case "\t", "tab": return .tab
        case "|", "pipe": return .pipe
        default:
            problems.wrongValue(self, name: "delimiter", expected: "one of \",\", \";\", \"|\" and tab")
            return nil
        }
    }

    private func quote(problems: inout ConfigurationProblems) -> CSVQuote? {
        switch text {
        case "\"": return .double
        case "'": return .single
        case "none": return CSVQuote.none
        default:
            problems.wrongValue(self, name: "quote", expected: "one of '\"', \"'\" and none")
            return nil
        }
    }
}
