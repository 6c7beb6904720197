import ObjectGraph

/// Turns the records of one topic or file into events.
///
/// Used by one thread: the parser's memory is reused from record to record.
public final class EventDecoder {
    private let model: ObjectModel
    private let format: EventFormat
    private let routes: [Route]
    private let parser: JSONParser
    private let objects: ObjectDecoder
    private let maximumRecordBytes: Int
    private var types: EventTypeResolver

    /// Makes a decoder.
    ///
    /// - Parameters:
    ///   - model: the entities that events may name.
    ///   - format: how a record says what it is.
    ///   - routes: what makes events of records that do not say it themselves; the first that matches serves.
    ///   - place: names the topic or file in errors.
    ///   - limits: the greatest size and depth of a record.
    /// - Throws: ``RouteError`` where a route does not fit the model or the format is not supported.
    public init(
        model: ObjectModel, format: EventFormat, routes: [RouteConfiguration], place: String,
        limits: LimitConfiguration = LimitConfiguration()
    ) throws {
        if format == .debezium {
            throw RouteError(
                description:
                    "The format 'debezium' of \(place) is not supported by this version. Use 'cloudevents' or 'json'.")
        }
        if format == .json, routes.isEmpty {
            throw RouteError(
                description:
                    "The format 'json' of \(place) needs routes that name the entity. Add 'routes: [{entity: …}]'.")
        }
        self.model = model
        self.format = format
        self.routes = try routes.map { try Route($0, model: model, place: place) }
        maximumRecordBytes = limits.maxRecordBytes
        parser = try JSONParser(depthLimit: limits.maxDepth, maximumBytes: limits.maxRecordBytes)
        objects = ObjectDecoder(model: model)
        types = EventTypeResolver(model)
    }

    /// Decodes a record.
    ///
    /// - Throws: ``DecodeError``.
    public func decode(_ record: SourceRecord) throws(DecodeError) -> GraphEvent {
        if let fault = record.fault { throw fault }
        if record.totalBytes > maximumRecordBytes {
            throw DecodeError(
                code: "decode.too_large",
                "The record has \(record.totalBytes) bytes, more than limits.maxRecordBytes (\(maximumRecordBytes)). Send it in "
                    + "parts, or raise the limit. Only its beginning is kept here")
        }
        guard let value = record.value else { return try decodeTombstone(record) }
        if format == .cloudevents, let envelope = try binaryEnvelope(record) {
            return try decodeData(try parse(value), envelope, record)
        }
        let root = try parse(value)
        guard root.kind == .object else {
            throw DecodeError(
                code: "decode.type", "The record has to be a JSON object, not \(ObjectDecoder.article(root))")
        }
        switch format {
        case .cloudevents: return try decodeStructured(root, record)
        case .json, .debezium: return try decodeRouted(root, record)
        }
    }

    private func parse(_ bytes: UnsafeRawBufferPointer) throws(DecodeError) -> JSONValue {
        do {
            return try parser.parse(bytes).root
        } catch {
            throw DecodeError(error)
        }
    }

    // MARK: CloudEvents

    /// What a CloudEvent says besides its data.
    private struct Envelope {
        var type: String
        var time: Int64?
        var subject: String?
    }

    private func decodeStructured(_ root: JSONValue, _ record: SourceRecord) throws(DecodeError) -> GraphEvent {
        guard let type = root.member("type")?.string else {
            throw DecodeError(
                code: "decode.envelope",
                "This is no CloudEvent: it has no text 'type'. Send CloudEvents, or give the topic 'format: json' with a route"
            )
        }
        var envelope = Envelope(type: type, subject: root.member("subject")?.string)
        if let time = root.member("time"), !time.isNull {
            guard let bytes = time.utf8, let microseconds = Timestamp.microseconds(utf8: bytes) else {
                throw DecodeError(
                    code: "decode.envelope", "The event's 'time' has to be \(AttributeType.date.expectation)")
            }
            envelope.time = microseconds
        }
        if root.member("data_base64") != nil {
            throw DecodeError(
                code: "decode.envelope", "'data_base64' is not supported; send the data as JSON in 'data'")
        }
        guard let data = root.member("data") else {
            if let deletion = try deletion(envelope) { return deletion }
            throw DecodeError(code: "decode.envelope", "The event has no 'data'; send the object's properties there")
        }
        return try decodeData(data, envelope, record)
    }

