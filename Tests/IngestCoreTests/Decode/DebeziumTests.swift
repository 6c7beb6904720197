import ObjectGraph
import TestSupport
import Testing

@testable import IngestCore
@testable import RecordDecoding

@Suite struct DebeziumTests {
    private typealias Records = DebeziumRecords

    private func decoder(
        _ model: ObjectModel? = nil, _ routes: [RouteConfiguration] = []
    ) throws -> TestDecoder {
        try TestDecoder(model ?? TestModels.chat(), format: .debezium, routes: routes)
    }

    private func route(_ entity: String, _ change: (inout RouteConfiguration) -> Void) -> RouteConfiguration {
        var route = RouteConfiguration(entity: entity)
        change(&route)
        return route
    }

    private let row = "{\"id\":\"m1\",\"body\":\"Hello\",\"chat_id\":\"c1\",\"seq\":7}"
    private let event = "Message m1 version=2026-01-02T03:04:05.123456Z body=Hello seq=7 chat=c1"

    // MARK: Operations

    @Test(arguments: ["c", "r", "u"]) func `creations reads and updates upsert the row`(operation: String) throws {
        #expect(try decoder().shown(Records.change(operation, after: row)) == ["upsert " + event])
    }

    @Test func `a deletion names its object by the row before`() throws {
        // With PostgreSQL's default replica identity all but the key is null.
        let before = "{\"id\":\"m1\",\"body\":null,\"chat_id\":null,\"seq\":0}"
        #expect(
            try decoder().shown(Records.change("d", before: before)) == [
                "delete Message m1 version=2026-01-02T03:04:05.123456Z"
            ])
    }

    @Test func `a deletion without a row is named by its key`() throws {
        let deletion = Records.change("d")
        for key in [
            "{\"id\":\"m1\"}", "{\"schema\":{\"type\":\"struct\"},\"payload\":{\"id\":\"m1\"}}", "m1", "\"m1\"",
        ] {
            #expect(
                try decoder().shown(TestRecord(deletion, key: key)) == [
                    "delete Message m1 version=2026-01-02T03:04:05.123456Z"
                ])
        }
        let failure = try #require(try decoder().failure(deletion))
        #expect(failure.code == "decode.envelope" && failure.message.contains("no key"), "\(failure)")
        #expect(failure.message.contains("kcat -C -J") && failure.message.contains("REPLICA IDENTITY FULL"))
    }

    @Test func `the tombstone behind a deletion is passed over`() throws {
        let decoder = try decoder()
        for record in [
            TestRecord(nil, key: "{\"id\":\"m1\"}"), TestRecord("{\"schema\":null,\"payload\":null}"),
            TestRecord("null"),
        ] {
            #expect(try decoder.shown(record).isEmpty)
            #expect(decoder.decoder.skipReason == .tombstone)
        }
        _ = try decoder.shown(Records.change("c", after: row))
        #expect(decoder.decoder.skipReason == nil)
    }

    @Test func `a truncation empties the table's entity`() throws {
        let operations = try decoder().event(TestRecord(Records.change("t"))).operations
        #expect(operations.count == 1 && operations[0].kind == .truncate && operations[0].identity == .null)
        #expect(operations[0].time == 1_767_323_045_123_456)
        #expect(try decoder().model.entities[operations[0].entity].name == "Message")
        let drop = route("") { ($0.table, $0.verb) = ("messages", .drop) }
        #expect(try decoder(nil, [drop]).event(TestRecord(Records.change("t"))).operations.isEmpty)
        let unknown = Records.change("t", source: Records.source(table: "unheard_of"))
        #expect(try decoder().failure(unknown)?.code == "decode.unknown_entity")
        #expect(try decoder().failure(Records.change("x"))?.code == "decode.operation")
    }

    @Test(arguments: [
        Records.change("m"), "{\"status\":\"BEGIN\",\"id\":\"571\",\"event_count\":null,\"data_collections\":null}",
        "{\"status\":\"END\",\"id\":\"571\",\"event_count\":2,\"data_collections\":[]}",
    ])
    func `messages and the marks of transactions are passed over`(record: String) throws {
        let decoder = try decoder()
        #expect(try decoder.shown(record).isEmpty)
        #expect(decoder.decoder.skipReason == .control)
    }

    @Test func `a record without an envelope is refused with a remedy`() throws {
        let flat = try #require(try decoder().failure(row))
        #expect(flat.code == "decode.envelope" && flat.description.contains("format: connect"))
        // The MongoDB connector writes documents as texts.
        #expect(try decoder().failure(Records.change("c", after: "\"{}\""))?.code == "decode.envelope")
        #expect(try decoder().failure(Records.change("c"))?.code == "decode.envelope")
    }

    // MARK: Tables and columns

    @Test func `a table is the entity of its name`() throws {
        let decoder = try decoder(TestModels.kinds())
        for table in ["work_orders", "WORK_ORDER", "WorkOrders"] {
            let change = Records.change(
                "c", after: "{\"id\":\"w1\",\"is_open\":true}", source: Records.source(table: table))
            #expect(
                try decoder.shown(change) == ["upsert WorkOrder w1 version=2026-01-02T03:04:05.123456Z isOpen=true"])
        }
        let unknown = Records.change("c", after: "{\"id\":\"w1\"}", source: Records.source(table: "customers"))
        #expect(decoder.failure(unknown)?.code == "decode.unknown_entity")
    }

    @Test func `numbers may identify by texts`() throws {
        let row = "{\"id\":17,\"chat_id\":4,\"sender_id\":null}"
        #expect(
            try decoder().shown(Records.change("c", after: row)) == [
                "upsert Message 17 version=2026-01-02T03:04:05.123456Z chat=4 sender=null"
            ])
    }

    @Test func `a route names table identity and columns`() throws {
        let decoder = try decoder(
            nil,
            [
                route("Message") {
                    ($0.table, $0.identity, $0.identityPrefix) = ("public.messages", .field("no"), "pg-")
                    ($0.aliases, $0.ignore) = (["text": "body"], ["*"])
                }
            ])
        let change = Records.change("u", after: "{\"no\":5,\"text\":\"Hi\",\"internal\":1}")
        #expect(try decoder.shown(change) == ["upsert Message pg-5 version=2026-01-02T03:04:05.123456Z body=Hi"])
        let other = Records.change("u", after: "{\"id\":\"u1\"}", source: Records.source(table: "members"))
        #expect(try decoder.shown(other) == ["upsert Member u1 version=2026-01-02T03:04:05.123456Z"])
    }

    @Test func `tables may be dropped and rows filtered`() throws {
        let decoder = try decoder(
            nil,
            [
                route("") { ($0.table, $0.verb) = ("audit", .drop) },
                route("Message") { ($0.table, $0.filter) = ("messages", "seq > 3") },
            ])
        #expect(try decoder.shown(Records.change("c", after: "{}", source: Records.source(table: "audit"))).isEmpty)
        #expect(decoder.decoder.skipReason == .drop)
        #expect(try decoder.shown(Records.change("c", after: "{\"id\":\"m1\",\"seq\":3}")).isEmpty)
        #expect(decoder.decoder.skipReason == .filter)
        #expect(try decoder.shown(Records.change("c", after: "{\"id\":\"m1\",\"seq\":4}")).count == 1)
        // What a deletion knows of the row may be its key alone.
        #expect(try decoder.shown(Records.change("d", before: "{\"id\":\"m1\",\"seq\":0}")).count == 1)
    }

    @Test func `the source may become properties`() throws {
        let decoder = try decoder(
            TestModels.kinds(),
            [
                route("WorkOrder") {
                    $0.fields = ["large": "source.lsn", "name": "source.table", "medium": "source.nothing"]
                }
            ])
        #expect(
            try decoder.shown(Records.change("c", after: "{\"id\":\"w1\"}")) == [
                "upsert WorkOrder w1 version=2026-01-02T03:04:05.123456Z large=24023128 name=messages"
            ])
    }

    @Test func `values that the database did not send stay as they are`() throws {
        let row = "{\"id\":\"m1\",\"body\":\"__debezium_unavailable_value\",\"seq\":8}"
        #expect(
            try decoder().shown(Records.change("u", after: row)) == [
                "upsert Message m1 version=2026-01-02T03:04:05.123456Z seq=8"
            ])
    }

    // MARK: Time

    @Test func `the time is that of the source`() throws {
        let decoder = try decoder()
        let seconds = "{\"table\":\"messages\",\"ts_ms\":1767323045123}"
        #expect(
            try decoder.shown(Records.change("c", after: "{\"id\":\"m1\"}", source: seconds)) == [
                "upsert Message m1 version=2026-01-02T03:04:05.123Z"
            ])
        // Snapshots of old connectors state a zero.
        let zero = "{\"table\":\"messages\",\"ts_ms\":0}"
        #expect(
            try decoder.shown(Records.change("r", after: "{\"id\":\"m1\"}", source: zero)) == [
                "upsert Message m1 version=2026-01-02T03:04:05.999001Z"
            ])
    }

    @Test func `a route may name another time`() throws {
        let decoder = try decoder(
            nil, [route("Message") { ($0.timeField, $0.dates) = ("ts_ms", .milliseconds) }])
        #expect(
            try decoder.shown(Records.change("c", after: "{\"id\":\"m1\"}")) == [
                "upsert Message m1 version=2026-01-02T03:04:05.999Z"
            ])
    }

    // MARK: The schema wrapper

    private let fields = [
        Records.field("id", "string"),
        Records.field("price", "bytes", "org.apache.kafka.connect.data.Decimal", scale: 2),
        Records.field("happened_at", "int64", "io.debezium.time.MicroTimestamp"),
        Records.field("name", "int64", "io.debezium.time.MicroTime"),
        Records.field("extra", "string", "io.debezium.data.Json"),
        Records.field("updated_at", "string", "io.debezium.time.ZonedTimestamp"),
    ]
    private let values = """
        {"id":"w1","price":"AMn/","happened_at":1767323045123456,"name":39845000001,"extra":"{\\"a\\": [1]}",\
        "updated_at":"2026-05-06T07:08:09.5+02:00"}
        """
    private let expected = """
        upsert WorkOrder w1 version=2026-05-06T05:08:09.500Z price=517.11 happenedAt=2026-01-02T03:04:05.123456Z \
        name=11:04:05.000001 extra={"a":[1]} updatedAt=2026-05-06T05:08:09.500Z
        """

    @Test func `the schema says what values mean`() throws {
        let decoder = try decoder(TestModels.kinds())
        let change = Records.change("u", before: values, after: values, source: Records.source(table: "work_orders"))
        #expect(try decoder.shown(Records.wrapped(change, row: fields)) == [expected])
        // The order of the schema's fields does not matter.
        #expect(try decoder.shown(Records.wrapped(change, row: fields.reversed())) == [expected])
    }

    @Test func `further objects of a row know its schema and its marks`() throws {
        let decoder = try decoder(
            TestModels.kinds(),
            [
                route("Part") {
                    ($0.identity, $0.ignore) = (.field("no"), ["*"])
                    $0.also = [route("WorkOrder") { $0.ignore = ["*"] }]
                }
            ])
        let row = #"{"no":1,"id":"w1","price":"AMn/","name":"__debezium_unavailable_value"}"#
        let schema = [Records.field("no", "int64"), fields[0], fields[1], Records.field("name", "string")]
        #expect(
            try decoder.shown(Records.wrapped(Records.change("c", after: row), row: schema)) == [
                "upsert WorkOrder w1 version=2026-01-02T03:04:05.123456Z price=517.11", "upsert Part 1",
            ])
    }

    @Test func `paths of the envelope and keys know the schema`() throws {
        let decoder = try decoder(
            TestModels.kinds(),
            [
                route("WorkOrder") {
                    ($0.fields, $0.ignore) = (["name": "{after.price}", "ratio": "after.price"], ["*"])
                }
            ])
        let change = Records.change("u", after: #"{"id":"w1","price":"AMn/"}"#)
        #expect(
            try decoder.shown(Records.wrapped(change, row: fields)) == [
                "upsert WorkOrder w1 version=2026-01-02T03:04:05.123456Z price=517.11 name=517.11 ratio=517.11"
            ])
        let field = Records.field("id", "bytes", "org.apache.kafka.connect.data.Decimal", scale: 0)
        let key = "{\"schema\":\(Records.structure([field])),\"payload\":{\"id\":\"Cg==\"}}"
        #expect(
            try decoder.shown(TestRecord(Records.change("d"), key: key)) == [
                "delete WorkOrder 10 version=2026-01-02T03:04:05.123456Z"
            ])
    }

    // MARK: Damage

    @Test func `no mutation stops the decoder`() throws {
        var random = SeededRandom.forTest("noMutationStopsTheDecoder")
        let model = try TestModels.kinds()
        let change = Records.change("u", before: values, after: values, source: Records.source(table: "work_orders"))
        let samples = [
            Records.wrapped(change, row: fields), change, Records.change("d", before: values),
            "\u{0}\u{0}\u{0}\u{0}\u{1}" + change,
        ].map { Array($0.utf8) }
        let split = { () -> RouteConfiguration in
            var route = RouteConfiguration(entity: "WorkOrder")
            var split = SplitConfiguration(field: "extra", entity: "Part", parent: "order")
            split.ignore = ["*"]
            (route.splits, route.ignore) = ([split], ["*"])
            return route
        }()
        let decoders = [
            try TestDecoder(model, format: .debezium), try TestDecoder(model, format: .debezium, routes: [split]),
            try TestDecoder(model, format: .connect, routes: [split]),
        ]
        var events = 0
        for round in 0..<3000 {
            var record = TestRecord(bytes: random.mutate(samples[round % samples.count]))
            if round % 3 == 0 { record.key = random.mutate(Array("{\"schema\":{},\"payload\":{\"id\":\"w1\"}}".utf8)) }
            let decoder = decoders[random.number(below: decoders.count)]
            // Every record is an event, is passed over, or says why it is none.
            do {
                let event = try decoder.event(record)
                #expect(!event.operations.isEmpty || decoder.decoder.skipReason != nil)
                events += event.operations.isEmpty ? 0 : 1
                #expect(event.operations.allSatisfy { !$0.identity.isNull })
            } catch {
                #expect((error as? DecodeError)?.description.isEmpty == false)
            }
        }
        #expect(events > 0)
    }

    // MARK: JSON and dates without their schemas

    @Test func `a column of JSON has one value with the schema and without`() throws {
        let source = Records.source(table: "work_orders")
        let row = #"{"id":"w1","extra":"{\"lang\": \"de\", \"n\": [1, 2]}"}"#
        let expected = [
            #"upsert WorkOrder w1 version=2026-01-02T03:04:05.123456Z extra={"lang":"de","n":[1,2]}"#
        ]
        let change = Records.change("c", after: row, source: source)
        let fields = [Records.field("id", "string"), Records.field("extra", "string", "io.debezium.data.Json")]
        #expect(try decoder(TestModels.kinds()).shown(Records.wrapped(change, row: fields)) == expected)
        let plain = try decoder(TestModels.kinds(), [route("WorkOrder") { $0.types = ["extra": .json] }])
        #expect(try plain.shown(change) == expected)
        #expect(try plain.shown(Records.wrapped(change, row: fields)) == expected)
        // A producer that sends JSON itself, and null, need no parser.
        let own = #"{"id":"w1","extra":{"lang":"de","n":[1,2]}}"#
        #expect(try plain.shown(Records.change("c", after: own, source: source)) == expected)
        let none = Records.change("c", after: #"{"id":"w1","extra":null}"#, source: source)
        #expect(try plain.shown(none) == ["upsert WorkOrder w1 version=2026-01-02T03:04:05.123456Z extra=null"])
        let broken = Records.change("c", after: #"{"id":"w1","extra":"{\"lang\""}"#, source: source)
        let failure = try #require(plain.failure(broken))
        #expect(failure.code == "decode.type" && failure.message.contains("a text that holds JSON"), "\(failure)")
    }

    @Test func `a number for a date is refused with its unit, which a route states by property or column`() throws {
        let source = Records.source(table: "work_orders")
        let row = #"{"id":"w1","happened_at":1767312000001000}"#
        let change = Records.change("c", after: row, source: source)
        let failure = try #require(try decoder(TestModels.kinds()).failure(change))
        #expect(failure.code == "decode.type")
        #expect(
            failure.message.hasSuffix(". State its unit in a route: types: { happenedAt: microseconds }"), "\(failure)")
        for name in ["happenedAt", "happened_at"] {
            let stated = try decoder(TestModels.kinds(), [route("WorkOrder") { $0.types = [name: .microseconds] }])
            #expect(
                try stated.shown(change) == [
                    "upsert WorkOrder w1 version=2026-01-02T03:04:05.123456Z happenedAt=2026-01-02T00:00:00.001Z"
                ])
        }
    }
}
