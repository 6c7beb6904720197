import Logging

/// Describes one setting: its name, its meaning, and how it is read and shown.
public struct ConfigurationKey: Sendable {
    /// The dotted name, as in `store.path`.
    public let path: String
    /// The meaning of the setting, in one line.
    public let summary: String
    /// The values that it takes, as in `a whole number from 1 to 100`.
    public let expected: String

    /// The shape of the value in a file.
    let schema: SettingSchema
    /// Whether values from flags and variables are YAML lists, and not plain text.
    let isList: Bool
    /// Whether no description shows the value, and a variable that ends in `_FILE` may name its file.
    var isSecret = false
    let assign: @Sendable (ConfigurationNode, inout WorkerConfiguration, inout ConfigurationProblems) -> Void
    let render: @Sendable (WorkerConfiguration) -> String

    /// The environment variable that sets the key, as in `INGEST_STORE_PATH`.
    public var variable: String {
        var name = "INGEST_"
        for character in path {
            if character == "." {
                name += "_"
            } else if character.isUppercase {
                name += "_\(character)"
            } else {
                name += character.uppercased()
            }
        }
        return name
    }
}

typealias ConfigurationPath<Value> = WritableKeyPath<WorkerConfiguration, Value> & Sendable

extension ConfigurationKey {
    static func text(_ path: String, _ value: ConfigurationPath<String>, _ summary: String) -> Self {
        Self(path: path, summary: summary, expected: "text", schema: .string, isList: false) {
            node, configuration, problems in
            guard let text = node.requiredText(name: path, problems: &problems) else { return }
            configuration[keyPath: value] = text
        } render: { configuration in
            configuration[keyPath: value]
        }
    }

    static func optionalText(_ path: String, _ value: ConfigurationPath<String?>, _ summary: String) -> Self {
        Self(path: path, summary: summary, expected: "text or null", schema: .optionalString, isList: false) {
            node, configuration, problems in
            if node.isNull {
                configuration[keyPath: value] = nil
            } else if let text = node.requiredText(name: path, problems: &problems) {
                configuration[keyPath: value] = text
            }
        } render: { configuration in
            configuration[keyPath: value] ?? "null"
        }
    }

    static func integer(
        _ path: String, _ value: ConfigurationPath<Int>, _ range: ClosedRange<Int>, _ summary: String
    ) -> Self {
        let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        return Self(path: path, summary: summary, expected: expected, schema: .integer(range), isList: false) {
            node, configuration, problems in
            guard let number = node.integer(in: range, name: path, expected: expected, problems: &problems) else {
                return
            }
            configuration[keyPath: value] = number
        } render: { configuration in
            String(configuration[keyPath: value])
        }
    }

    static func boolean(_ path: String, _ value: ConfigurationPath<Bool>, _ summary: String) -> Self {
        Self(path: path, summary: summary, expected: "true or false", schema: .boolean, isList: false) {
            node, configuration, problems in
            guard let flag = node.boolean(name: path, problems: &problems) else { return }
            configuration[keyPath: value] = flag
        } render: { configuration in
            String(configuration[keyPath: value])
        }
    }

    static func choice<Choice: RawRepresentable<String> & CaseIterable & Sendable>(
        _ path: String, _ value: ConfigurationPath<Choice>, _ summary: String
    ) -> Self {
        let names = Choice.allCases.map(\.rawValue)
        let expected = "one of " + names.joined(separator: ", ")
        return Self(path: path, summary: summary, expected: expected, schema: .choice(names), isList: false) {
            node, configuration, problems in
            guard let choice = node.choice(Choice.self, name: path, problems: &problems) else { return }
            configuration[keyPath: value] = choice
        } render: { configuration in
            configuration[keyPath: value].rawValue
        }
    }

    static let topics = Self(
        path: "topics", summary: "The topics to consume: names, or {name, format, routes}.",
        expected: "a list of names or {name, format, routes}", schema: .list(of: .topic), isList: true
    ) { node, configuration, problems in
        guard let topics = node.topics(problems: &problems) else { return }
        configuration.topics = topics
    } render: { configuration in
        "[" + configuration.topics.map(\.summary).joined(separator: ", ") + "]"
    }

    static let routes = Self(
        path: "routes", summary: "The routes of all topics and files, tried after their own.",
        expected: "a list of routes", schema: .list(of: .reference("route")), isList: true
    ) { node, configuration, problems in
        configuration.routes = node.routes(problems: &problems)
    } render: { configuration in
        "\(configuration.routes.count)"
    }

    static let files = Self(
        path: "files", summary: "How replayed files are read, by name: {match, format, routes}; the first match wins.",
        expected: "a list of {match, format, routes}", schema: .list(of: .file), isList: true
    ) { node, configuration, problems in
        guard let files = node.files(problems: &problems) else { return }
        configuration.files = files
    } render: { configuration in
        "[" + configuration.files.map(\.summary).joined(separator: ", ") + "]"
    }
}

extension TopicConfiguration {
    fileprivate var summary: String {
        format == .byDefault && routes.isEmpty
            ? name : "{name: \(name), format: \(format.rawValue), routes: \(routes.count)}"
    }
}

extension FileConfiguration {
    fileprivate var summary: String { "{match: \"\(match)\", format: \(format.rawValue), routes: \(routes.count)}" }
}