    /// A deletion needs no data where the subject names the object and no route takes the event.
    private func deletion(_ envelope: Envelope) throws(DecodeError) -> GraphEvent? {
        if routes.contains(where: { $0.type == nil || $0.type == envelope.type }) { return nil }
        let type = try types.resolve(envelope.type)
        let entity = model.entities[type.entity]
        guard type.verb == .delete, let subject = envelope.subject,
            let identity = entity.identityValue(fromText: subject)
        else { return nil }
        var operation = Operation(.delete, entity: entity.index, identity: identity)
        operation.time = envelope.time
        try objects.finish(&operation, entity: entity, ObjectDecoder.Circumstances(time: envelope.time))
        return GraphEvent(operation)
    }

    /// Returns the envelope of the binary mode, where the headers hold it, or nil in structured mode.
    private func binaryEnvelope(_ record: SourceRecord) throws(DecodeError) -> Envelope? {
        var envelope: Envelope?
        for header in record.headers where header.name == "ce_type" {
            envelope = header.value.map { Envelope(type: String(decoding: $0, as: UTF8.self)) }
        }
        guard var envelope else { return nil }
        for header in record.headers {
            guard let value = header.value.map({ String(decoding: $0, as: UTF8.self) }) else { continue }
            if header.name == "ce_time" {
                // Without its time a late event would overwrite newer ones, so a bad one is no event.
                guard let microseconds = Timestamp.microseconds(value) else {
                    throw DecodeError(
                        code: "decode.envelope", "The header 'ce_time' has to be \(AttributeType.date.expectation)")
                }
                envelope.time = microseconds
            }
            if header.name == "ce_subject" { envelope.subject = value }
        }
        return envelope
    }

    private func decodeData(
        _ data: JSONValue, _ envelope: Envelope, _ record: SourceRecord
    ) throws(DecodeError) -> GraphEvent {
        if let route = routes.first(where: { $0.type == nil || $0.type == envelope.type }) {
            return try decode(
                data, route, type: envelope.type, time: envelope.time, record, subject: envelope.subject)
        }
        let type = try types.resolve(envelope.type)
        let entity = model.entities[type.entity]
        // The subject names the object where the data does not.
        let identity = envelope.subject.flatMap { entity.identityValue(fromText: $0) } ?? .null
        var event = GraphEvent([])
        _ = try objects.decode(
            data, entity: entity, kind: type.verb, ObjectDecoder.Circumstances(time: envelope.time),
            identity: identity, into: &event.operations)
        return event
    }

    // MARK: Plain JSON

    private func decodeRouted(_ root: JSONValue, _ record: SourceRecord) throws(DecodeError) -> GraphEvent {
        for route in routes {
            let type = route.typeField.isEmpty ? nil : root.member(at: route.typeField)?.string
            if let wanted = route.type, wanted != type { continue }
            // Without a field for it the event has no time: when a record was sent says nothing of its object.
            var time: Int64?
            if !route.timeField.isEmpty, let value = root.member(at: route.timeField), !value.isNull {
                guard let stored = route.values.value(value, for: .date) else {
                    throw DecodeError(
                        code: "decode.type",
                        "The event's time, \(route.timeField.joined(separator: ".")), has to be "
                            + route.values.expectation(.date))
                }
                time = stored.integer
            }
            guard let data = root.member(at: route.data) else {
                throw DecodeError(
                    code: "decode.envelope",
                    "The record has no '\(route.data.joined(separator: "."))', where its route looks for the data")
            }
            return try decode(data, route, type: type, time: time, record, root: root)
        }
        throw DecodeError(code: "decode.no_route", "No route takes this record. Add a route for its type")
    }

