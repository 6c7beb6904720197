import GraphCore

/// The meaning of a field's schema beyond JSON's kinds: Kafka Connect's logical types and Debezium's semantic ones.
///
/// Source: org.apache.kafka.connect.data (Date, Time, Timestamp, Decimal) and Debezium's io.debezium.time and
/// io.debezium.data.
package enum LogicalType: Equatable {
    /// Nothing: the value is what JSON says.
    case plain
    /// A count of units since 1970 UTC.
    case instant(TimeUnit)
    /// A count of units since midnight.
    case timeOfDay(TimeUnit)
    /// A text that is an instant.
    case instantText
    /// Base64, which is no number even where it looks like one.
    case bytes
    /// Base64 of a big-endian number in two's complement, with the digits behind the point.
    case decimal(scale: Int)
    /// An object of `scale` and `value`.
    case scaledDecimal
    /// A text that holds JSON.
    case json

    /// Reads a field's schema.
    package init(_ schema: JSONValue) {
        var type, found: JSONValue?
        for (key, value) in schema.members where key.count == 4 {
            let key = UnsafeRawBufferPointer(key)
            if key.hasSameBytes(as: "name") { found = value } else if key.hasSameBytes(as: "type") { type = value }
        }
        guard let name = found?.string else {
            let isBytes = type?.utf8.map { UnsafeRawBufferPointer($0).hasSameBytes(as: "bytes") } ?? false
            self = isBytes ? .bytes : .plain
            return
        }
        switch name {
        case "org.apache.kafka.connect.data.Timestamp", "io.debezium.time.Timestamp": self = .instant(.milliseconds)
        case "io.debezium.time.MicroTimestamp": self = .instant(.microseconds)
        case "io.debezium.time.NanoTimestamp": self = .instant(.nanoseconds)
        case "org.apache.kafka.connect.data.Date", "io.debezium.time.Date": self = .instant(.days)
        case "org.apache.kafka.connect.data.Time", "io.debezium.time.Time": self = .timeOfDay(.milliseconds)
        case "io.debezium.time.MicroTime": self = .timeOfDay(.microseconds)
        case "io.debezium.time.NanoTime": self = .timeOfDay(.nanoseconds)
        case "io.debezium.time.ZonedTimestamp", "io.debezium.time.IsoTimestamp": self = .instantText
        case "org.apache.kafka.connect.data.Decimal": self = .decimal(scale: Self.scale(schema))
        case "io.debezium.data.VariableScaleDecimal": self = .scaledDecimal
        case "io.debezium.data.Json": self = .json
        default: self = .plain
        }
    }

    /// Tells whether a value has the form of the schema, so that JSON alone does not say what it means.
    func governs(_ json: JSONValue) -> Bool {
        switch self {
        case .plain, .instantText, .json: false
        case .bytes, .decimal: json.kind == .string
        case .scaledDecimal: json.kind == .object
        case .instant, .timeOfDay: json.int64 != nil
        }
    }

    private static func scale(_ schema: JSONValue) -> Int {
        guard let scale = schema.member("parameters")?.member("scale") else { return 0 }
        return scale.string.flatMap { Int($0) } ?? scale.int64.flatMap { Int(exactly: $0) } ?? 0
    }
}

/// The schemas of a struct's fields, found in step with the struct's members: both stand in one order as a rule.
package struct SchemaFields {
    private let list: JSONValue
    private var next: JSONValue.Elements
    /// Where the order differs: each field's place, made once.
    private var byName: [Value: JSONValue]?

    /// Reads a struct's schema; nil where it lists no fields.
    package init?(_ schema: JSONValue?) {
        guard let list = schema?.member("fields"), list.kind == .array else { return nil }
        self.list = list
        next = list.elements
    }

    /// Returns the schema of the member with this name, or nil where there is none.
    package mutating func schema(of name: UnsafeBufferPointer<UInt8>) -> JSONValue? {
        if byName == nil {
            if let candidate = next.next(), let field = candidate.member("field")?.utf8, field.elementsEqual(name) {
                return candidate
            }
            var found: [Value: JSONValue] = [:]
            for schema in list.elements {
                if let field = schema.member("field")?.string { found[.text(field)] = schema }
            }
            byName = found
        }
        return byName?[.text(String(decoding: name, as: UTF8.self))]
    }

    /// Returns the schema of a struct's field, apart from the order, or of a map's values.
    static func schema(of name: some Collection<UInt8>, in schema: JSONValue?) -> JSONValue? {
        guard let fields = schema?.member("fields") else { return schema?.member("values") }
        return fields.elements.first { $0.member("field")?.utf8?.elementsEqual(name) ?? false }
    }
}

extension SchemaFields {
    /// Removes the schema wrapper of Kafka Connect's JSON converter, where there is one.
    package static func unwrapped(_ root: JSONValue) -> (payload: JSONValue, schema: JSONValue?) {
        guard root.count == 2, let schema = root.member("schema"), let payload = root.member("payload") else {
            return (root, nil)
        }
        return (payload, schema)
    }
}
