/// The shape of every error of this package: a stable code, a place, a message, a remedy, and whether trying again can help.
///
/// No part holds a secret. Only the reason of a value that cannot be decoded shows the beginning of that value.
public protocol CodedError: Error, Sendable, CustomStringConvertible {
    /// The type of ``code``: a text, or an enumeration of texts.
    associatedtype Code = String

    /// The kind of failure.
    var code: Code { get }
    /// The kind of failure as a text for scripts, logs and dead-letter records, such as `store.busy`.
    var stableCode: String { get }
    /// Whether the same call can succeed later without any change; false unless a type says otherwise.
    var isRetriable: Bool { get }
    /// Where the failure is, such as a file and line or a topic, partition and offset; nil where there is one place only.
    var location: String? { get }
    /// The failure, without a full stop at its end.
    var message: String { get }
    /// The remedy; empty where the message says it.
    var remedy: String { get }
}

extension CodedError {
    /// False: without a change the same call fails again.
    public var isRetriable: Bool { false }
    /// No place.
    public var location: String? { nil }
    /// No remedy beside the message.
    public var remedy: String { "" }

    /// The message behind the place.
    package var placedMessage: String { location.map { "\($0): \(message)" } ?? message }
    /// The message and the remedy, without place and code.
    package var explanation: String { remedy.isEmpty ? message : "\(message). \(remedy)" }

    /// The place, the message, the remedy and the code in one line.
    public var description: String {
        "\(placedMessage)\(remedy.isEmpty ? "" : ". \(remedy)") [\(stableCode)]"
    }
}

extension CodedError where Code == String {
    /// The code itself.
    public var stableCode: String { code }
}

extension CodedError where Code: RawRepresentable<String> {
    /// The code itself.
    public var stableCode: String { code.rawValue }
}
