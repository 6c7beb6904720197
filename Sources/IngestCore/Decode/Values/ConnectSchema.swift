import ObjectGraph

/// The meaning of a field's schema beyond JSON's kinds: Kafka Connect's logical types and Debezium's semantic ones.
///
/// Source: org.apache.kafka.connect.data (Date, Time, Timestamp, Decimal) and Debezium's io.debezium.time and
/// io.debezium.data.
enum LogicalType: Equatable {
    /// Nothing: the value is what JSON says.
    case plain
    /// A count of units since 1970 UTC.
    case instant(TimeUnit)
    /// A count of units since midnight.
    case timeOfDay(TimeUnit)
    /// A text that is an instant.
    case instantText
    /// Base64 of a big-endian number in two's complement, with the digits behind the point.
    case decimal(scale: Int)
    /// An object of `scale` and `value`.
    case scaledDecimal
    /// A text that holds JSON.
    case json

    /// Reads a field's schema.
    init(_ schema: JSONValue) {
        guard let name = schema.member("name")?.string else {
            self = .plain
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

    private static func scale(_ schema: JSONValue) -> Int {
        guard let scale = schema.member("parameters")?.member("scale") else { return 0 }
        return scale.string.flatMap { Int($0) } ?? scale.int64.flatMap { Int(exactly: $0) } ?? 0
    }
}

/// The schemas of a struct's fields, found in step with the struct's members: both stand in one order as a rule.
struct SchemaFields {
    private let list: JSONValue
    private var next: JSONValue.Elements
    /// Where the order differs: each field's place, made once.
    private var byName: [String: JSONValue]?

    /// Reads a struct's schema; nil where it lists no fields.
    init?(_ schema: JSONValue?) {
        guard let list = schema?.member("fields"), list.kind == .array else { return nil }
        self.list = list
        next = list.elements
    }

    /// Returns the schema of the member with this name, or nil where there is none.
    mutating func schema(of name: UnsafeBufferPointer<UInt8>) -> JSONValue? {
        if byName == nil {
            if let candidate = next.next(), let field = candidate.member("field")?.utf8, field.elementsEqual(name) {
                return candidate
            }
            var found: [String: JSONValue] = [:]
            for schema in list.elements {
                if let field = schema.member("field")?.string { found[field] = schema }
            }
            byName = found
        }
        return byName?[String(decoding: name, as: UTF8.self)]
    }

    /// Returns the schema at a path that begins at a struct, or nil where there is none.
    static func schema(at path: RecordPath, in schema: JSONValue?) -> JSONValue? {
        var schema = schema
        for step in path.steps {
            switch step {
            case .key(let name): schema = Self.schema(of: name, in: schema)
            case .index: schema = schema?.member("items")
            }
        }
        return schema
    }

    /// Returns the schema of a field, apart from the order.
    static func schema(of name: some Collection<UInt8>, in schema: JSONValue?) -> JSONValue? {
        schema?.member("fields")?.elements.first { $0.member("field")?.utf8?.elementsEqual(name) ?? false }
    }
}
