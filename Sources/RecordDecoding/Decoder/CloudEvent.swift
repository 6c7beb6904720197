import GraphCore

/// The attributes of a CloudEvent, and in structured mode its data.
///
/// Source: CloudEvents 1.0, JSON event format.
struct CloudEvent {
    var type: EventTypeResolver.Known
    var time: Int64?
    var subject: String?
    var data: JSONValue?

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

    /// Decodes a whole event by the convention, as the program of a route makes it.
    static func changes(
        _ root: JSONValue, _ route: Route, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        let envelope = try read(try decoder.object(root), decoder)
        var values = route.values
        (values.takesNumberTexts, values.takesTexts) = (true, false)
        if let data = envelope.data {
            return try envelope.changes(data, values, decoder, tables: route.programTables)
        }
        if let deletion = try envelope.deletion(decoder) { return deletion }
        throw noData
    }

    static let noData = DecodeError(
        code: "decode.envelope",
        "The event has no 'data'; send the object's properties there. A deletion without data names its object by 'subject'"
    )

    @inline(__always)
    static func read(_ root: JSONValue, _ decoder: EventDecoder) throws(DecodeError) -> CloudEvent {
        let members = Members(root)
        guard let type = members.type?.utf8 else {
            throw DecodeError(
                code: "decode.envelope",
                "This is no CloudEvent: it has no text 'type'. Send CloudEvents, or give the topic 'format: json' with a route"
            )
        }
        var envelope = CloudEvent(type: try decoder.types.known(type), subject: members.subject?.string)
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
        envelope.data = members.data.flatMap { $0.isNull ? nil : $0 }
        return envelope
    }

    func deletion(_ decoder: EventDecoder) throws(DecodeError) -> ChangeSet? {
        let type = try type.meaning.get()
        let entity = decoder.model.entities[type.entity]
        guard type.verb == .delete, let subject = subject,
            let identity = entity.identityValue(fromText: subject)
        else { return nil }
        var operation = ObjectOperation(.delete, entity: entity.index, identity: identity)
        operation.time = time
        try decoder.objects.finish(&operation, ObjectDecoder.Circumstances(time: time))
        return ChangeSet(operation)
    }

    /// - Parameter tables: how values of each entity are written; empty where they are as their types say.
    func changes(
        _ data: JSONValue, _ values: ValueDecoding, _ decoder: EventDecoder,
        tables: [ObjectDecoder.PropertyTable] = []
    ) throws(DecodeError) -> ChangeSet {
        let type = try type.meaning.get()
        let entity = decoder.model.entities[type.entity]
        // The subject names the object where the data does not.
        let identity = subject.flatMap { entity.identityValue(fromText: $0) } ?? .null
        var event = ChangeSet([])
        let circumstances = ObjectDecoder.Circumstances(time: time, values: values)
        guard !tables.isEmpty else {
            _ = try decoder.objects.decode(
                data, entity: entity, kind: type.verb, circumstances, identity: identity, into: &event.operations)
            return event
        }
        let row = ObjectDecoder.Row(
            entity: entity, kind: type.verb, circumstances: circumstances, table: tables[entity.index])
        var (operation, _) = try decoder.objects.read(data, row, connect: decoder.connect, into: &event.operations)
        if operation.identity.isNull { operation.identity = identity }
        try decoder.objects.finish(&operation, circumstances)
        event.operations.append(operation)
        return event
    }
}
