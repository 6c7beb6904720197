import KafkaClient
import ObjectGraph
import Synchronization
import Testing

@testable import IngestCore
@testable import RecordDecoding

/// A registry that answers from memory.
enum TestRegistry {
    static let avro = #"""
        {"type":"record","name":"WorkOrder","fields":[{"name":"id","type":"string"},{"name":"name","type":"string"}]}
        """#

    static func registry(
        now: @escaping @Sendable () -> Double = { 0 }, _ get: @escaping @Sendable (String) -> RegistryAnswer
    ) -> SchemaRegistry {
        SchemaRegistry(limits: LimitConfiguration(), now: now, get: get)
    }

    /// Avro of `avro`, with the number of its schema.
    static func record(_ id: String, _ name: String, schema: UInt8 = 7) -> [UInt8] {
        [0, 0, 0, 0, schema] + text(id) + text(name)
    }

    static func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count * 2)] + text.utf8 }
}

/// The paths that a registry was asked for.
final class AskedPaths: Sendable {
    private let paths = Mutex<[String]>([])
    var all: [String] { paths.withLock { $0 } }
    func add(_ path: String) { paths.withLock { $0.append(path) } }
}

@Suite struct SchemaRegistryTests {
    private func decoder(_ registry: SchemaRegistry?, _ format: EventFormat = .connect) throws -> TestDecoder {
        try TestDecoder(
            TestModels.kinds(), format: format, routes: [RouteConfiguration(entity: "WorkOrder")], registry: registry)
    }

    private func avro() -> SchemaRegistry {
        TestRegistry.registry { path in
            switch path {
            case "/schemas/ids/7", "/schemas/guids/01020304-0506-0708-090a-0b0c0d0e0f10":
                .schema(RegistrySchema(kind: .avro, text: TestRegistry.avro, references: []))
            case "/schemas/ids/8": .schema(RegistrySchema(kind: .avro, text: #""string""#, references: []))
            case "/schemas/ids/9": .schema(RegistrySchema(kind: .json, text: "{}", references: []))
            default: .missing
            }
        }
    }

    @Test func `a value in Avro goes through the routes as JSON does`() throws {
        let record = TestRecord(bytes: TestRegistry.record("w1", "N"))
        #expect(try decoder(avro()).shown(record) == ["upsert WorkOrder w1 name=N"])
        #expect(try decoder(avro(), .json).shown(record) == ["upsert WorkOrder w1 name=N"])
    }

    @Test func `a key in Avro deletes what it names`() throws {
        var record = TestRecord(nil)
        record.key = [0, 0, 0, 0, 8] + TestRegistry.text("w1")
        #expect(try decoder(avro()).shown(record) == ["delete WorkOrder w1"])
    }

    @Test func `a key that only looks like a schema's number stays as it is`() throws {
        for key in [[0, 0, 0, 0, 0, 0, 0, 17], [0, 0, 0, 0, 99, 1, 2, 3]] as [[UInt8]] {
            var record = TestRecord(bytes: TestRegistry.record("w1", "N"))
            record.key = key
            #expect(try decoder(avro()).shown(record) == ["upsert WorkOrder w1 name=N"])
        }
    }

    @Test func `JSON of the registry is taken behind its number`() throws {
        let record = TestRecord(bytes: [0, 0, 0, 0, 9] + Array(#"{"id":"w1","name":"N"}"#.utf8))
        #expect(try decoder(avro()).shown(record) == ["upsert WorkOrder w1 name=N"])
    }

    @Test func `a header may name the schema by number or identifier`() throws {
        for header in [[0, 0, 0, 0, 7], [1] + Array(1...16)] as [[UInt8]] {
            var record = TestRecord(bytes: Array(TestRegistry.record("w1", "N")[5...]))
            record.headers = [RecordHeader("__value_schema_id", header)]
            #expect(try decoder(avro()).shown(record) == ["upsert WorkOrder w1 name=N"])
        }
    }

    @Test func `a schema is asked for once`() throws {
        let asked = AskedPaths()
        let decoder = try decoder(
            TestRegistry.registry { path in
                asked.add(path)
                return .schema(RegistrySchema(kind: .avro, text: TestRegistry.avro, references: []))
            })
        for number in 0..<5 {
            _ = try decoder.shown(TestRecord(bytes: TestRegistry.record("w\(number)", "N")))
        }
        #expect(asked.all == ["/schemas/ids/7"])
    }

    @Test func `a registry that is away is no fault of the record`() throws {
        let failure = try decoder(TestRegistry.registry { _ in .unavailable(reason: "it answers 503") })
            .failure(TestRecord(bytes: TestRegistry.record("w1", "N")))
        #expect(failure?.code == "registry.unavailable" && failure?.isRetriable == true)
        #expect(failure?.message.contains("it answers 503") == true)
    }

    @Test func `a schema that does not exist is a dead letter, and is asked for again after a while`() throws {
        let asked = AskedPaths()
        let clock = Mutex(0.0)
        let registry = SchemaRegistry(limits: LimitConfiguration(), now: { clock.withLock { $0 } }) { path in
            asked.add(path)
            return .missing
        }
        let decoder = try decoder(registry)
        let record = TestRecord(bytes: TestRegistry.record("w1", "N"))
        for _ in 0..<3 {
            let failure = decoder.failure(record)
            #expect(failure?.code == "registry.missing" && failure?.isRetriable == false)
        }
        #expect(asked.all.count == 1)
        clock.withLock { $0 = 11 }
        #expect(decoder.failure(record)?.code == "registry.missing")
        #expect(asked.all.count == 2)
    }

    private static let found = RegistryAnswer.schema(
        RegistrySchema(kind: .avro, text: TestRegistry.avro, references: []))

    /// Returns the code with which a schema is refused, or nil.
    private func code(_ registry: SchemaRegistry, _ number: UInt32) -> String? {
        do throws(DecodeError) {
            _ = try registry.schema(.number(number))
            return nil
        } catch {
            #expect(error.message.contains("schema \(number)"))
            return error.code
        }
    }

    @Test func `a registry that does not answer is asked once a second, whatever the schema`() throws {
        let asked = AskedPaths()
        let clock = Mutex(0.0)
        let registry = TestRegistry.registry(now: { clock.withLock { $0 } }) { path in
            asked.add(path)
            return asked.all.count < 3 ? .silent(reason: "it cannot be reached") : Self.found
        }
        for number in [1, 2, 1, 3] as [UInt32] { #expect(code(registry, number) == "registry.unavailable") }
        #expect(asked.all == ["/schemas/ids/1"])
        clock.withLock { $0 = 1.5 }
        for number in [2, 1] as [UInt32] { #expect(code(registry, number) == "registry.unavailable") }
        #expect(asked.all == ["/schemas/ids/1", "/schemas/ids/2"])
        clock.withLock { $0 = 3 }
        #expect(code(registry, 1) == nil && code(registry, 2) == nil)
    }

    /// A user may lack the right to read one of the schemas.
    @Test func `a schema that the registry does not give holds no other one back`() throws {
        let asked = AskedPaths()
        let registry = TestRegistry.registry { path in
            asked.add(path)
            return path.hasSuffix("/1") ? .unavailable(reason: "it answers 403") : Self.found
        }
        for _ in 0..<2 { #expect(code(registry, 1) == "registry.unavailable") }
        #expect(code(registry, 2) == nil)
        #expect(asked.all == ["/schemas/ids/1", "/schemas/ids/2"])
    }

    @Test func `a schema that uses a missing one is asked for again after a while`() throws {
        let clock = Mutex(0.0)
        let hasUsed = Mutex(false)
        let registry = TestRegistry.registry(now: { clock.withLock { $0 } }) { path in
            if path.hasPrefix("/subjects") {
                return hasUsed.withLock { $0 }
                    ? .schema(RegistrySchema(kind: .avro, text: #""string""#, references: [])) : .missing
            }
            let used = RegistrySchema.Reference(name: "n", subject: "s", version: 1)
            return .schema(RegistrySchema(kind: .avro, text: TestRegistry.avro, references: [used]))
        }
        #expect(code(registry, 7) == "registry.schema")
        hasUsed.withLock { $0 = true }
        #expect(code(registry, 7) == "registry.schema")
        clock.withLock { $0 = 11 }
        #expect(code(registry, 7) == nil)
    }

    @Test func `schemas that do not exist displace none that do`() throws {
        let asked = AskedPaths()
        let registry = TestRegistry.registry { path in
            asked.add(path)
            return path == "/schemas/ids/7" ? Self.found : .missing
        }
        #expect(code(registry, 7) == nil)
        for number in 1_000..<3_100 as Range<UInt32> { #expect(code(registry, number) == "registry.missing") }
        #expect(code(registry, 7) == nil)
        #expect(asked.all.count { $0 == "/schemas/ids/7" } == 1)
    }

    @Test func `a key that begins with five zero bytes stays as it is without a registry too`() throws {
        var record = TestRecord("{}")
        record.key = [0, 0, 0, 0, 0] + Array("123".utf8)
        let contents = RecordContents(nil, limits: LimitConfiguration())
        let key = try record.deliver { record in
            try contents.plain(record) { plain throws(DecodeError) in
                try plain.withPlainKey { key in key.map { [UInt8]($0) } }
            }
        }
        #expect(key == record.key)
    }

    @Test func `a key that nothing reads is not looked up`() throws {
        let asked = AskedPaths()
        let registry = TestRegistry.registry { path in
            asked.add(path)
            return .missing
        }
        var record = TestRecord(#"{"id":"w1","name":"N"}"#)
        record.key = [0, 0, 0, 0, 99, 1, 2, 3]
        #expect(try decoder(registry, .json).shown(record) == ["upsert WorkOrder w1 name=N"])
        #expect(asked.all.isEmpty)
    }

    @Test func `a schema that cannot be used is a dead letter with the reason`() throws {
        for (kind, text) in [(RegistrySchema.Kind.avro, "{"), (.protobuf, "message {")] {
            let registry = TestRegistry.registry { _ in
                .schema(RegistrySchema(kind: kind, text: text, references: []))
            }
            let failure = try decoder(registry).failure(TestRecord(bytes: TestRegistry.record("w1", "N")))
            #expect(failure?.code == "registry.schema" && failure?.message.contains("schema 7") == true)
        }
    }

    @Test func `schemas that refer to each other for ever end`() throws {
        let asked = AskedPaths()
        let registry = TestRegistry.registry { path in
            asked.add(path)
            let number = asked.all.count
            return .schema(
                RegistrySchema(
                    kind: .avro, text: #""string""#, references: [.init(name: "n", subject: "s\(number)", version: 1)]))
        }
        let failure = try decoder(registry).failure(TestRecord(bytes: TestRegistry.record("w1", "N")))
        #expect(failure?.code == "registry.schema" && asked.all.count <= 102)
    }

    @Test func `a record that its schema did not write is a dead letter without a value in its words`() throws {
        let failure = try decoder(avro()).failure(TestRecord(bytes: [0, 0, 0, 0, 7, 2, 0x78, 60, 0x79]))
        #expect(failure?.code == "avro.invalid" && failure?.message.contains("schema 7") == true)
    }

    @Test(
        arguments: [
            (200, #"{"schema":"\"int\""}"#, .schema(.init(kind: .avro, text: "\"int\"", references: []))),
            (
                200,
                #"{"schema":"x","schemaType":"PROTOBUF","references":[{"name":"a.proto","subject":"a","version":2}]}"#,
                .schema(
                    .init(kind: .protobuf, text: "x", references: [.init(name: "a.proto", subject: "a", version: 2)]))
            ),
            (404, #"{"error_code":40403,"message":"Schema not found"}"#, .missing),
        ] as [(Int, String, RegistryAnswer)])
    func `an answer says what the registry has`(status: Int, body: String, expected: RegistryAnswer) {
        #expect(RegistryAnswer(status: status, body: Array(body.utf8)) == expected)
    }

    @Test(
        arguments: [
            (200, "<html>"), (200, "{}"), (200, "[]"), (200, ""), (200, #"{"schema":3}"#),
            (200, #"{"schema":"x","references":[{}]}"#), (404, "<html>not here"), (404, #"{"error_code":404}"#),
            (401, "{}"), (403, "{}"), (429, "{}"), (500, "{}"), (302, ""), (503, "{"),
        ])
    func `an answer that says nothing of the schema lets the worker wait`(status: Int, body: String) {
        guard case .unavailable = RegistryAnswer(status: status, body: Array(body.utf8)) else {
            Issue.record("\(status) \(body) is taken as an answer")
            return
        }
    }

    @Test func `bytes of Avro are no number, and are bytes and text as before`() throws {
        let registry = TestRegistry.registry { path in
            let name = path == "/schemas/ids/1" ? "price" : path == "/schemas/ids/2" ? "picture" : "name"
            let text = #"""
                {"type":"record","name":"R","fields":[{"name":"id","type":"string"},{"name":"\#(name)","type":"bytes"}]}
                """#
            return .schema(RegistrySchema(kind: .avro, text: text, references: []))
        }
        func record(_ schema: UInt8) -> TestRecord {
            TestRecord(bytes: [0, 0, 0, 0, schema] + TestRegistry.text("w1") + [6, 0xD7, 0x6D, 0xF8])
        }
        for format in [EventFormat.json, .connect] {
            let decoder = try decoder(registry, format)
            #expect(decoder.failure(record(1))?.code == "decode.type")
            #expect(try decoder.shown(record(2)) == ["upsert WorkOrder w1 picture=1234"])
            #expect(try decoder.shown(record(3)) == ["upsert WorkOrder w1 name=1234\n"])
        }
    }
}
