import GraphCore
import RecordDecoding

/// Describes one mistake in a configuration.
public struct ConfigurationProblem: Sendable, Equatable, CustomStringConvertible {
    /// The kind of mistake; the raw value is stable.
    public enum Code: String, Sendable {
        /// A file cannot be read.
        case unreadable = "config.unreadable"
        /// A file or value is not YAML.
        case syntax = "config.syntax"
        /// A key is not known.
        case unknownKey = "config.unknown_key"
        /// A key stands twice.
        case duplicateKey = "config.duplicate_key"
        /// A required key is absent.
        case missingKey = "config.missing_key"
        /// A value has the wrong type or is out of range.
        case invalidValue = "config.invalid_value"
        /// Two values exclude one another.
        case conflict = "config.conflict"
    }

    /// The kind of mistake.
    public var code: Code
    /// Where the mistake is.
    public var origin: ConfigurationOrigin
    /// The mistake. Never holds a secret.
    public var message: String
    /// The closest known name, when there is one.
    public var suggestion: String?
    /// The remedy.
    public var remedy: String

    /// Says where, what, and what to do, in one line.
    public var description: String {
        let hint = suggestion.map { "; did you mean \"\($0)\"?" } ?? "."
        return "\(origin): \(message)\(hint) \(remedy)"
    }
}

/// Lists everything that is wrong with a configuration.
public struct ConfigurationError: CodedError, Equatable {
    /// The mistakes; the file's come first, in its order.
    public let problems: [ConfigurationProblem]

    /// The stable code of the error.
    public var code: String { "config.invalid" }
    /// The message.
    public var description: String { message }

    /// Lists the mistakes, a line each, with place and remedy.
    public var message: String {
        let count = counted(problems.count, "problem")
        return (["The configuration has \(count):"] + problems.map { "  \($0)" }).joined(separator: "\n")
    }
}
