import GraphCore
import Logging

/// Describes one setting: its name, its meaning, and how it is read and shown.
public struct ConfigurationKey: Sendable {
    /// The dotted name, as in `store.path`.
    public let path: String
    /// The meaning of the setting, in a few sentences.
    public let summary: String
    /// The values that it takes, as in `a whole number from 1 to 100`.
    public let expected: String

    /// The shape of the value in a file.
    let schema: SettingSchema
    /// Whether values from flags and variables are YAML lists, and not plain text.
    let isList: Bool
    /// Whether no description shows the value, and a variable that ends in `_FILE` may name its file.
    let isSecret: Bool
    /// Whether a running worker takes another value.
    let reload: ReloadRule
    /// Lines that the file of all settings has below the meaning.
    let example: [String]
    let assign: @Sendable (ConfigurationNode, inout WorkerConfiguration, inout ConfigurationProblems) -> Void
    let render: @Sendable (WorkerConfiguration) -> String
    /// Compares two configurations: the text may hide a difference.
    let differs: @Sendable (WorkerConfiguration, WorkerConfiguration) -> Bool
    /// Gives the first configuration the value of the second one.
    let copy: @Sendable (inout WorkerConfiguration, WorkerConfiguration) -> Void

    /// Makes a setting that stands at one place of the configuration.
    ///
    /// - Parameters:
    ///   - show: returns the value as text, without a secret.
    ///   - read: returns the value of a node; nil, with a problem, where it is wrong.
    init<Value: Equatable & Sendable>(
        _ path: String, _ place: ConfigurationPath<Value>, _ summary: String, expected: String,
        schema: SettingSchema, isList: Bool = false, isSecret: Bool = false, reload: ReloadRule = .restart,
        example: [String] = [], show: @escaping @Sendable (Value) -> String,
        read: @escaping @Sendable (ConfigurationNode, inout ConfigurationProblems) -> Value?
    ) {
        (self.path, self.summary, self.expected) = (path, summary, expected)
        (self.schema, self.isList, self.isSecret) = (schema, isList, isSecret)
        (self.reload, self.example) = (reload, example)
        assign = { node, configuration, problems in
            if let value = read(node, &problems) { configuration[keyPath: place] = value }
        }
        render = { show($0[keyPath: place]) }
        differs = { $0[keyPath: place] != $1[keyPath: place] }
        copy = { $0[keyPath: place] = $1[keyPath: place] }
    }

    /// The name inside the section.
    var name: Substring { path.firstIndex(of: ".").map { path[path.index(after: $0)...] } ?? path[...] }

    /// The default as JSON, which YAML reads too.
    var defaultJSON: String {
        let text = render(WorkerConfiguration())
        if ["null", "true", "false", "[]"].contains(text) || Int(text) != nil { return text }
        guard isList else { return JSONText.string(text) }
        let names = text.dropFirst().dropLast().split(separator: ",")
        return "[" + names.map { JSONText.string($0.trimmed) }.joined(separator: ", ") + "]"
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

/// Says whether a running worker takes another value of a setting.
enum ReloadRule: Sendable, Equatable {
    /// The value needs a restart.
    case restart
    /// The worker takes the value.
    case taken
    /// The worker takes the value while it names the same topics.
    case takenForSameTopics

    /// The words for pages and files.
    var text: String {
        switch self {
        case .restart: "restart"
        case .taken: "reload"
        case .takenForSameTopics: "reload, but restart for another list of topics"
        }
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
        _ path: String, _ place: ConfigurationPath<Int>, _ range: ClosedRange<Int>, reload: ReloadRule = .restart,
        _ summary: String
    ) -> Self {
        let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        return Self(
            path, place, summary, expected: expected, schema: .integer(range), reload: reload, show: { String($0) }
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
        _ path: String, _ place: ConfigurationPath<Choice>, reload: ReloadRule = .restart, _ summary: String
    ) -> Self {
        let names = Choice.allCases.map(\.rawValue)
        return Self(
            path, place, summary, expected: "one of " + names.joined(separator: ", "), schema: .choice(names),
            reload: reload, show: { $0.rawValue }
        ) { node, problems in
            node.choice(Choice.self, name: path, problems: &problems)
        }
    }
}
