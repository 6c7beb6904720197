import GraphCore

extension EventFormat {
    /// CloudEvents, structured or binary mode.
    public static let cloudevents = EventFormat("cloudevents", CloudEventsFormat())
}

/// CloudEvents in JSON, structured or binary mode. The type names entity and verb, unless a route takes it.
///
/// Source: CloudEvents 1.0, JSON event format and Kafka protocol binding.
struct CloudEventsFormat: RecordFormat {
    func decode(
        _ value: UnsafeRawBufferPointer, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        let contentType = try Self.contentType(record)
        if contentType?.hasPrefix("application/cloudevents-batch") ?? false {
            throw DecodeError(
                code: "decode.content_type",
                "A batch of CloudEvents is not supported. Send each event in a record of its own")
        }
        // A record whose content is a whole event is structured, whatever its other headers are.
        if !(contentType?.hasPrefix("application/cloudevents") ?? false),
            let envelope = try binaryEnvelope(record, decoder)
        {
            let data = value.isEmpty ? nil : try self.data(value, contentType, decoder)
            guard let data, !data.isNull else { return try decodeWithoutData(envelope, record, decoder) }
            return try decodeData(data, envelope, record, decoder)
        }
        return try decodeStructured(try decoder.object(try decoder.parse(value)), record, decoder)
    }

    /// The content type that the record's headers state, in lower case and without parameters; nil for JSON and for none.
    private static func contentType(_ record: SourceRecord) throws(DecodeError) -> String? {
        if record.headers.isEmpty { return nil }
        let header = record.headers.last { $0.isNamed("content-type") || $0.isNamed("ce_datacontenttype") }
        guard let header, let value = header.value, !value.elementsEqual("application/json".utf8) else { return nil }
        // None is as long as that; to split a text takes more than linear time where a letter has many marks.
        return try header.text().flatMap { text in
            let start = String(decoding: text.utf8.prefix(256), as: UTF8.self).lowercased()
            return start.split(separator: ";").first.map { String($0.filter { !$0.isWhitespace }) }
        }
    }

    /// Reads the data of the binary mode: JSON by whatever name.
    private func data(
        _ value: UnsafeRawBufferPointer, _ contentType: String?, _ decoder: EventDecoder
    ) throws(DecodeError) -> JSONValue {
        do throws(DecodeError) {
            return try decoder.parse(value)
        } catch {
            guard let contentType, !contentType.hasSuffix("json") else { throw error }
            throw DecodeError(
                code: "decode.content_type",
                "The event's content type \(DecodeError.shown(contentType)) is not known, and its data is no JSON. Send the "
                    + "data as application/json")
        }
    }

    /// An event without data has a null value in binary mode. Other records say in their data what they delete.
    func decodeTombstone(_ record: SourceRecord, _ decoder: EventDecoder) throws(DecodeError) -> ChangeSet {
        if let envelope = try binaryEnvelope(record, decoder) {
            return try decodeWithoutData(envelope, record, decoder)
        }
        throw record.key?.isEmpty ?? true ? EventDecoder.noKey : EventDecoder.unclearKey
    }

    private func decodeStructured(
        _ root: JSONValue, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        let envelope = try CloudEvent.read(root, decoder)
        if let data = envelope.data { return try decodeData(data, envelope, record, decoder) }
        return try decodeWithoutData(envelope, record, decoder)
    }

    /// Decodes an event without data: a deletion, whose object the subject or the route's identity names.
    private func decodeWithoutData(
        _ envelope: CloudEvent, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        guard
            let route = decoder.routes.first(where: {
                $0.takes(type: envelope.type.text) && $0.takes(record, fields: nil)
            })
        else {
            if let deletion = try envelope.deletion(decoder) { return deletion }
            throw CloudEvent.noData
        }
        decoder.usage?.count(route)
        if route.isDrop { return decoder.skipped(.drop) }
        guard (route.verb ?? EventType.verb(of: envelope.type.text)?.verb) == .delete else { throw CloudEvent.noData }
        let scope = decoder.scope(record, root: try decoder.emptyObject())
        var operation = ObjectOperation(
            .delete, entity: route.entity.index,
            identity: try decoder.routedIdentity(route, scope, envelope.subject))
        if operation.identity.isNull { throw CloudEvent.noData }
        operation.time = envelope.time
        var nested: [ObjectOperation] = []
        decoder.complete(&operation, route, &nested)
        try decoder.objects.finish(&operation, decoder.circumstances(time: envelope.time, route))
        return ChangeSet(operation)
    }

    /// Returns the envelope of the binary mode, where the headers hold it, or nil in structured mode.
    private func binaryEnvelope(_ record: SourceRecord, _ decoder: EventDecoder) throws(DecodeError) -> CloudEvent? {
        guard let type = record.headers.last(where: { $0.isNamed("ce_type") && $0.value != nil })?.value else {
            return nil
        }
        let known = type.withUnsafeBufferPointer { bytes in
            Result { () throws(DecodeError) in try decoder.types.known(bytes) }
        }
        var envelope = CloudEvent(type: try known.get())
        for header in record.headers where header.value != nil {
            if header.isNamed("ce_time") {
                // Without its time a late event would overwrite newer ones, so a bad one is no event.
                guard let microseconds = try header.text().flatMap({ Timestamp.microseconds($0) }) else {
                    throw DecodeError(
                        code: "decode.envelope", "The header 'ce_time' has to be \(AttributeType.date.expectation)")
                }
                envelope.time = microseconds
            }
            if header.isNamed("ce_subject") { envelope.subject = try header.text() }
        }
        return envelope
    }

    private func decodeData(
        _ data: JSONValue, _ envelope: CloudEvent, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        if let route = decoder.routes.first(where: {
            $0.takes(type: envelope.type.text) && $0.takes(record, fields: data)
        }) {
            let scope = decoder.scope(record, root: data)
            decoder.usage?.count(route, scope, fields: scope, data: data)
            return try decoder.decode(
                data, route, type: envelope.type.text, time: envelope.time, scope, subject: envelope.subject)
        }
        return try envelope.changes(data, decoder.values, decoder)
    }
}
