import ObjectGraph

/// Turns the rows of a CSV file into events: a header names a property or an alias of one.
///
/// An empty field is absent and leaves its property alone; a quoted empty field is an empty text, and null for any
/// other type.
package struct RowDecoder {
    private enum Column {
        case identity
        case attribute(Attribute)
        case transient(Attribute)
        case reference(Relationship, Entity)
        case ignored
    }

    private let route: Route
    private let columns: [Column]
    private let names: [String]
    /// Decodes rows as records of JSON, where a route asks for more than columns.
    private let decoder: EventDecoder
    private let readsRecords: Bool
    /// Whether a field with nothing in it is null, and not absent.
    private let emptyIsNull: Bool

    init(route: Route, decoder: EventDecoder, columns names: [String], path: String) throws(RouteError) {
        let model = decoder.model
        self.decoder = decoder
        readsRecords = route.needsRecord || decoder.usage != nil
        self.route = route
        emptyIsNull = route.values.rules?.nulls.contains([]) ?? false
        self.names = names
        let entity = route.entity
        columns = try names.map { name throws(RouteError) in
            if let key = route.identity?.path?.onlyKey, key == name { return .identity }
            switch route.properties.properties[name] {
            case .ignored: return .ignored
            case .identity: return .identity
            case .attribute(let slot): return .attribute(entity.attributes[slot])
            case .transient(let slot): return .transient(entity.transientAttributes[slot])
            case .relationship(let index):
                let relationship = entity.relationships[index]
                if !relationship.isToMany {
                    return .reference(relationship, model.entities[relationship.destinationIndex])
                }
                throw RouteError(
                    message:
                        "The column '\(name)' of \(path) stands for \(entity.name).\(relationship.name), which leads to "
                        + "many: one field cannot hold that. Add it to 'ignore'.")
            case nil:
                if route.program != nil || route.properties.ignoresUnknown
                    || decoder.routes.count > 1 && route.needsRecord
                {
                    return .ignored
                }
                let hint =
                    ClosestName.find(name, among: entity.propertyNames).map { " Did you mean '\($0)'?" } ?? ""
                throw RouteError(
                    message:
                        "The column '\(name)' of \(path) is no property of \(entity.name).\(hint) Add an alias for it, "
                        + "or add it to 'ignore'. The properties are: \(entity.propertyNames.joined(separator: ", "))")
            }
        }
    }

    /// Decodes a row.
    package func decode(_ record: FileRecord, _ source: SourceRecord) throws(DecodeError) -> ChangeSet {
        if readsRecords {
            return try decodeRecord(Array(try json(record, columns: names).utf8), source)
        }
        let entity = route.entity
        var operation = ObjectOperation(route.verb ?? .upsert, entity: entity.index, identity: .null)
        if route.identity?.variable == .row {
            let number = Int64(record.number)
            operation.identity = route.identityValue(text: String(number), integer: number) ?? .null
        }
        for (index, column) in columns.enumerated() where index < record.fields.count {
            let field = record.fields[index]
            if field.isAbsent, !emptyIsNull { continue }
            guard let text = field.string, !text.utf8.contains(0) else { throw Self.notText(names[index]) }
            try assign(text, to: column, names[index], &operation)
        }
        if operation.identity.isNull {
            throw DecodeError(
                code: "decode.missing_identity",
                "The row has no identity. Give the route 'identity: $row' or the name of a column")
        }
        if operation.kind == .upsert { route.made.complete(&operation) }
        return ChangeSet(operation)
    }

    /// Decodes a row that is written as JSON; the event copies what it keeps.
    private func decodeRecord(_ json: [UInt8], _ source: SourceRecord) throws(DecodeError) -> ChangeSet {
        let result = json.withUnsafeBytes { bytes in
            Result { () throws(DecodeError) in try decoder.decodeRouted(try decoder.parse(bytes), source) }
        }
        return try result.get()
    }

    /// Gives the operation the value of one field.
    private func assign(
        _ text: String, to column: Column, _ name: String, _ operation: inout ObjectOperation
    ) throws(DecodeError) {
        switch column {
        case .ignored: break
        case .identity:
            if isNull(text) { return }
            guard let identity = route.identityValue(text: text, integer: Int64(text)) else {
                throw wrong(name, route.entity.identity, text)
            }
            operation.identity = identity
        case .attribute(let attribute):
            let value = try self.value(text, attribute, name)
            if attribute.slot == route.entity.versionSlot { operation.version = value }
            operation.attributes.append(.init(slot: attribute.slot, value: value))
        case .transient(let attribute):
            operation.transients.append(.init(slot: attribute.slot, value: try value(text, attribute, name)))
        case .reference(let relationship, let destination):
            let identity = text.isEmpty ? .null : try value(text, destination.identity, name)
            operation.relationships.append(.init(relationship: relationship.index, change: .one(identity)))
        }
    }

    /// The member of a row's JSON object that holds the row's number.
    static let numberMember = "$row"

    /// Returns a row as a JSON object of its columns and its number. Numbers and booleans are written as such where the
    /// property is one, the rest as text.
    ///
    /// - Throws: ``DecodeError`` with code `json.utf8`.
    func json(_ record: FileRecord, columns names: [String]) throws(DecodeError) -> String {
        var output = "{\(JSONText.string(Self.numberMember)):\(record.number)"
        for (index, name) in names.enumerated() where index < record.fields.count {
            let field = record.fields[index]
            if field.isAbsent, !emptyIsNull { continue }
            guard let text = field.string else { throw Self.notText(name) }
            output += ",\(JSONText.string(name)):"
            switch index < columns.count ? columns[index] : .ignored {
            case .attribute(let attribute), .transient(let attribute): append(text, attribute, to: &output)
            case .identity: append(text, route.entity.identity, to: &output)
            case .reference(_, let destination):
                if text.isEmpty { output += "null" } else { append(text, destination.identity, to: &output) }
            case .ignored: JSONText.append(text, to: &output)
            }
        }
        return output + "}"
    }

    private static func notText(_ column: String) -> DecodeError {
        DecodeError(code: "json.utf8", "The field '\(column)' is not UTF-8 text. Save the file as UTF-8")
    }

    private func append(_ text: String, _ attribute: Attribute, to output: inout String) {
        let isNumber = attribute.type.isNumeric && attribute.type != .decimal || attribute.type == .boolean
        if text.isEmpty, attribute.type != .string {
            output += "null"
        } else if attribute.type == .date, route.values.dates != .iso8601, route.values.rules?.dates == nil,
            let number = Int64(text)
        {
            output += String(number)
        } else if isNumber, let value = attribute.type.value(fromText: text) {
            attribute.type.appendJSON(value, to: &output)
        } else {
            JSONText.append(text, to: &output)
        }
    }

    private func value(_ text: String, _ attribute: Attribute, _ name: String) throws(DecodeError) -> Value {
        if text.isEmpty, attribute.type != .string { return .null }
        if let form = route.properties.forms[name] {
            if isNull(text) { return .null }
            guard let value = form.value(text: text, for: attribute.type) else { throw wrong(name, attribute, text) }
            return value
        }
        guard let value = route.values.value(text: text, for: attribute.type) else {
            throw wrong(name, attribute, text)
        }
        return value
    }

    private func isNull(_ text: String) -> Bool {
        guard let rules = route.values.rules else { return false }
        var text = text
        return text.withUTF8 { rules.isNull($0) }
    }

    private func wrong(_ name: String, _ attribute: Attribute, _ text: String) -> DecodeError {
        let expectation =
            route.properties.forms[name]?.expectation(attribute.type) ?? route.values.expectation(attribute.type)
        let shown = attribute.isSecret ? "" : ", not \(DecodeError.shownValue(text))"
        return DecodeError(code: "decode.type", "The field '\(name)' has to be \(expectation)\(shown)")
    }
}

extension Route {
    /// Whether a row of a CSV file has to be read as a record, since the route looks at more than columns.
    var needsRecord: Bool {
        isDrop || program != nil || condition != nil || filter != nil || !splits.isEmpty || !made.fields.isEmpty
            || !made.edits.isEmpty
            || !also.isEmpty || !prefixedReferences.isEmpty || timeField != nil
            || identity.map { $0.path == nil && $0.variable != .row } ?? false
    }
}
