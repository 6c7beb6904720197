import ObjectGraph

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
        let contentType = Self.contentType(record)
        if contentType?.hasPrefix("application/cloudevents-batch") ?? false {
            throw DecodeError(
                code: "decode.content_type",
                "A batch of CloudEvents is not supported. Send each event in a record of its own")
        }
        // A record whose content is a whole event is structured, whatever its other headers are.
        if !(contentType?.hasPrefix("application/cloudevents") ?? false),
            let envelope = try binaryEnvelope(record, decoder)
        {
            return try decodeData(try data(value, contentType, decoder), envelope, record, decoder)
        }
        return try decodeStructured(try decoder.object(try decoder.parse(value)), record, decoder)
    }

    /// The content type that the record's headers state, in lower case and without parameters; nil for JSON and for none.
    private static func contentType(_ record: SourceRecord) -> String? {
        if record.headers.isEmpty { return nil }
        let header = record.headers.last { $0.name == "content-type" || $0.name == "ce_datacontenttype" }
        guard let value = header?.value, !value.elementsEqual("application/json".utf8) else { return nil }
        let text = String(decoding: value, as: UTF8.self).lowercased()
        return text.split(separator: ";").first.map { String($0.filter { !$0.isWhitespace }) }
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

    /// A CloudEvent says in its data what it deletes.
    func decodeTombstone(_ record: SourceRecord, _ decoder: EventDecoder) throws(DecodeError) -> ChangeSet {
        throw record.key?.isEmpty ?? true ? EventDecoder.noKey : EventDecoder.unclearKey
    }

    /// The attributes of a CloudEvent, and in structured mode its data.
    private struct Envelope {
        var type: EventTypeResolver.Known
        var time: Int64?
        var subject: String?
        var data: JSONValue?
    }

    /// The members of a CloudEvent that say something, found in one pass; of duplicate keys the last wins.
    private struct Members {
        var type, time, subject, data, base64: JSONValue?

        init(_ root: JSONValue) {
            for (key, value) in root.members {
                let name = UnsafeRawBufferPointer(key)
                switch key.count {
                case 4 where name.hasSameBytes(as: "type"): type = value
                case 4 where name.hasSameBytes(as: "time"): time = value
                case 4 where name.hasSameBytes(as: "data"): data = value
                case 7 where name.hasSameBytes(as: "subject"): subject = value
                case 11 where name.hasSameBytes(as: "data_base64"): base64 = value
                default: break
                }
            }
        }
    }

    /// Decodes a whole event by the convention, as a program makes it.
    static func event(_ root: JSONValue, _ decoder: EventDecoder) throws(DecodeError) -> ChangeSet {
        let envelope = try envelope(try decoder.object(root), decoder)
        var values = decoder.values
        values.takesIntegerTexts = true
        if let data = envelope.data { return try decodeByConvention(data, envelope, values, decoder) }
        if let deletion = try deletion(envelope, decoder) { return deletion }
        throw noData
    }

    private func decodeStructured(
        _ root: JSONValue, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        let envelope = try Self.envelope(root, decoder)
        if let data = envelope.data { return try decodeData(data, envelope, record, decoder) }
        // A deletion needs no data where the subject names the object and no route takes the event.
        let isRouted = decoder.routes.contains { $0.takes(type: envelope.type.text) && $0.takes(record, fields: nil) }
        if !isRouted, let deletion = try Self.deletion(envelope, decoder) { return deletion }
        throw Self.noData
    }

    private static let noData = DecodeError(
        code: "decode.envelope", "The event has no 'data'; send the object's properties there")

    @inline(__always)
    private static func envelope(_ root: JSONValue, _ decoder: EventDecoder) throws(DecodeError) -> Envelope {
        let members = Members(root)
        guard let type = members.type?.utf8 else {
            throw DecodeError(
                code: "decode.envelope",
                "This is no CloudEvent: it has no text 'type'. Send CloudEvents, or give the topic 'format: json' with a route"
            )
        }
        var envelope = Envelope(type: decoder.types.known(type), subject: members.subject?.string)
        if let time = members.time, !time.isNull {
            guard let bytes = time.utf8, let microseconds = Timestamp.microseconds(utf8: bytes) else {
                throw DecodeError(
                    code: "decode.envelope", "The event's 'time' has to be \(AttributeType.date.expectation)")
            }
            envelope.time = microseconds
        }
        if members.base64 != nil {
            throw DecodeError(
                code: "decode.envelope", "'data_base64' is not supported; send the data as JSON in 'data'")
        }
        envelope.data = members.data
        return envelope
    }

    private static func deletion(_ envelope: Envelope, _ decoder: EventDecoder) throws(DecodeError) -> ChangeSet? {
        let type = try envelope.type.meaning.get()
        let entity = decoder.model.entities[type.entity]
        guard type.verb == .delete, let subject = envelope.subject,
            let identity = entity.identityValue(fromText: subject)
        else { return nil }
        var operation = ObjectOperation(.delete, entity: entity.index, identity: identity)
        operation.time = envelope.time
        try decoder.objects.finish(&operation, ObjectDecoder.Circumstances(time: envelope.time))
        return ChangeSet(operation)
    }

    /// Returns the envelope of the binary mode, where the headers hold it, or nil in structured mode.
    private func binaryEnvelope(_ record: SourceRecord, _ decoder: EventDecoder) throws(DecodeError) -> Envelope? {
        var envelope: Envelope?
        for header in record.headers where header.name == "ce_type" {
            envelope = header.value.map { type in
                Envelope(type: type.withUnsafeBufferPointer { decoder.types.known($0) })
            }
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
        _ data: JSONValue, _ envelope: Envelope, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        if let route = decoder.routes.first(where: {
            $0.takes(type: envelope.type.text) && $0.takes(record, fields: data)
        }) {
            let scope = decoder.scope(record, root: data)
            decoder.usage?.count(route, scope, fields: scope, data: data)
            return try decoder.decode(
                data, route, type: envelope.type.text, time: envelope.time, scope, subject: envelope.subject)
        }
        return try Self.decodeByConvention(data, envelope, decoder.values, decoder)
    }

    private static func decodeByConvention(
        _ data: JSONValue, _ envelope: Envelope, _ values: ValueDecoding, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        let type = try envelope.type.meaning.get()
        let entity = decoder.model.entities[type.entity]
        // The subject names the object where the data does not.
        let identity = envelope.subject.flatMap { entity.identityValue(fromText: $0) } ?? .null
        var event = ChangeSet([])
        _ = try decoder.objects.decode(
            data, entity: entity, kind: type.verb,
            ObjectDecoder.Circumstances(time: envelope.time, values: values), identity: identity,
            into: &event.operations)
        return event
    }
}
