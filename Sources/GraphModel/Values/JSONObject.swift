/// A value that a JSON object can hold.
package protocol JSONWritable {
    /// The value as JSON.
    var json: String { get }
}

/// A JSON object whose members keep their order.
package struct JSONObject: JSONWritable {
    private var members: [String] = []

    /// Makes an object; a member without a value is null.
    package init(_ members: KeyValuePairs<String, any JSONWritable> = [:]) {
        self.members = members.map { "\($0.json):\($1.json)" }
    }

    /// Adds a member, unless it has no value.
    package mutating func add<Member: JSONWritable>(_ name: String, _ value: Member?) {
        if let value { members.append("\(name.json):\(value.json)") }
    }

    /// Makes an object of the members of both.
    package static func + (first: JSONObject, second: JSONObject) -> JSONObject {
        var joined = first
        joined.members += second.members
        return joined
    }

    package var json: String { "{\(members.joined(separator: ","))}" }
}

/// JSON that is written already.
package struct JSONFragment: JSONWritable {
    package let json: String

    package init(_ json: String) { self.json = json }
}

extension String: JSONWritable {
    package var json: String { JSONText.string(self) }
}

extension JSONWritable where Self: LosslessStringConvertible {
    package var json: String { description }
}

extension Bool: JSONWritable {}
extension Double: JSONWritable {}
extension Int: JSONWritable {}
extension Int32: JSONWritable {}
extension Int64: JSONWritable {}

extension Optional: JSONWritable where Wrapped: JSONWritable {
    package var json: String { map { $0.json } ?? "null" }
}

extension Array: JSONWritable where Element: JSONWritable {
    package var json: String { "[\(map { $0.json }.joined(separator: ","))]" }
}

extension Dictionary: JSONWritable where Key == String, Value: JSONWritable {
    /// The members in the order of their names.
    package var json: String {
        "{\(sorted { $0.key < $1.key }.map { "\($0.key.json):\($0.value.json)" }.joined(separator: ","))}"
    }
}

extension AttributeType {
    /// Returns a stored value as ``appendJSON(_:to:)`` writes it.
    package func json(_ value: Value) -> JSONFragment {
        var text = ""
        appendJSON(value, to: &text)
        return JSONFragment(text)
    }
}
