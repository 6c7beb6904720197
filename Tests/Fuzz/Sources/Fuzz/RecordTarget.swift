import IngestCore
import KafkaClient
import ObjectGraph

/// Records of each format are decoded and applied: whatever comes ends as an event or as an error with a code, and what
/// the checks in memory pass, the store's schema takes.
struct RecordTarget: FuzzTarget {
    private let decoders: [EventDecoder]
    private let writer: WriterContext

    init() throws {
        let model = try Models.load("chat")
        let topics = try WorkerConfiguration.load(yaml: Self.topics, name: "fuzz.yaml").configuration.topics
        decoders = try topics.map {
            try EventDecoder(model: model, format: $0.format, routes: $0.routes, place: $0.name)
        }
        writer = try WriterContext(store: try Store.inMemory(model: model))
    }

    private static let topics = """
        topics:
          - name: cloudevents
          - name: debezium
            format: debezium
          - name: connect
            format: connect
            routes:
              - { entity: Message, dates: milliseconds, aliases: { text: body } }
          - name: json
            format: json
            routes:
              - { type: heartbeat, typeField: kind, verb: drop }
              - entity: Chat
                where: "kind = 'chat'"
                timeField: at
                split: [{ field: lines, entity: Message, parent: chat, identity: $row, identityPrefix: "$parent-", replace: true }]
              - { entity: Message, data: payload, filter: "live = true", defaults: { seq: 3 }, types: { seq: text } }
          - { name: maxwell, format: maxwell }
          - { name: canal, format: canal, nullValues: ["", "NA"] }
          - { name: dms, format: dms }
          - name: expressions
            format: json
            routes:
              - entity: Message
                where: 'body."a.b"[0].c-d != nil'
                identity: "{$key}-{list[1].id}"
                timeField: at
                dates: "dd.MM.yyyy HH:mm"
                zone: Europe/Berlin
                fields: { body: "{a.b}/{$topic}", chat: "{chat.id}" }
                ignore: ["*"]
              - entity: Chat
                identity: "{id}"
                prefixReferences: ["*"]
                identityPrefix: p-
                add: { members: joined }
                ignore: ["*"]
                split:
                  - { field: map, map: true, entity: Message, parent: chat, fields: { body: $value } }
                  - { field: deep.list, entity: Message, relationship: messages, identity: "{$parent}/{$row}", ignore: ["*"] }
                also: [{ entity: Message, data: message, ignore: ["*"] }]
        """

    /// The first byte chooses the format and whether there is a key; a key is what stands before the first NUL.
    func take(_ bytes: UnsafeRawBufferPointer) throws {
        guard let first = bytes.first else { return }
        let decoder = decoders[Int(first >> 1) % decoders.count]
        var value = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
        var key: UnsafeRawBufferPointer?
        if first & 1 != 0, let end = value.firstIndex(of: 0) {
            key = UnsafeRawBufferPointer(rebasing: value[..<end])
            value = UnsafeRawBufferPointer(rebasing: value[(end + 1)...])
        }
        let place = RecordPlace(topic: "topic", partition: 0, offset: 7)
        var record = SourceRecord(place: place, key: key, value: first & 8 == 0 ? value : nil)
        if first & 16 != 0 {
            record.headers = [
                RecordHeader("ce_specversion", Array("1.0".utf8)),
                RecordHeader("ce_type", Array("message.upserted".utf8)),
                RecordHeader("ce_id", Array("e".utf8)),
                RecordHeader("ce_source", Array("/fuzz".utf8)),
            ]
        }
        let event: ChangeSet
        do {
            event = try decoder.decode(record)
        } catch {
            if error.code.isEmpty || error.description.isEmpty { throw Broken("an error without words") }
            return
        }
        let result = try writer.apply(WriterContext.Chunk(events: [event]))
        if case .failed(let failure)? = result.outcomes.first, failure.code.hasPrefix("store.") {
            throw Broken("the schema refused what the checks had passed: \(failure)")
        }
        try writer.rollback()
    }
}

/// The models that the targets work on.
enum Models {
    /// The repository's folder.
    static let root = String(#filePath.dropLast("Tests/Fuzz/Sources/Fuzz/RecordTarget.swift".count))

    static func load(_ name: String) throws -> ObjectModel {
        try ObjectModel.load(path: root + "config/models/\(name).yaml")
    }
}
