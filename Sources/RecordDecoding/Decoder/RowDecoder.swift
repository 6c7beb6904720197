import GraphCore
import RecordFiles

/// Turns the rows of a CSV file into records of JSON, which the routes decode: a header names a property or an alias of
/// one.
///
/// An empty field is absent and leaves its property alone; a quoted empty field is an empty text, and null for any
/// other type.
package struct RowDecoder {
    private struct Column {
        let name: String
        /// The name and a colon, as they begin a member.
        let beginning: [UInt8]
        /// The type of JSON's numbers or booleans that the fields are written as; nil for texts.
        let type: AttributeType?
        /// Whether a quoted empty field is null.
        let emptyIsNull: Bool
    }

    private let decoder: EventDecoder
    private let columns: [Column]
    private let parser: JSONParser
    private let nulls: ValueRules?
    /// Whether a field with nothing in it is null, and not absent.
    private let takesAbsent: Bool
    private let hasPrograms: Bool

    /// Makes a decoder of the rows of a file with these columns.
    init(_ decoder: EventDecoder, columns names: [String], path: String) throws {
        self.decoder = decoder
        let routes = Self.reachable(decoder.routes)
        if routes.count == 1, let route = routes.first, route.readsColumns {
            try Self.check(names, of: path, route, decoder.model)
        }
        hasPrograms = routes.contains { $0.program != nil }
        nulls = decoder.values.rules
        takesAbsent = nulls?.nulls.contains([]) ?? false
        // The object is longer than its row, which the file's reader has measured.
        parser = JSONParser(depthLimit: decoder.parser.depthLimit, maximumBytes: .max)
        // A program gets the fields as they stand in the file.
        let meanings = hasPrograms ? [] : Self.withFurther(routes).filter(\.readsColumns)
        columns = names.map { name in
            let meanings = meanings.flatMap { $0.meanings(of: name, in: decoder.model) }
            let types = Set(meanings.map(\.type))
            return Column(
                name: name, beginning: Array("\(JSONText.string(name)):".utf8),
                type: types.count == 1 ? types.first ?? nil : nil,
                emptyIsNull: !meanings.isEmpty && !meanings.contains(where: \.takesEmpty))
        }
    }

    /// The routes up to the first that takes each row.
    private static func reachable(_ routes: [Route]) -> [Route] {
        let last = routes.firstIndex {
            $0.topic == nil && $0.type == nil && $0.headers.isEmpty && $0.condition == nil
        }
        return Array(routes[...(last ?? routes.count - 1)])
    }

    private static func withFurther(_ routes: [Route]) -> [Route] { routes.flatMap { [$0] + withFurther($0.also) } }

    /// Refuses columns that fail in each row, all of them together.
    private static func check(
        _ names: [String], of path: String, _ route: Route, _ model: ObjectModel
    ) throws(RouteError) {
        let entity = route.entity
        var unknown: [String] = []
        for name in names {
            switch route.properties.properties[name] {
            case .relationship(let index) where entity.relationships[index].isToMany:
                throw RouteError(
                    message:
                        "The column '\(name)' of \(path) stands for \(entity.name).\(entity.relationships[index].name), "
                        + "which leads to many: one field cannot hold that. Add it to 'ignore'.")
            case nil where !route.properties.ignoresUnknown: unknown.append(name)
            default: continue
            }
        }
        guard let first = unknown.first else { return }
        let list = unknown.map { "'\($0)'" }.joined(separator: ", ")
        let closest = unknown.count == 1 ? ClosestName.find(first, among: entity.propertyNames) : nil
        let hint = closest.map { " Did you mean '\($0)'?" } ?? ""
        let subject =
            unknown.count == 1
            ? "The column \(list) of \(path) is no property" : "The columns \(list) of \(path) are no properties"
        throw RouteError(
            message:
                "\(subject) of \(entity.name).\(hint) Add an alias for \(unknown.count == 1 ? "it, or add it" : "each, or add them") "
                + "to 'ignore'. The properties are: \(entity.propertyNames.joined(separator: ", "))")
    }

    /// Decodes a row.
    package func decode(_ record: FileRecord, _ source: SourceRecord) throws(DecodeError) -> ChangeSet {
        decoder.skipReason = nil
        decoder.elements.reset()
        if let fault = source.fault { throw fault }
        if record.fields.isBlank { return decoder.skipped(.empty) }
        let bytes = try object(record)
        let root: JSONValue
        do { root = try parser.parse(bytes).root } catch { throw DecodeError(error) }
        do {
            return try decoder.decodeRouted(root, source)
        } catch  where error.code == "decode.missing_identity" {
            throw DecodeError(
                code: error.code,
                "The row has no identity. Give the route 'identity: $row' or the name of a column")
        }
    }

    // MARK: JSON

    /// Returns a row as a JSON object that a topic can hold: its columns, and its number for routes that count rows.
    ///
    /// - Throws: ``DecodeError`` with code `json.utf8`.
    package func json(_ record: FileRecord) throws(DecodeError) -> [UInt8] {
        let number = "\(JSONText.string(RouteScope.rowNumberMember)):\(record.number)"
        return try object(record, beginningWith: hasPrograms ? [] : Array(number.utf8))
    }

    /// Returns a row as a JSON object. Numbers and booleans are written as such where each route has such a property, the
    /// rest as text.
    private func object(_ record: FileRecord, beginningWith first: [UInt8] = []) throws(DecodeError) -> [UInt8] {
        var output = [0x7B] + first
        for (column, field) in zip(columns, record.fields) {
            if field.isAbsent, !takesAbsent { continue }
            if UTF8Fault.firstOffset(in: UnsafeRawBufferPointer(field.utf8)) != nil {
                throw DecodeError(
                    code: "json.utf8", "The field '\(column.name)' is not UTF-8 text. Save the file as UTF-8")
            }
            if output.count > 1 { output.append(0x2C) }
            output += column.beginning
            append(field.utf8, column, to: &output)
        }
        output.append(0x7D)
        return output
    }

    private func append(_ field: UnsafeBufferPointer<UInt8>, _ column: Column, to output: inout [UInt8]) {
        if field.isEmpty, column.emptyIsNull { return output += "null".utf8 }
        guard let type = column.type else { return JSONValue.appendString(field, to: &output) }
        if let nulls, nulls.isNull(field) { return output += "null".utf8 }
        let written = JSONValue.text(field)
        guard let value = type.value(fromText: written) else { return JSONValue.appendString(field, to: &output) }
        // A double would lose digits that conditions and templates read.
        if type == .double, JSONSyntax.isValid(written) { return output += field }
        var text = ""
        type.appendJSON(value, to: &text)
        output += text.utf8
    }
}