    private func decode(
        _ data: JSONValue, _ route: Route, type: String?, time: Int64?, _ record: SourceRecord, root: JSONValue? = nil,
        subject: String? = nil
    ) throws(DecodeError) -> GraphEvent {
        let verb = route.verb ?? type.flatMap { EventType.verb(of: $0)?.verb } ?? .upsert
        let circumstances = ObjectDecoder.Circumstances(time: time, values: route.values)
        var event = GraphEvent([])
        _ = try objects.decode(
            data, entity: route.entity, kind: verb, circumstances, table: route.table,
            identity: try routedIdentity(route, root ?? data, record, subject), into: &event.operations)
        complete(&event, route)
        return event
    }

    private func routedIdentity(
        _ route: Route, _ root: JSONValue, _ record: SourceRecord, _ subject: String?
    ) throws(DecodeError) -> Value {
        switch route.identity {
        case .row:
            // A row that was sent through a topic carries its number; other records count as their place does.
            let number = root.member(named: RowDecoder.numberMember)?.int64
            return route.rowIdentity(number ?? record.place.rowNumber) ?? .null
        case .field(let field):
            guard let value = root.member(at: field.split(separator: ".").map { String($0) }) else { return .null }
            let text = value.string ?? value.int64.map { String($0) }
            guard let text, let identity = route.identityValue(text: text, integer: value.int64) else {
                throw DecodeError(
                    code: "decode.identity",
                    "'\(field)' names the \(route.entity.name); it has to be \(route.entity.identity.type.expectation)")
            }
            return identity
        case nil: return subject.flatMap { route.entity.identityValue(fromText: $0) } ?? .null
        }
    }

    /// Gives the event's own object the route's constants, and its prefix where the model's attribute identifies it.
    private func complete(_ event: inout GraphEvent, _ route: Route) {
        guard var operation = event.operations.popLast() else { return }
        if operation.kind == .upsert { operation.attributes += route.constants }
        if route.identity == nil, route.identityPrefix != nil {
            let text = route.entity.identity.type.text(of: operation.identity)
            operation.identity = route.identityValue(text: text, integer: nil) ?? operation.identity
        }
        event.operations.append(operation)
    }

    // MARK: Null values

    /// A null value deletes the object that its key names, where one route says which entity that is.
    private func decodeTombstone(_ record: SourceRecord) throws(DecodeError) -> GraphEvent {
        guard let key = record.key, !key.isEmpty else {
            throw DecodeError(
                code: "decode.null", "The record has neither a value nor a key, so it says nothing. Check its producer")
        }
        guard format == .json, routes.count == 1, let route = routes.first else {
            throw DecodeError(
                code: "decode.null",
                "The record has no value, and its key alone does not tell which entity it deletes. Give the topic "
                    + "'format: json' and one route, or send an event that says so")
        }
        let text = String(validating: key, as: UTF8.self)
        guard let text, let identity = route.identityValue(text: text, integer: Int64(text)) else {
            throw DecodeError(
                code: "decode.identity",
                "The record's key names the \(route.entity.name) to delete; it has to be "
                    + route.entity.identity.type.expectation)
        }
        return GraphEvent(Operation(.delete, entity: route.entity.index, identity: identity))
    }

    // MARK: CSV

    /// Returns what reads the rows of a CSV file with these columns.
    ///
    /// - Throws: ``RouteError`` where no route, or no column, fits.
    public func rowDecoder(columns: [String], path: String) throws -> RowDecoder {
        guard let route = routes.first else {
            throw RouteError(
                description:
                    "Nothing says which entity the rows of \(path) are. Add an entry to 'files' with a route, or pass "
                    + "one with --route")
        }
        return try RowDecoder(route: route, model: model, columns: columns, path: path)
    }
}
