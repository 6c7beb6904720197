struct AvroSchemaParser {
    let limits: AvroLimits
    var nodes: [AvroSchema.Node] = []
    private var named: [String: Int] = [:]

    init(limits: AvroLimits) { self.limits = limits }

    mutating func parse(_ value: Any, namespace: String, depth: Int) throws(AvroError) -> Int {
        guard depth < limits.depth else { throw .limit("depth") }
        if let name = value as? String { return try reference(name, namespace: namespace) }
        if let branches = value as? [Any] {
            var types: [Int] = []
            for branch in branches {
                types.append(try parse(branch, namespace: namespace, depth: depth + 1))
            }
            return try add(.union(types))
        }
        guard let object = value as? [String: Any], let type = object["type"] else {
            throw .schema("a type is neither a name, a list nor an object with a type")
        }
        guard let name = type as? String else { return try parse(type, namespace: namespace, depth: depth + 1) }
        switch name {
        case "array", "map":
            guard let element = object[name == "array" ? "items" : "values"] else {
                throw .schema("\(name) names no type of its elements")
            }
            let index = try parse(element, namespace: namespace, depth: depth + 1)
            return try add(name == "array" ? .array(index) : .map(index))
        case "record", "error", "enum", "fixed":
            return try parseNamed(object, type: name, namespace: namespace, depth: depth)
        default:
            let index = try reference(name, namespace: namespace)
            guard let logical = logical(object, of: nodes[index].kind) else { return index }
            return try add(nodes[index].kind, logical)
        }
    }

    private mutating func parseNamed(
        _ object: [String: Any], type: String, namespace: String, depth: Int
    ) throws(AvroError) -> Int {
        guard let name = object["name"] as? String, !name.isEmpty else { throw .schema("\(type) has no name") }
        let inner: String
        if let dot = name.lastIndex(of: ".") {
            inner = String(name[..<dot])
        } else {
            inner = object["namespace"] as? String ?? namespace
        }
        let full = name.contains(".") || inner.isEmpty ? name : "\(inner).\(name)"
        guard named[full] == nil else { throw .schema("\(full) is defined twice") }
        let index = try add(.null)
        named[full] = index
        switch type {
        case "enum":
            guard let symbols = object["symbols"] as? [String] else { throw .schema("\(full) has no symbols") }
            nodes[index].kind = .enumeration(symbols)
        case "fixed":
            guard let size = object["size"] as? Int, size >= 0 else { throw .schema("\(full) has no size") }
            nodes[index].kind = .fixed(size: size)
            nodes[index].logical = logical(object, of: nodes[index].kind)
        default:
            nodes[index].kind = .record(try fields(object, of: full, namespace: inner, depth: depth))
            nodes[index].logical = connectType(object, of: nodes[index].kind)
        }
        return index
    }

    private mutating func fields(
        _ object: [String: Any], of name: String, namespace: String, depth: Int
    ) throws(AvroError) -> [AvroSchema.Field] {
        guard let list = object["fields"] as? [Any] else { throw .schema("\(name) has no fields") }
        var fields: [AvroSchema.Field] = []
        for element in list {
            guard let field = element as? [String: Any], let fieldName = field["name"] as? String,
                let type = field["type"]
            else { throw .schema("a field of \(name) has no name or no type") }
            let index = try parse(type, namespace: namespace, depth: depth + 1)
            fields.append(AvroSchema.Field(name: fieldName, type: index))
        }
        return fields
    }

    private mutating func reference(_ name: String, namespace: String) throws(AvroError) -> Int {
        let primitives: [String: AvroSchema.Kind] = [
            "null": .null, "boolean": .boolean, "int": .int, "long": .long, "float": .float, "double": .double,
            "bytes": .bytes, "string": .string,
        ]
        if let kind = primitives[name] { return try add(kind) }
        let full = name.contains(".") || namespace.isEmpty ? name : "\(namespace).\(name)"
        guard let index = named[full] ?? named[name] else { throw .schema("\(name) is not defined") }
        return index
    }

    private mutating func add(
        _ kind: AvroSchema.Kind, _ logical: AvroSchema.Logical? = nil
    ) throws(AvroError) -> Int {
        guard nodes.count < limits.schemaTypes else { throw .limit("schemaTypes") }
        nodes.append(AvroSchema.Node(kind: kind, logical: logical))
        return nodes.count - 1
    }

    /// As the specification asks, a logical type that does not fit its type is ignored.
    private func logical(_ object: [String: Any], of kind: AvroSchema.Kind) -> AvroSchema.Logical? {
        guard let name = object["logicalType"] as? String else { return connectType(object, of: kind) }
        switch (name, kind) {
        case ("decimal", .bytes), ("decimal", .fixed):
            let scale = object["scale"] as? Int ?? 0
            guard let precision = object["precision"] as? Int, precision > 0, precision <= 300,
                (0...precision).contains(scale)
            else { return connectType(object, of: kind) }
            return .decimal(scale: scale)
        case ("date", .int): return .date
        case ("duration", .fixed(size: 12)): return .duration
        case ("uuid", .string), ("uuid", .fixed(size: 16)): return .uuid
        case ("time-millis", .int): return .time(digits: 3)
        case ("time-micros", .long): return .time(digits: 6)
        case ("timestamp-millis", .long): return .timestamp(digits: 3, isLocal: false)
        case ("timestamp-micros", .long): return .timestamp(digits: 6, isLocal: false)
        case ("timestamp-nanos", .long): return .timestamp(digits: 9, isLocal: false)
        case ("local-timestamp-millis", .long): return .timestamp(digits: 3, isLocal: true)
        case ("local-timestamp-micros", .long): return .timestamp(digits: 6, isLocal: true)
        case ("local-timestamp-nanos", .long): return .timestamp(digits: 9, isLocal: true)
        default: return nil
        }
    }

    /// The types that Kafka Connect and Debezium name in a property of their own.
    ///
    /// Source: Debezium's documentation of its connectors, "Data type mappings".
    private func connectType(_ object: [String: Any], of kind: AvroSchema.Kind) -> AvroSchema.Logical? {
        switch (object["connect.name"] as? String, kind) {
        case ("org.apache.kafka.connect.data.Decimal", .bytes), ("org.apache.kafka.connect.data.Decimal", .fixed):
            let parameters = object["connect.parameters"] as? [String: Any]
            let stated = (parameters?["scale"] as? String).flatMap { Int($0) } ?? object["scale"] as? Int
            guard let scale = stated, (-AvroText.largestScale...AvroText.largestScale).contains(scale) else {
                return nil
            }
            return .connectDecimal(scale: scale)
        case ("io.debezium.time.Date", .int): return .date
        case ("io.debezium.time.Time", .int): return .time(digits: 3)
        case ("io.debezium.time.MicroTime", .long): return .time(digits: 6)
        case ("io.debezium.time.NanoTime", .long): return .time(digits: 9)
        case ("io.debezium.time.Timestamp", .long): return .timestamp(digits: 3, isLocal: false)
        case ("io.debezium.time.MicroTimestamp", .long): return .timestamp(digits: 6, isLocal: false)
        case ("io.debezium.time.NanoTimestamp", .long): return .timestamp(digits: 9, isLocal: false)
        case ("io.debezium.data.VariableScaleDecimal", .record(let fields)):
            let isKnown =
                fields.map(\.name) == ["scale", "value"] && nodes[fields[0].type].kind == .int
                && nodes[fields[1].type].kind == .bytes
            return isKnown ? .scaledDecimal : nil
        default: return nil
        }
    }
}
