import GraphCore
import KafkaClient

/// The view that a route's expressions have of one record, or of one element of a split.
struct RouteScope {
    let record: SourceRecord
    /// The record's value.
    let root: JSONValue
    /// Where paths begin: the record's value, or an element.
    var base: JSONValue
    /// The former values of a row, which go before the values of the base.
    var former: JSONValue?
    /// The schema of the value at which paths begin, where the record brings one.
    var schema: JSONValue?
    /// The schema of the record's value.
    let rootSchema: JSONValue?
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
    /// The text that `$key` stands for in an identity; nil in other expressions, where it is the whole key.
    var identityKey: RouteExpression.Result?

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

    /// Returns the scope in which `$key` stands for the part of the key that names an object.
    func naming(
        _ entity: Entity, by identity: RouteExpression, _ table: ObjectDecoder.PropertyTable
    ) throws(DecodeError) -> RouteScope {
        if !identity.usesKey { return self }
        var scope = self
        scope.identityKey = try record.withPlainKey { key throws(DecodeError) in
            guard let key, !key.isEmpty else { return .absent }
            let part = RecordKey(key, keys.parser)?.part(naming: entity, identity, table)
            guard let text = part?.text, !text.isEmpty else { throw RecordKey.wrong(for: entity) }
            return .text(text)
        }
        return scope
    }

    /// Follows a path from where paths begin.
    func member(at path: RecordPath) -> JSONValue? {
        present(former?.member(at: path, nulls: values) ?? base.member(at: path, nulls: values))
    }

    /// Returns the schema of the value at a path from where paths begin, or nil where the record brings none.
    func schema(at path: RecordPath) -> JSONValue? {
        schema == nil ? nil : SchemaFields.schema(at: path, in: schema)
    }

    /// Returns the logical type of the value at a path, which begins where paths begin; plain without a schema.
    func logicalType(at path: RecordPath) -> LogicalType { schema(at: path).map { LogicalType($0) } ?? .plain }

    /// Returns a value, or nil where it is a mark of one that the record does not have.
    private func present(_ value: JSONValue?) -> JSONValue? {
        guard leavesOutUnavailable, let value, UnavailableMark.stands(in: value) else { return value }
        return nil
    }

    /// The member of a CSV row's JSON object that holds the row's number.
    static let rowNumberMember = "$row"

    /// The number that `$row` stands for.
    var rowNumber: Int64 {
        if let number { return Int64(number) }
        return root.member(named: RouteScope.rowNumberMember)?.int64 ?? record.place.rowNumber
    }
}

extension RecordHeader {
    /// Returns the value as text, or nil for a null value.
    ///
    /// - Throws: ``DecodeError`` where the bytes are no UTF-8 text.
    func text() throws(DecodeError) -> String? {
        guard let value else { return nil }
        if let text = String(validating: value, as: UTF8.self) { return text }
        throw Self.wrongText(name)
    }

    static func wrongText(_ name: String) -> DecodeError {
        DecodeError(
            code: "decode.type", "The header \(DecodeError.shown(name)) has to be UTF-8 text. Check its producer")
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
        if let schema {
            if let text = ConnectValues.text(json, schema) { return .text(text) }
            if ![.object, .array, .boolean].contains(json.kind) {
                throw DecodeError(
                    code: "decode.type", "'\(name())' does not fit its schema, or has more than 38 digits")
            }
        }
        switch json.kind {
        case .null: return .null
        case .string: return .text(json.string ?? "")
        case .boolean: return .text(json.bool == true ? "true" : "false")
        case .integer, .unsignedInteger, .double:
            return json.numberText.map { .text($0) } ?? .null
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
            if path.isEmpty, let identityKey { return identityKey }
            return try record.withPlainKey { key throws(DecodeError) in try keys.text(key, at: path, values) }
        case .header(let name):
            guard let header = record.headers.last(where: { $0.isNamed(name) }) else { return .absent }
            return try header.text().map { .text($0) } ?? .null
        case .timestamp:
            return record.timestampMilliseconds.map { .text(Timestamp.text(milliseconds: $0)) } ?? .absent
        case .topic: return record.place.isOfFile ? .absent : .text(record.place.topic)
        case .partition: return record.place.isOfFile ? .absent : .text(String(record.place.partition))
        case .offset: return record.place.isOfFile ? .absent : .text(String(record.place.offset))
        case .file: return record.place.fileName.map { .text($0) } ?? .absent
        case .folder: return record.place.folderName.map { .text($0) } ?? .absent
        case .row: return .text(String(rowNumber))
        case .record(let path):
            guard let value = present(root.member(at: path, nulls: values)) else { return .absent }
            return try Self.text(of: value, SchemaFields.schema(at: path, in: rootSchema), values, path.text)
        case .parent: return .text(parent)
        case .name: return name.map { .text(JSONValue.text($0)) } ?? .absent
        case .value: return try Self.text(of: base, schema, values, "$value")
        }
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
            return try RouteScope.text(of: value, scope.schema(at: path), scope.values, path.text)
        case .variable(let variable): return try scope.text(of: variable)
        }
    }
}
