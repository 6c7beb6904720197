import GraphCore
import KafkaClient
import RecordDecoding
import Yams

/// Is a YAML node that knows which source it came from.
struct ConfigurationNode {
    /// Where a node was written.
    enum Source {
        case file(path: String)
        case environment(name: String)
        case flag(key: String)
    }

    let node: Node
    let source: Source

    var origin: ConfigurationOrigin {
        switch source {
        case .file(let path): .file(path: path, line: node.mark?.line ?? 1, column: node.mark?.column ?? 1)
        case .environment(let name): .environment(name: name)
        case .flag(let key): .flag(key: key)
        }
    }

    func child(_ node: Node) -> ConfigurationNode {
        ConfigurationNode(node: node, source: source)
    }

    /// The text of a scalar, however it is quoted.
    var text: String? { node.scalar?.string }

    /// Whether the node says that there is no value: `null`, `~` or nothing, not in quotes.
    var isNull: Bool {
        guard let scalar = node.scalar, !isQuoted else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(scalar.string)
    }

    var isQuoted: Bool {
        guard let style = node.scalar?.style else { return false }
        return style == .doubleQuoted || style == .singleQuoted || style == .literal || style == .folded
    }

    /// The value in the form that a message may show: short, and never a secret's.
    func shown(name: String) -> String {
        switch node {
        case .mapping: return "a mapping"
        case .sequence: return "a list"
        case .alias: return "an alias"
        case .scalar(let scalar):
            if SecretName.matches(name) { return SecretName.replacement }
            if isNull { return "empty" }
            let short = scalar.string.count > 60 ? scalar.string.prefix(57) + "..." : scalar.string[...]
            return "\"\(short)\""
        }
    }
}

/// Collects mistakes, so that the program reports all of them at once.
struct ConfigurationProblems {
    private(set) var list: [ConfigurationProblem] = []

    mutating func add(
        _ code: ConfigurationProblem.Code, at origin: ConfigurationOrigin, _ message: String,
        suggestion: String? = nil, remedy: String
    ) {
        list.append(
            ConfigurationProblem(code: code, origin: origin, message: message, suggestion: suggestion, remedy: remedy))
    }

    mutating func wrongValue(_ value: ConfigurationNode, name: String, expected: String) {
        let shown = value.shown(name: name)
        add(
            .invalidValue, at: value.origin, "\(name) is \(shown), which is not \(expected)",
            remedy: "Give it \(expected), or leave it out.")
    }
}

extension ConfigurationNode {
    /// Reads text that is not empty.
    func requiredText(name: String, problems: inout ConfigurationProblems) -> String? {
        guard let text, !isNull, !text.isEmpty else {
            problems.wrongValue(self, name: name, expected: "text")
            return nil
        }
        return text
    }

    /// Reads one of the cases of an enumeration, in any case of letters.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ type: Choice.Type, name: String, problems: inout ConfigurationProblems
    ) -> Choice? {
        let wanted = text?.lowercased()
        if let match = Choice.allCases.first(where: { $0.rawValue.lowercased() == wanted }) { return match }
        let names = Choice.allCases.map(\.rawValue)
        problems.add(
            .invalidValue, at: origin,
            "\(name) is \(shown(name: name)), which is not one of \(names.joined(separator: ", "))",
            suggestion: wanted.flatMap { ClosestName.find($0, among: names) },
            remedy: "Use one of the names.")
        return nil
    }

    /// Reads a whole number in a range.
    func integer(
        in range: ClosedRange<Int>, name: String, expected: String, problems: inout ConfigurationProblems
    ) -> Int? {
        guard let text, let value = Int(text), range.contains(value) else {
            problems.wrongValue(self, name: name, expected: expected)
            return nil
        }
        return value
    }

    /// Reads true or false.
    func boolean(name: String, problems: inout ConfigurationProblems) -> Bool? {
        switch text?.lowercased() {
        case "true", "yes", "on", "1": return true
        case "false", "no", "off", "0": return false
        default:
            problems.wrongValue(self, name: name, expected: "true or false")
            return nil
        }
    }

    /// Reads a list of texts; one text is a list of one.
    func texts(name: String, problems: inout ConfigurationProblems) -> [String]? {
        if case .sequence(let sequence) = node {
            return sequence.compactMap { child($0).requiredText(name: name, problems: &problems) }
        }
        return requiredText(name: name, problems: &problems).map { [$0] }
    }

    /// Reads a scalar with the type that YAML gives it.
    var scalarValue: ConfigurationScalar? {
        guard let scalar = node.scalar else { return nil }
        if isQuoted { return .string(scalar.string) }
        if isNull { return .null }
        switch scalar.string {
        case "true", "True", "TRUE": return .boolean(true)
        case "false", "False", "FALSE": return .boolean(false)
        default: break
        }
        // A number that would read otherwise stays as it is written: 007 and 1.50 as texts, 38 digits as a decimal.
        if let integer = Int64(scalar.string), String(integer) == scalar.string { return .integer(integer) }
        if let first = scalar.string.utf8.first, first == UInt8(ascii: "-") || (0x30...0x39).contains(first),
            let double = Double(scalar.string), "\(double)" == scalar.string
        {
            return .double(double)
        }
        return .string(scalar.string)
    }
}
