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
    let isSecret: Bool
    let assign: @Sendable (ConfigurationNode, inout WorkerConfiguration, inout ConfigurationProblems) -> Void
    let render: @Sendable (WorkerConfiguration) -> String
    /// Compares two configurations: the text may hide a difference.
    let differs: @Sendable (WorkerConfiguration, WorkerConfiguration) -> Bool

    /// Makes a setting that stands at one place of the configuration.
    ///
    /// - Parameters:
    ///   - show: returns the value as text, without a secret.
    ///   - read: returns the value of a node; nil, with a problem, where it is wrong.
    init<Value: Equatable & Sendable>(
        _ path: String, _ place: ConfigurationPath<Value>, _ summary: String, expected: String,
        schema: SettingSchema, isList: Bool = false, isSecret: Bool = false,
        show: @escaping @Sendable (Value) -> String,
        read: @escaping @Sendable (ConfigurationNode, inout ConfigurationProblems) -> Value?
    ) {
        (self.path, self.summary, self.expected) = (path, summary, expected)
        (self.schema, self.isList, self.isSecret) = (schema, isList, isSecret)
        assign = { node, configuration, problems in
            if let value = read(node, &problems) { configuration[keyPath: place] = value }
        }
        render = { show($0[keyPath: place]) }
        differs = { $0[keyPath: place] != $1[keyPath: place] }
    }

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
    static func text(_ path: String, _ place: ConfigurationPath<String>, _ summary: String) -> Self {
        Self(path, place, summary, expected: "text", schema: .string, show: { $0 }) { node, problems in
            node.requiredText(name: path, problems: &problems)
        }
    }

    static func optionalText(_ path: String, _ place: ConfigurationPath<String?>, _ summary: String) -> Self {
        Self(
            path, place, summary, expected: "text or null", schema: .optionalString, show: { $0 ?? "null" }
        ) { node, problems in
            node.isNull ? .some(nil) : node.requiredText(name: path, problems: &problems).map(Optional.some)
        }
    }

    static func integer(
        _ path: String, _ place: ConfigurationPath<Int>, _ range: ClosedRange<Int>, _ summary: String
    ) -> Self {
        let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        return Self(
            path, place, summary, expected: expected, schema: .integer(range), show: { String($0) }
        ) { node, problems in
            node.integer(in: range, name: path, expected: expected, problems: &problems)
        }
    }

    static func boolean(_ path: String, _ place: ConfigurationPath<Bool>, _ summary: String) -> Self {
        Self(
            path, place, summary, expected: "true or false", schema: .boolean, show: { String($0) }
        ) { node, problems in
            node.boolean(name: path, problems: &problems)
        }
    }

    static func choice<Choice: RawRepresentable<String> & CaseIterable & Equatable & Sendable>(
        _ path: String, _ place: ConfigurationPath<Choice>, _ summary: String
    ) -> Self {
        let names = Choice.allCases.map(\.rawValue)
        return Self(
            path, place, summary, expected: "one of " + names.joined(separator: ", "), schema: .choice(names),
            show: { $0.rawValue }
        ) { node, problems in
            node.choice(Choice.self, name: path, problems: &problems)
        }
    }

    static let topics = Self(
        "topics", \.topics, "The topics to consume: names, or {name, format, routes}.",
        expected: "a list of names or {name, format, routes}", schema: .list(of: .topic), isList: true,
        show: { "[" + $0.map(\.summary).joined(separator: ", ") + "]" }
    ) { node, problems in
        node.topics(problems: &problems)
    }

    static let routes = Self(
        "routes", \.routes, "The routes of all topics and files, tried after their own.",
        expected: "a list of routes", schema: .list(of: .reference("route")), isList: true, show: { "\($0.count)" }
    ) { node, problems in
        node.routes(problems: &problems)
    }

    static let files = Self(
        "files", \.files, "How replayed files are read, by name: {match, format, routes}; the first match wins.",
        expected: "a list of {match, format, routes}", schema: .list(of: .file), isList: true,
        show: { "[" + $0.map(\.summary).joined(separator: ", ") + "]" }
    ) { node, problems in
        node.files(problems: &problems)
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
