import KafkaClient
import ObjectGraph

/// The view that a route's expressions have of one record, or of one element of a split.
struct RouteScope {
    let record: SourceRecord
    /// The record's value.
    let root: JSONValue
    /// Where paths begin: the record's value, or an element.
    var base: JSONValue
    /// Values that stand before those of the base: the former ones of a row.
    var former: JSONValue?
    /// The schema of what stands where paths begin, where the record brings one.
    var schema: JSONValue?
    private let rootSchema: JSONValue?
    let keys: RecordKeys
    /// Tells which texts of the record stand for null.
    let values: ValueDecoding
    /// Whether Debezium's mark of a value that it was not given stands for an absent one.
    let leavesOutUnavailable: Bool
    /// The identity of the object around an element.
    var parent = ""
    /// The element's number in its array, from 1.
    var number: Int?
    /// The element's key in a map.
    var name: UnsafeBufferPointer<UInt8>?

    init(
        _ record: SourceRecord, root: JSONValue, schema: JSONValue? = nil, keys: RecordKeys,
        values: ValueDecoding = ValueDecoding(), leavesOutUnavailable: Bool = false
    ) {
        self.record = record
        self.root = root
        base = root
        self.schema = schema
        rootSchema = schema
        self.keys = keys
        self.values = values
        self.leavesOutUnavailable = leavesOutUnavailable
    }

    /// Follows a path from where paths begin.
    func member(at path: RecordPath) -> JSONValue? {
        present(former?.member(at: path, nulls: values) ?? base.member(at: path, nulls: values))
    }

    /// Returns what the schema says of the value at a path from where paths begin.
    func logicalType(at path: RecordPath) -> LogicalType {
        schema == nil ? .plain : SchemaFields.schema(at: path, in: schema).map { LogicalType($0) } ?? .plain
    }

    /// Returns a value, or nil where it is a mark of one that the record does not have.
    private func present(_ value: JSONValue?) -> JSONValue? {
        guard leavesOutUnavailable, let value, UnavailableMark.stands(in: value) else { return value }
        return nil
    }

    /// The number that `$row` stands for.
    var rowNumber: Int64 {
        if let number { return Int64(number) }
        return root.member(named: RowDecoder.numberMember)?.int64 ?? record.place.rowNumber
    }
}

/// Reads the keys of records; the record's own parser holds its value meanwhile.
final class RecordKeys {
    private let parser: JSONParser

    init(depthLimit: Int, maximumBytes: Int) throws(JSONError) {
        parser = try JSONParser(depthLimit: depthLimit, maximumBytes: maximumBytes)
    }

    /// Returns the key as text, or the field of a key that is a JSON object.
    ///
    /// - Parameter values: tells which texts of fields stand for null.
    func text(
        _ key: UnsafeRawBufferPointer?, at path: RecordPath, _ values: ValueDecoding = ValueDecoding()
    ) throws(DecodeError) -> RouteExpression.Result {
        guard let key, !key.isEmpty else { return .absent }
        // A key that is a JSON text means its content.
        if !path.isEmpty || key.first == UInt8(ascii: "\"") {
            if let root = try? parser.parse(key).root {
                let (payload, schema) = EventDecoder.unwrapped(root)
                guard let value = payload.member(at: path, nulls: values) else { return .absent }
                return try RouteScope.text(
                    of: value, SchemaFields.schema(at: path, in: schema), path.isEmpty ? ValueDecoding() : values,
                    path.isEmpty ? "$key" : "$key.\(path.text)")
            }
            if !path.isEmpty { return .absent }
        }
        guard let text = String(validating: key, as: UTF8.self) else {
            throw DecodeError(code: "decode.type", "The record's key has to be UTF-8 text")
        }
        return .text(text)
    }
}

extension RouteScope {
    /// The text that a value stands for in an expression.
    ///
    /// - Parameters:
    ///   - schema: the value's schema, where the record brings one.
    ///   - values: tells which texts stand for null.
    static func text(
        of json: JSONValue, _ schema: JSONValue?, _ values: ValueDecoding, _ name: @autoclosure () -> String
    ) throws(DecodeError) -> RouteExpression.Result {
        if values.isNull(json) { return .null }
        if let schema, let text = ConnectValues.text(json, LogicalType(schema)) { return .text(text) }
        switch json.kind {
        case .null: return .null
        case .string: return .text(json.string ?? "")
        case .boolean: return .text(json.bool == true ? "true" : "false")
        case .integer, .unsignedInteger, .double:
            return RouteConfiguration.ValueForm.text(ofNumber: json).map { .text($0) } ?? .null
        case .object, .array:
            throw DecodeError(
                code: "decode.type",
                "'\(name())' stands for a text; it has to be a text, a number or a boolean, not \(ObjectDecoder.article(json))"
            )
        }
    }

    func text(of variable: RouteExpression.Variable) throws(DecodeError) -> RouteExpression.Result {
        switch variable {
        case .key(let path):
            return try record.withPlainKey { key throws(DecodeError) in try keys.text(key, at: path, values) }
        case .header(let name):
            guard let header = record.headers.last(where: { $0.name == name }) else { return .absent }
            return header.value.map { .text(String(decoding: $0, as: UTF8.self)) } ?? .null
        case .timestamp:
            return record.timestampMilliseconds.map { .text(Timestamp.text(milliseconds: $0)) } ?? .absent
        case .topic: return fileParts.isEmpty ? .text(record.place.topic) : .absent
        case .partition: return fileParts.isEmpty ? .text(String(record.place.partition)) : .absent
        case .offset: return fileParts.isEmpty ? .text(String(record.place.offset)) : .absent
        case .file: return fileParts.last.map { .text(String($0)) } ?? .absent
        case .folder: return fileParts.dropLast().last.map { .text(String($0)) } ?? .absent
        case .row: return .text(String(rowNumber))
        case .record(let path):
            guard let value = present(root.member(at: path, nulls: values)) else { return .absent }
            return try Self.text(of: value, SchemaFields.schema(at: path, in: rootSchema), values, path.text)
        case .parent: return .text(parent)
        case .name: return name.map { .text(JSONValue.text($0)) } ?? .absent
        case .value: return try Self.text(of: base, schema, values, "$value")
        }
    }

    private var fileParts: [Substring] {
        ReplayEngine.path(ofTopic: record.place.topic)?.split(separator: "/") ?? []
    }
}

extension RouteExpression {
    /// Evaluates an expression for a record.
    ///
    /// - Throws: ``DecodeError`` where an object or an array stands in a text's place.
    func text(in scope: RouteScope) throws(DecodeError) -> Result {
        if parts.count == 1 { return try Self.text(of: parts[0], in: scope) }
        var output = ""
        var isNull = false
        for part in parts {
            switch try Self.text(of: part, in: scope) {
            case .absent: return .absent
            case .null: isNull = true
            case .text(let text): output += text
            }
        }
        return isNull ? .null : .text(output)
    }

    private static func text(of part: Part, in scope: RouteScope) throws(DecodeError) -> Result {
        switch part {
        case .text(let text): return .text(text)
        case .path(let path):
            guard let value = scope.member(at: path) else { return .absent }
            let schema = SchemaFields.schema(at: path, in: scope.schema)
            return try RouteScope.text(of: value, schema, scope.values, path.text)
        case .variable(let variable): return try scope.text(of: variable)
        }
    }
}
