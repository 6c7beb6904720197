import Foundation
import ObjectGraph
import TestSupport
import Testing

@testable import Inference
@testable import IngestCore
@testable import RecordFiles

/// Models that `init` infers from the records of streams: updates, keys, envelopes of rows, documents.
@Suite struct StreamInferenceTests {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "streams-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func write(_ text: String, to name: String) throws -> String {
        let file = folder.appending(path: name)
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file.path
    }

    /// The lines of `kcat -J` that have these keys and payloads, each as JSON text or nil.
    private static func kcat(_ records: [(key: String?, payload: String?)], partitions: Int = 1) -> String {
        records.enumerated().map { number, record in
            let parts = [record.key, record.payload].map { $0.map { JSONText.string($0) } ?? "null" }
            return "{\"topic\":\"shop.things\",\"partition\":\(number % partitions),\"offset\":\(number / partitions),"
                + "\"tstype\":\"create\",\"ts\":1767323045000,\"broker\":0,\"key\":\(parts[0]),\"payload\":\(parts[1])}\n"
        }.joined()
    }

    /// The model of a file, and the outcomes of its records with the written configuration.
    private struct Outcome {
        var model: InferredModel
        var configuration: String
        var counts: RecordSample.Counts
        var identities: [String]

        var entity: InferredModel.Entity { model.entities[0] }
    }

    private func infer(_ text: String, _ name: String = "things.jsonl") throws -> Outcome {
        let path = try write(text, to: name)
        let inferred = InferredModel(try FileSurvey.read(path: path, recordLimit: nil, distinctLimit: 1000))
        let modelPath = try write(ModelWriter.text(inferred, name: "m"), to: "model.yaml")
        let yaml = ConfigurationWriter.text(inferred, modelPath: modelPath, storePath: "s.sqlite")
        let configuration = try WorkerConfiguration.load(yaml: yaml, name: "worker.yaml").configuration
        let model = try ObjectModel.load(path: modelPath)
        var identities: [String] = []
        let counts = try RecordSample(configuration: configuration, model: model).read(path: path, topic: nil) {
            if case .event(let event) = $1 {
                identities += event.operations.map { model.entities[$0.entity].identity.type.text(of: $0.identity) }
            }
        }
        return Outcome(model: inferred, configuration: yaml, counts: counts, identities: identities)
    }

    // MARK: Bounds

    @Test func `many broken lines are one fault, with the line of the first`() throws {
        let path = try write("{\"id\":1}\n" + String(repeating: "{\"a\":]\n[1]\n", count: 50), to: "broken.jsonl")
        let profile = try FileSurvey.read(path: path, recordLimit: nil, distinctLimit: 1000)[0]
        #expect(Set(profile.faults.keys) == ["json.syntax", "no JSON object"])
        #expect(profile.faults["json.syntax"] == PassedOver(count: 50, firstLine: 2))
        #expect(profile.faults["no JSON object"] == PassedOver(count: 50, firstLine: 3))
    }

    @Test func `keys that are data become no more entities than an entity has fields`() throws {
        let members = (0...EntityProfile.columnLimit).map { "\"k\($0)\":[{\"a\":1}]" }
        let path = try write("{\(members.joined(separator: ","))}\n", to: "keys.jsonl")
        let profile = try FileSurvey.read(path: path, recordLimit: nil, distinctLimit: 1000)[0]
        #expect(profile.children.count == EntityProfile.columnLimit)
    }

    // MARK: Updates

    private static let updates = """
        {"id":"o1","state":"new","created":1767323045,"updated_at":"2026-01-01T00:00:00Z"}
        {"id":"o2","state":"new","created":1767323046,"updated_at":"2026-01-01T00:00:01Z"}
        {"id":"o1","state":"paid","created":1767323045,"updated_at":"2026-01-02T00:00:00Z"}

        """

    @Test func `an id that repeats with a growing time is the identity, with a version`() throws {
        let outcome = try infer(Self.updates)
        #expect(outcome.entity.identity == "id")
        #expect(outcome.entity.version == "updated_at")
        #expect(outcome.entity.identityReason.contains("2 values in 3 records"))
        #expect(outcome.model.warnings.contains { $0.contains("'updated_at' orders them") })
        #expect(!outcome.configuration.contains("$row"))
        #expect(outcome.identities == ["o1", "o2", "o1"])
    }

    @Test func `rows of a table have versions too, by numbers and by any name of time that only grows`() throws {
        let rows = "id,version,name\n1,1,a\n2,1,b\n1,2,c\n"
        #expect(try infer(rows, "things.csv").entity.version == "version")
        let sensors = "id,ts,value\na,1767323045,1\nb,1767323045,1\na,1767323046,2\n"
        #expect(try infer(sensors, "sensors.csv").entity.version == "ts")
    }

    @Test func `a version that comes late is still one`() throws {
        let late = Self.updates + #"{"id":"o2","state":"old","created":1,"updated_at":"2025-12-31T00:00:00Z"}"# + "\n"
        #expect(try infer(late).entity.version == "updated_at")
        let reversed = Self.updates.split(separator: "\n").reversed().joined(separator: "\n") + "\n"
        #expect(try infer(reversed).entity.version == "updated_at")
    }

    @Test func `an id that repeats without an order is asked about`() throws {
        let outcome = try infer(#"{"id":"a","n":1}"# + "\n" + #"{"id":"b","n":1}"# + "\n" + #"{"id":"a","n":2}"# + "\n")
        #expect(outcome.entity.identity == "row")
        let question = try #require(outcome.model.warnings.first { $0.contains("are these versions") })
        #expect(question.contains("'id' repeats (2 values in 3 records)") && question.contains("identity: id"))
    }

    @Test func `readings of a sensor are no versions of it, but asked about`() throws {
        let lines = [("s1", 1), ("s2", 2), ("s1", 3)].map { #"{"sensor_id":"\#($0)","ts":\#(1_767_323_045 + $1)}"# }
        let outcome = try infer(lines.joined(separator: "\n") + "\n")
        #expect(outcome.entity.identity == "row")
        #expect(outcome.model.warnings.contains { $0.contains("identity: sensor_id, version: ts") })
    }

    @Test func `many readings with one id are a series and no versions, unless a name says so`() throws {
        func lines(_ name: String) -> String {
            (0..<22).map { #"{"id":"\#($0 % 2)","\#(name)":\#(1_767_323_045 + $0)}"# + "\n" }.joined()
        }
        #expect(try infer(lines("ts")).entity.version == nil)
        #expect(try infer(lines("updated_at")).entity.version == "updated_at")
    }

    @Test func `a place in an order is no version`() throws {
        let lines = [(1, 1), (1, 2), (2, 1)].map { #"{"order_id":\#($0),"line_no":\#($1)}"# }
        let outcome = try infer(lines.joined(separator: "\n") + "\n")
        #expect(outcome.entity.identityExpression == "{order_id}-{line_no}")
        #expect(outcome.entity.version == nil)
    }

    // MARK: Keys

    @Test func `the key of each record identifies where no field does, and tombstones delete`() throws {
        let outcome = try infer(
            Self.kcat([
                ("s1", #"{"temp":28.5,"unit":"C"}"#), ("s2", #"{"temp":24.5,"unit":"C"}"#), ("s1", nil),
                ("s2", #"{"temp":25.5,"unit":"C"}"#),
            ]))
        #expect(outcome.entity.name == "ShopThing")
        #expect(outcome.configuration.contains("identity: $key\n"))
        #expect(outcome.configuration.contains("topics:\n  - name: \"shop.things\""))
        #expect(outcome.identities == ["s1", "s2", "s1", "s2"])
        #expect(outcome.model.warnings.contains { $0.contains("keys repeat") })
    }

    @Test func `a field with the key's value identifies, though it repeats`() throws {
        let outcome = try infer(
            Self.kcat([
                (#"{"code":7}"#, #"{"n":1,"code":7}"#), (#"{"code":8}"#, #"{"n":1,"code":8}"#),
                (#"{"code":7}"#, #"{"n":2,"code":7}"#), (#"{"code":8}"#, nil),
            ]))
        #expect(outcome.entity.identity == "code")
        #expect(outcome.configuration.contains("identity: $key.code\n"))
        #expect(outcome.counts.deadLetters == 0)
        #expect(outcome.identities == ["7", "8", "7", "8"])
        let quoted = try infer(Self.kcat([(#""a""#, #"{"id":"a"}"#), (#""b""#, #"{"id":"b"}"#), (#""a""#, nil)]))
        #expect(quoted.identities == ["a", "b", "a"])
        let plain = try infer(Self.kcat([("a", #"{"id":"a"}"#), ("b", #"{"id":"b"}"#), ("a", nil)]))
        #expect(plain.identities == ["a", "b", "a"])
        #expect(!plain.configuration.contains("identity:"))
    }

    @Test func `fields of a key identify together`() throws {
        let outcome = try infer(
            Self.kcat([(#"{"tenant":"n","id":1}"#, #"{"x":1}"#), (#"{"tenant":"n","id":2}"#, nil)]))
        #expect(outcome.identities == ["n-1", "n-2"])
    }

    @Test func `an id of the value goes before the key that spreads records over partitions`() throws {
        let outcome = try infer(Self.kcat([("c1", #"{"id":1,"n":1}"#), ("c1", #"{"id":2,"n":1}"#)]))
        #expect(outcome.entity.identity == "id")
        #expect(outcome.identities == ["1", "2"])
    }

    @Test func `records of several partitions without keys and identities are objects of their own`() throws {
        let records = (0..<4).map { (key: String?.none, payload: Optional(#"{"t":\#($0 / 2),"p":"x"}"#)) }
        let outcome = try infer(Self.kcat(records, partitions: 2))
        #expect(outcome.configuration.contains(#"identity: "{$partition}-{$offset}""#))
        #expect(outcome.identities == ["0-0", "1-0", "0-1", "1-1"])
    }

    // MARK: Forms of records

    @Test func `numbers and texts in one field come in as written`() throws {
        let outcome = try infer(
            #"{"id":1,"v":1}"# + "\n" + #"{"id":"a","v":"x"}"# + "\n" + #"{"id":"b","v":true}"# + "\n"
                + #"{"id":"c","v":[1]}"# + "\n")
        #expect(outcome.counts.events == 4)
        #expect(outcome.identities == ["1", "a", "b", "c"])
    }

    @Test func `a reference that is a number or a text comes in too`() throws {
        let path = try write(
            (["1", "\"a\"", "\"b\""].map { "{\"id\":\($0)}" } + [""]).joined(separator: "\n"), to: "items.jsonl")
        let references = try write(
            (["1", "\"a\"", "\"b\""].map { "{\"id\":\($0),\"item_id\":\($0)}" } + [""]).joined(separator: "\n"),
            to: "uses.jsonl")
        let model = InferredModel(
            try [path, references].flatMap { try FileSurvey.read(path: $0, recordLimit: nil, distinctLimit: 10) })
        #expect(model.entities[1].relationships.first?.form == "number")
        let yaml = ConfigurationWriter.text(model, modelPath: "m.yaml", storePath: "s.sqlite")
        #expect(yaml.contains("types:\n          id: number\n          item: number\n"), "\(yaml)")
    }

    @Test func `the schema of Kafka Connect gives types, and the payload the fields`() throws {
        let schema =
            #"{"type":"struct","fields":[{"field":"id","type":"int64"},"#
            + #"{"field":"opened","type":"int32","name":"io.debezium.time.Date"},"#
            + #"{"field":"credit","type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"}}]}"#
        let payload = #"{"id":1,"opened":20501,"credit":"BOI="}"#
        let line = "{\"schema\":\(schema),\"payload\":\(payload)}"
        for text in [line + "\n", Self.kcat([("1", line)])] {
            let outcome = try infer(text)
            #expect(outcome.configuration.contains("format: connect"))
            #expect(outcome.entity.attributes.map(\.guess.type) == [.integer64, .date, .decimal])
            #expect(outcome.counts == RecordSample.Counts(events: 1, filtered: 0, deadLetters: 0))
        }
    }

    @Test(arguments: [
        ("debezium", #"{"before":null,"after":{"id":1},"source":{"table":"accounts"},"op":"c"}"#),
        ("debezium", #"{"schema":{},"payload":{"after":{"id":1},"source":{"table":"accounts"},"op":"c"}}"#),
        ("maxwell", #"{"database":"s","table":"accounts","type":"insert","ts":1,"data":{"id":1}}"#),
        ("canal", #"{"data":[{"id":"1"}],"database":"s","table":"accounts","type":"INSERT","isDdl":false}"#),
        ("dms", #"{"data":{"id":1},"metadata":{"record-type":"data","operation":"load","table-name":"accounts"}}"#),
    ]) func `change events of rows name their format, in lines and in lines of kcat`(format: String, record: String)
        throws
    {
        for text in [record + "\n", Self.kcat([("1", record)])] {
            let path = try write(text, to: "changes.jsonl")
            let error = #expect(throws: InferenceError.self) {
                try FileSurvey.read(path: path, recordLimit: nil, distinctLimit: 10)
            }
            #expect(error?.code == "init.\(format)")
            #expect(error?.remedy.contains("'format: \(format)'") == true)
            #expect(error?.remedy.contains("'accounts'") == true && error?.remedy.contains("docs/") == true)
            #expect(error?.message.contains("line 1") == true)
        }
    }

    @Test(arguments: [
        "{\n  \"id\": 1,\n  \"name\": \"x\"\n}\n{\n  \"id\": 2\n}\n", "{\"id\": 1,\n  \"name\": \"x\"}\n",
        "{\"type\":\"FeatureCollection\",\"features\":[\n{\"id\":1},\n{\"id\":2}\n]}\n",
    ]) func `a document over several lines is refused with the command that makes lines of it`(text: String) throws {
        let path = try write(text, to: "map.json")
        let error = #expect(throws: RecordFileError.self) {
            try FileSurvey.read(path: path, recordLimit: nil, distinctLimit: 10)
        }
        #expect(error?.code == "file.document")
        #expect(error?.description.contains("jq -c") == true)
    }

    @Test func `records that are arrays hold events`() throws {
        let outcome = try infer(Self.kcat([("k", #"[{"id":1,"n":1},{"id":2,"n":1}]"#), ("k", #"[{"id":3,"n":1}]"#)]))
        #expect(outcome.entity.identity == "id")
        #expect(outcome.identities == ["1", "2", "3"])
        let anonymous = try infer(Self.kcat([("k", #"[{"n":1},{"n":1}]"#)]))
        #expect(anonymous.model.warnings.contains { $0.contains("some records are arrays") })
    }

    @Test func `a line of kcat that another program rewrote is refused`() throws {
        let path = try write(
            #"{"broker":0,"key":null,"payload":"{}","topic":"t","tstype":"create"}"# + "\n", to: "t.jsonl")
        let error = #expect(throws: InferenceError.self) {
            try FileSurvey.read(path: path, recordLimit: nil, distinctLimit: 10)
        }
        #expect(error?.code == "init.kcat")
    }

    @Test func `an array that is all there is to a file is noted`() throws {
        let outcome = try infer(#"{"type":"FeatureCollection","features":[{"id":1},{"id":2}]}"# + "\n")
        #expect(outcome.model.warnings.contains { $0.contains("jq -c '.features[]'") })
    }

    @Test func `a cut first line among records is a broken record, and no document`() throws {
        let path = try write("{\"id\":1,\n{\"id\":2}\n{\"id\":3}\n", to: "things.jsonl")
        let profiles = try FileSurvey.read(path: path, recordLimit: nil, distinctLimit: 10)
        #expect(profiles.map(\.recordCount) == [2])
        #expect(profiles[0].faults.count == 1)
    }

    // MARK: The configuration

    @Test func `the written configuration names the brokers and the registry`() throws {
        let outcome = try infer(Self.kcat([("1", #"{"id":1}"#)]))
        let yaml = ConfigurationWriter.text(
            outcome.model, modelPath: "m.yaml", storePath: "s.sqlite",
            broker: .init(servers: "b:9092", registryURL: "https://registry.example:8081"))
        let configuration = try WorkerConfiguration.load(yaml: yaml, name: "worker.yaml").configuration
        #expect(configuration.kafka.properties["bootstrap.servers"] == "b:9092")
        #expect(configuration.schemaRegistry.url == "https://registry.example:8081")
        #expect(configuration.topics.map(\.name) == ["shop.things"])
    }
}