extension Route {
    /// Whether the keys of the route's data are the columns of a row.
    fileprivate var readsColumns: Bool { !isDrop && program == nil && each == nil && data.isEmpty }

    /// The meaning of a column for the route.
    fileprivate struct ColumnMeaning {
        /// The type of JSON's own values that the fields become; nil for texts.
        let type: AttributeType?
        /// Whether an empty text is a value.
        let takesEmpty: Bool
    }

    /// Returns the meanings of a column for the route: a property by its key, and properties of `fields`.
    fileprivate func meanings(of column: String, in model: ObjectModel) -> [ColumnMeaning] {
        let fields = made.fields.filter { $0.expression.path?.onlyKey == column }.map(\.property)
        return ([properties.properties[column]] + fields).compactMap { property in
            switch property {
            case .identity: meaning(of: entity.identity)
            case .attribute(let slot): meaning(of: entity.attributes[slot])
            case .transient(let slot): meaning(of: entity.transientAttributes[slot])
            case .relationship(let index):
                meaning(of: model.entities[entity.relationships[index].destinationIndex].identity, isReference: true)
            case .ignored, nil: nil
            }
        }
    }

    private func meaning(of attribute: Attribute, isReference: Bool = false) -> ColumnMeaning {
        let type: AttributeType? =
            switch attribute.type {
            case .integer16, .integer32, .integer64: .integer64
            case .double, .float: .double
            case .decimal: .decimal
            case .boolean: .boolean
            case .date where values.dates != .iso8601 && values.rules?.dates == nil: .integer64
            default: nil
            }
        return ColumnMeaning(type: type, takesEmpty: attribute.type == .string && !isReference)
    }
}
