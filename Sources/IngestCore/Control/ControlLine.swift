import GraphCore
import RecordDecoding

/// The lines of the control channel: one JSON object each, with the version of the protocol.
package enum ControlLine {
    static let version: Int64 = 1
    /// The longest line, in bytes.
    package static let maximumBytes = 1 << 20
    private static let maximumDepth = 16

    /// Calls `body` with a line's object, which is valid until it returns.
    ///
    /// - Throws: ``ControlError``, and what `body` throws.
    static func read<Result>(_ line: [UInt8], _ body: (JSONValue) throws -> Result) throws -> Result {
        try withObject(line) { root in
            guard root.member("version")?.int64 == version else {
                throw ControlError(
                    .version, "The other end of the control channel speaks another version than \(version)",
                    remedy: "Use the program that the worker runs")
            }
            return try body(root)
        }
    }

    /// Calls `body` with the object of a text, which is valid until it returns.
    ///
    /// - Throws: ``ControlError``, and what `body` throws.
    package static func withObject<Result>(_ text: [UInt8], _ body: (JSONValue) throws -> Result) throws -> Result {
        do {
            let parser = JSONParser(depthLimit: maximumDepth, maximumBytes: maximumBytes)
            return try text.withUnsafeBytes { bytes in
                try parser.withValue(of: bytes) { root in
                    guard root.kind == .object else { throw ControlError.malformed("it is no JSON object") }
                    return try body(root)
                }
            }
        } catch let error as JSONError {
            throw ControlError.malformed("\(error.code)")
        }
    }

    /// Returns a line with these members behind the version.
    static func text(_ members: KeyValuePairs<String, any JSONWritable>) -> [UInt8] {
        var object = JSONObject(["version": version])
        for (name, value) in members { object.add(name, JSONFragment(value.json)) }
        return [UInt8]("\(object.json)\n".utf8)
    }
}

/// The arguments of a request, taken by name. An argument that nobody takes is refused: an unknown condition must not
/// be left out.
struct ControlArguments {
    private var members: [String: JSONValue] = [:]

    init(_ object: JSONValue?) throws(ControlError) {
        guard let object, object.kind == .object else { throw .malformed("'arguments' is no object") }
        for (name, value) in object.members { members[String(decoding: name, as: UTF8.self)] = value }
    }

    /// Removes and returns an argument, or nil where it is not given.
    mutating func take<Value>(_ name: String, _ read: (JSONValue) -> Value?) throws(ControlError) -> Value? {
        guard let json = members.removeValue(forKey: name) else { return nil }
        guard let value = read(json) else { throw .malformed("the argument '\(name)' has a wrong type") }
        return value
    }

    /// Removes and returns an argument that has to be there.
    mutating func need<Value>(_ name: String, _ read: (JSONValue) -> Value?) throws(ControlError) -> Value {
        guard let value = try take(name, read) else { throw .malformed("the argument '\(name)' is missing") }
        return value
    }

    /// Refuses arguments that were not taken.
    func end() throws(ControlError) {
        guard let name = members.keys.min() else { return }
        throw ControlError(
            .unknown, "The worker does not know the argument '\(name.prefix(40))'",
            remedy: "Nothing was changed. Use the program that the worker runs, or restart it with the newer one")
    }
}
