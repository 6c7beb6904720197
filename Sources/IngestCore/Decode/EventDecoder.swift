import ObjectGraph

/// Turns the records of one topic or file into events.
///
/// Used by one thread: the parser's memory is reused from record to record.
public final class EventDecoder {
    /// Why a record without a fault asks nothing of the store.
    public enum SkipReason: String, Sendable {
        /// The route's filter does not hold.
        case filter
        /// The route drops it.
        case drop
        /// A null value behind a deletion that did the work.
        case tombstone
    }

    let model: ObjectModel
    let format: EventFormat
    let routes: [Route]
    let parser: JSONParser
    let objects: ObjectDecoder
    let connect: ConnectValues
    let maximumRecordBytes: Int
    /// How rows are read that no route takes, one for each entity; empty for other formats.
    let columns: [ObjectDecoder.PropertyTable]
    var types: EventTypeResolver
    var tables: TableResolver
    /// Why the last record's event has no operations, or nil where it has some.
    public internal(set) var skipReason: SkipReason?

    /// Makes a decoder.
    ///
    /// - Parameters:
    ///   - model: the entities that events may name.
    ///   - format: how a record says what it is.
    ///   - routes: what makes events of records that do not say it themselves; the first that matches serves.
    ///   - place: names the topic or file in errors.
    ///   - position: where the topic or file stands in the configuration.
    ///   - limits: the greatest size and depth of a record.
    /// - Throws: ``RouteError`` where a route does not fit the model.
    public init(
        model: ObjectModel, format: EventFormat, routes: [RouteConfiguration], place: String,
        position: ConfigurationPlace = ConfigurationPlace(), limits: LimitConfiguration = LimitConfiguration()
    ) throws {
        if format == .json || format == .connect, routes.isEmpty {
            throw RouteError(
                description: position.prefix
                    + "The format '\(format.rawValue)' of \(place) needs routes that name the entity. "
                    + "Add 'routes: [{entity: …}]'.")
        }
        self.model = model
        self.format = format
        let takesColumns = format == .debezium
        self.routes = try routes.map { try Route($0, model: model, place: place, takesColumns: takesColumns) }
        maximumRecordBytes = limits.maxRecordBytes
        parser = try JSONParser(depthLimit: limits.maxDepth, maximumBytes: limits.maxRecordBytes)
        connect = try ConnectValues(depthLimit: limits.maxDepth, maximumBytes: limits.maxRecordBytes)
        objects = ObjectDecoder(model: model)
        columns = takesColumns ? model.entities.map { ObjectDecoder.columnTable($0) } : []
        types = EventTypeResolver(model)
        tables = TableResolver(model)
    }

    /// Decodes a record.
    ///
    /// An event without operations asks nothing of the store; ``skipReason`` says why.
    ///
    /// - Throws: ``DecodeError``.
    public func decode(_ record: SourceRecord) throws(DecodeError) -> GraphEvent {
        skipReason = nil
        if let fault = record.fault { throw fault }
        if record.totalBytes > maximumRecordBytes {
            throw DecodeError(
                code: "decode.too_large",
                "The record has \(record.totalBytes) bytes, more than limits.maxRecordBytes (\(maximumRecordBytes)). Send it in "
                    + "parts, or raise the limit. Only its beginning is kept here")
        }
        guard let value = record.value else { return try decodeTombstone(record) }
        if RegistryFormat.matches(value) { return try decodeRegistered(value, record) }
        do throws(DecodeError) {
            return try decode(value, record)
        } catch {
            if error.code.hasPrefix("json."), RegistryFormat.isNamed(by: record.headers) {
                throw RegistryFormat.refusal(value)
            }
            throw error
        }
    }

    private func decode(_ value: UnsafeRawBufferPointer, _ record: SourceRecord) throws(DecodeError) -> GraphEvent {
        if format == .cloudevents, let envelope = try binaryEnvelope(record) {
            return try decodeData(try parse(value), envelope, record)
        }
        let root = try parse(value)
        if root.isNull, format == .debezium || format == .connect { return try decodeTombstone(record) }
        guard root.kind == .object else {
            throw DecodeError(
                code: "decode.type", "The record has to be a JSON object, not \(ObjectDecoder.article(root))")
        }
        switch format {
        case .cloudevents: return try decodeStructured(root, record)
        case .json: return try decodeRouted(root, record)
        case .connect: return try decodeConnect(root, record)
        case .debezium: return try decodeDebezium(root, record)
        }
    }

    /// Decodes what the schema registry's serialiser wrote, where that is JSON.
    private func decodeRegistered(
        _ value: UnsafeRawBufferPointer, _ record: SourceRecord
    ) throws(DecodeError) -> GraphEvent {
        let content = RegistryFormat.content(value)
        guard let root = try? parser.parse(content).root, root.kind == .object else {
            throw RegistryFormat.refusal(value)
        }
        return try decode(content, record)
    }

    func parse(_ bytes: UnsafeRawBufferPointer) throws(DecodeError) -> JSONValue {
        do {
            return try parser.parse(bytes).root
        } catch {
            throw DecodeError(error)
        }
    }

    /// An event that asks nothing of the store.
    func skipped(_ reason: SkipReason) -> GraphEvent {
        skipReason = reason
        return GraphEvent([])
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
            if let deletion = try deletion(envelope, record) { return deletion }
            throw DecodeError(code: "decode.envelope", "The event has no 'data'; send the object's properties there")
        }
        return try decodeData(data, envelope, record)
    }

    /// A deletion needs no data where the subject names the object and no route takes the event.
    private func deletion(_ envelope: Envelope, _ record: SourceRecord) throws(DecodeError) -> GraphEvent? {
        if routes.contains(where: { $0.takes(type: envelope.type) && $0.takes(record, fields: nil) }) { return nil }
        let type = try types.resolve(envelope.type)
        let entity = model.entities[type.entity]
        guard type.verb == .delete, let subject = envelope.subject,
            let identity = entity.identityValue(fromText: subject)
        else { return nil }
        var operation = ObjectOperation(.delete, entity: entity.index, identity: identity)
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
        if let route = routes.first(where: { $0.takes(type: envelope.type) && $0.takes(record, fields: data) }) {
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

    // MARK: CSV

    /// Returns what reads the rows of a CSV file with these columns.
    ///
    /// - Throws: ``RouteError`` where no route, or no column, fits.
    public func rowDecoder(columns: [String], path: String) throws -> RowDecoder {
        guard let route = routes.first else {
            throw RouteError(
                description:
                    "Nothing says which entity the rows of \(path) are. Add an entry to 'files' whose route names it")
        }
        return try RowDecoder(route: route, model: model, columns: columns, path: path)
    }
}
