import KafkaClient
import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

@Suite struct EventDecoderTests {
    // MARK: CloudEvents

    @Test func `reads the structured mode`() throws {
        let decoder = try TestDecoder(TestModels.chat())
        #expect(
            try decoder.shown(
                """
                {"specversion":"1.0","id":"1","source":"/s","type":"message.upserted","time":"2026-01-02T03:04:05Z",
                 "data":{"id":"m1","body":"Hello","chat":"c1"}}
                """) == ["upsert Message m1 version=2026-01-02T03:04:05Z body=Hello chat=c1"])
    }

    @Test func `reads the binary mode`() throws {
        let decoder = try TestDecoder(TestModels.chat())
        let record = TestRecord(
            "{\"body\":\"Hello\"}",
            headers: [
                "ce_type": "message.updated", "ce_time": "2026-01-02T03:04:05Z", "ce_subject": "m1", "other": nil,
            ])
        #expect(try decoder.shown(record) == ["upsert Message m1 version=2026-01-02T03:04:05Z body=Hello"])
    }

    private func deletions(_ subject: String?, time: String? = nil) -> [TestRecord] {
        let structured =
            "{\"type\":\"message.deleted\"\(subject.map { ",\"subject\":\"\($0)\"" } ?? "")"
            + (time.map { ",\"time\":\"\($0)\"" } ?? "")
        let headers: KeyValuePairs<String, String?> = [
            "ce_type": "message.deleted", "ce_subject": subject, "ce_time": time,
        ]
        return [
            TestRecord(structured + "}"), TestRecord(structured + ",\"data\":null}"),
            TestRecord(nil, headers: headers), TestRecord(nil, key: "k", headers: headers),
            TestRecord("", headers: headers), TestRecord("null", headers: headers),
        ]
    }

    @Test func `a deletion needs no data where its subject names the object`() throws {
        for record in deletions("m1", time: "2026-01-02T03:04:05Z") {
            let expected = ["delete Message m1 version=2026-01-02T03:04:05Z"]
            #expect(try TestDecoder(TestModels.chat()).shown(record) == expected)
            var route = RouteConfiguration(entity: "Message")
            route.type = "message.deleted"
            #expect(try TestDecoder(TestModels.chat(), routes: [route]).shown(record) == expected)
            route.identityPrefix = "x-"
            #expect(
                try TestDecoder(TestModels.chat(), routes: [route]).shown(record) == [
                    "delete Message x-m1 version=2026-01-02T03:04:05Z"
                ])
            route.verb = .drop
            #expect(try TestDecoder(TestModels.chat(), routes: [route]).shown(record).isEmpty)
            route.verb = .upsert
            #expect(try TestDecoder(TestModels.chat(), routes: [route]).failure(record)?.code == "decode.envelope")
        }
        for record in deletions(nil) {
            #expect(try TestDecoder(TestModels.chat()).failure(record)?.code == "decode.envelope")
        }
        var route = RouteConfiguration(entity: "Message")
        route.identity = .field("$key")
        let byKey = try TestDecoder(TestModels.chat(), routes: [route])
        #expect(try byKey.shown(TestRecord(nil, key: "m1", headers: ["ce_type": "a.deleted"])) == ["delete Message m1"])
        #expect(byKey.failure(TestRecord(nil, headers: ["ce_type": "a.deleted"]))?.code == "decode.envelope")
    }

    @Test func `an upsert without data is a dead letter`() throws {
        let decoder = try TestDecoder(TestModels.chat())
        for value in [nil, "", "null"] {
            let record = TestRecord(value, headers: ["ce_type": "message.upserted", "ce_subject": "m1"])
            #expect(decoder.failure(record)?.code == "decode.envelope")
        }
    }

    @Test(arguments: ["ce_type", "ce_time", "ce_subject", "content-type"])
    func `a header of an event that is not UTF-8 is a dead letter`(name: String) throws {
        var record = TestRecord("{\"id\":\"m1\"}", headers: ["ce_type": "message.updated"])
        record.headers.append(RecordHeader(name, [0x6D, 0xFF]))
        let failure = try #require(try TestDecoder(TestModels.chat()).failure(record))
        #expect(failure.code == "decode.type" && failure.description.contains("'\(name)'"))
        record.headers[1] = RecordHeader("other", [0xFF])
        #expect(try TestDecoder(TestModels.chat()).shown(record) == ["upsert Message m1"])
    }

    @Test func `a binary event's time has to be one`() throws {
        let decoder = try TestDecoder(TestModels.chat())
        let record = TestRecord(
            "{\"id\":\"m1\"}", headers: ["ce_type": "message.updated", "ce_time": "yesterday"])
        let failure = try #require(decoder.failure(record))
        #expect(failure.code == "decode.envelope")
        #expect(failure.description.contains("ce_time") && !failure.description.contains("yesterday"))
    }

    @Test(arguments: [
        ("message.upserted", "upsert"), ("message.created", "upsert"), ("message.updated", "upsert"),
        ("message.patched", "upsert"), ("message.deleted", "delete"), ("message.removed", "delete"),
        ("Message.Created", "upsert"), ("com.example.chat.message.deleted", "delete"),
    ])
    func `knows the verbs`(type: String, verb: String) throws {
        let decoder = try TestDecoder(TestModels.chat())
        #expect(try decoder.shown(type, "{\"id\":\"m1\"}") == ["\(verb) Message m1"])
    }

    @Test(arguments: ["com.example.work-order.created", "work_order.created", "WorkOrder.created", "workorder.created"])
    func `names entities loosely`(type: String) throws {
        let decoder = try TestDecoder(TestModels.kinds())
        #expect(try decoder.shown(type, "{\"id\":\"w1\"}") == ["upsert WorkOrder w1"])
    }

    @Test func `takes the identity from the subject where the data has none`() throws {
        let decoder = try TestDecoder(TestModels.kinds())
        let subject = "{\"type\":\"part.deleted\",\"subject\":\"17\",\"data\":{}}"
        #expect(try decoder.shown(subject) == ["delete Part 17"])
        let both = "{\"type\":\"part.updated\",\"subject\":\"17\",\"data\":{\"number\":18}}"
        #expect(try decoder.shown(both) == ["upsert Part 18"])
        #expect(
            decoder.failure("{\"type\":\"part.deleted\",\"subject\":\"x\",\"data\":{}}")?.code
                == "decode.missing_identity")
    }

    @Test func `a stated version goes before the event's time`() throws {
        let decoder = try TestDecoder(TestModels.chat())
        let event = """
            {"type":"chat.updated","time":"2026-01-01T00:00:00Z","data":{"id":"c1","updatedAt":"2026-02-02T00:00:00Z"}}
            """
        #expect(
            try decoder.shown(event) == [
                "upsert Chat c1 version=2026-02-02T00:00:00Z updatedAt=2026-02-02T00:00:00Z"
            ])
    }

    @Test(arguments: [
        ("{\"data\":{}}", "decode.envelope", "'type'"),
        ("{\"type\":7,\"data\":{}}", "decode.envelope", "'type'"),
        ("{\"type\":\"message.created\"}", "decode.envelope", "'data'"),
        ("{\"type\":\"message.created\",\"time\":\"noon\",\"data\":{}}", "decode.envelope", "'time'"),
        ("{\"type\":\"message.created\",\"time\":12,\"data\":{}}", "decode.envelope", "'time'"),
        ("{\"type\":\"message.created\",\"data_base64\":\"e30=\"}", "decode.envelope", "'data_base64'"),
        ("{\"type\":\"message.read\",\"data\":{}}", "decode.event_type", "'message.read'"),
        ("{\"type\":\"message\",\"data\":{}}", "decode.event_type", "upserted"),
        ("{\"type\":\"invoice.created\",\"data\":{}}", "decode.unknown_entity", "Chat, Message, Member"),
        ("{\"type\":\"message.created\",\"data\":[]}", "decode.type", "Message"),
        ("{\"type\":\"message.created\",\"data\":null}", "decode.envelope", "'data'"),
        ("[]", "decode.type", "an array"), ("null", "decode.type", "null"), ("7", "decode.type", "this number"),
    ])
    func `says what is wrong with an envelope`(json: String, code: String, part: String) throws {
        let failure = try #require(try TestDecoder(TestModels.chat()).failure(json))
        #expect(failure.code == code)
        #expect(failure.description.contains(part), "\(failure)")
        #expect(!failure.isRetriable)
    }

    @Test func `forgets types before they fill the memory`() throws {
        let resolver = EventTypeResolver(try TestModels.chat())
        func known(_ type: String) throws -> EventType {
            try Array(type.utf8).withUnsafeBufferPointer { try resolver.known($0) }.meaning.get()
        }
        for number in 0..<3000 {
            #expect(try known("n\(number).chat.created").entity == 0)
            #expect(resolver.knownCount <= 1024)
        }
        #expect(try known("chat.deleted").verb == .delete)
        let count = resolver.knownCount
        #expect(try known(String(repeating: "long.", count: 100) + "chat.deleted").verb == .delete)
        #expect(resolver.knownCount == count)
    }

    // MARK: Limits and broken bytes

    @Test func `refuses deep nesting`() throws {
        let decoder = try TestDecoder(TestModels.kinds())
        let deep = String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000)
        let failure = try #require(decoder.failure("workorder.created", "{\"id\":\"w1\",\"extra\":\(deep)}"))
        #expect(failure.code == "json.depth")
        #expect(failure.description.contains("64 levels"))
    }

    @Test func `refuses large records`() throws {
        let decoder = try TestDecoder(TestModels.chat())
        let json = "{\"type\":\"message.created\",\"data\":{\"id\":\"m1\",\"body\":\""
        let record = TestRecord(bytes: Array(json.utf8) + [UInt8](repeating: 0x61, count: 20_000_000))
        let failure = try #require(decoder.failure(record))
        #expect(failure.code == "decode.too_large")
        #expect(failure.description.contains("16777216"))
    }

    @Test(
        arguments: [
            ([0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D], "json.utf8"),
            (Array("{\"type\":\"message.cr".utf8), "json.truncated"),
            (Array("{\"type\":\"message.created\",\"data\":{\"id\":\"m1\"".utf8), "json.truncated"), ([], "json.empty"),
            (Array("{} {}".utf8), "json.trailing"), (Array("{\"type\":nil}".utf8), "json.syntax"),
        ] as [([UInt8], String)])
    func `refuses broken bytes`(bytes: [UInt8], code: String) throws {
        #expect(try TestDecoder(TestModels.chat()).failure(TestRecord(bytes: bytes))?.code == code)
    }

    @Test func `passes on what the source found`() throws {
        let decoder = try TestDecoder(TestModels.chat())
        let fault = DecodeError(code: "record.comma", "A comma is missing.")
        let found = TestRecord("{}").deliver { record in
            var record = record
            record.fault = fault
            return caught(DecodeError.self) { try decoder.decoder.decode(record) }
        }
        #expect(found == fault)
    }

    // MARK: Null values

    @Test func `a null value without key says nothing`() throws {
        let route = RouteConfiguration(entity: "Part")
        for decoder in [
            try TestDecoder(TestModels.kinds()), try TestDecoder(TestModels.kinds(), format: .json, routes: [route]),
        ] {
            #expect(decoder.failure(TestRecord(nil))?.code == "decode.null")
            #expect(decoder.failure(TestRecord(nil, key: ""))?.code == "decode.null")
        }
    }

    @Test func `a null value deletes what its key names`() throws {
        var route = RouteConfiguration(entity: "Part")
        let decoder = try TestDecoder(TestModels.kinds(), format: .json, routes: [route])
        #expect(try decoder.shown(TestRecord(nil, key: "17")) == ["delete Part 17"])
        #expect(decoder.failure(TestRecord(nil, key: "seventeen"))?.code == "decode.identity")

        route = RouteConfiguration(entity: "WorkOrder")
        route.identityPrefix = "import-"
        let record = TestRecord(nil, key: "17")
        let prefixed = try TestDecoder(TestModels.kinds(), format: .json, routes: [route]).event(record)
        #expect(prefixed.operations.map(\.identity) == [.text("import-17")])
        #expect(prefixed.operations.map(\.time) == [nil], "when a record was sent says nothing of its object")
    }

    @Test(arguments: [[0x66, 0xFF], [0x66, 0x00]] as [[UInt8]])
    func `a key that is no text deletes nothing`(key: [UInt8]) throws {
        let route = RouteConfiguration(entity: "WorkOrder")
        var record = TestRecord(nil)
        record.key = key
        #expect(
            try TestDecoder(TestModels.kinds(), format: .json, routes: [route]).failure(record)?.code
                == "decode.identity")
    }

    @Test func `a null value needs one route`() throws {
        let record = TestRecord(nil, key: "17")
        #expect(try TestDecoder(TestModels.kinds()).failure(record)?.code == "decode.null")
        let routes = [RouteConfiguration(entity: "Part"), RouteConfiguration(entity: "Owner")]
        let two = try TestDecoder(TestModels.kinds(), format: .json, routes: routes)
        #expect(two.failure(record)?.code == "decode.null")
    }

    // MARK: Secrecy

    @Test(arguments: [
        "{\"id\":\"m1\",\"seq\":{\"a\":\"S3CRET\"}}",
        "{\"id\":\"m1\",\"chat\":[\"S3CRET\"]}", "{\"body\":\"S3CRET\"}",
        "{\"id\":\"m1\",\"bdoy\":\"S3CRET\"}", "\"S3CRET\"",
        "{\"id\":\"m1\",\"chat\":{\"title\":\"S3CRET\"}}", "{\"id\":\"m1\",\"body\":\"S3CRET", "{\"id\":S3CRET}",
        "{\"id\":{\"S3CRET\":1}}",
    ])
    func `a reason quotes only a value that does not fit`(data: String) throws {
        let decoder = try TestDecoder(TestModels.chat())
        let failure = try #require(decoder.failure("message.created", data))
        #expect(!failure.description.contains("S3CRET"), "\(failure)")
        var route = RouteConfiguration(entity: "Message")
        route.identity = .field("id")
        route.timeField = "sentAt"
        let routed = try TestDecoder(TestModels.chat(), format: .json, routes: [route])
        let second = try #require(routed.failure(data))
        #expect(!second.description.contains("S3CRET"), "\(second)")
    }

    @Test func `names are shown cut short`() throws {
        let name = String(repeating: "n", count: 500)
        let failure = try #require(try TestDecoder(TestModels.chat()).failure("\(name).created", "{}"))
        #expect(failure.description.contains(String(repeating: "n", count: 60) + "…"))
        #expect(failure.description.utf8.count < 400)
    }
}
