import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

@Suite struct RecordSampleTests {
    private func shown(
        _ text: String, topic: String? = nil, json: Bool = false, _ configuration: WorkerConfiguration
    ) throws -> ([String], RecordSample.Counts) {
        let folder = TestFolder()
        let path = folder.write("sample.jsonl", text)
        let sample = RecordSample(configuration: configuration, model: try TestModels.chat())
        var lines: [String] = []
        let counts = try sample.read(path: path, topic: topic) { place, outcome in
            lines.append(json ? sample.json(place, outcome) : sample.text(place, outcome))
        }
        return (lines, counts)
    }

    @Test func `shows what each record would do`() throws {
        var route = RouteConfiguration(entity: "Message")
        (route.filter, route.timeField) = ("seq > 0", "at")
        var configuration = WorkerConfiguration()
        configuration.topics = [TopicConfiguration(name: "t", format: .json, routes: [route])]
        let text = """
            {"id":"m1","seq":1,"chat":{"id":"c1","title":"T"},"at":"2026-01-02"}
            {"id":"m2","seq":0}
            {"id":"m3","seq":"x"}

            {"id":"m4","seq":2,"sequence":2}
            """
        let (lines, counts) = try shown(text, topic: "t", configuration)
        #expect(counts == RecordSample.Counts(events: 1, filtered: 2, deadLetters: 1))
        #expect(
            lines[0]
                == "line 1  upsert  Chat \"c1\"  title=\"T\"\nline 1  upsert  Message m1  seq=1  chat=\"c1\"".replacing(
                    "Chat \"c1\"", with: "Chat c1"))
        #expect(lines[1] == "line 2  filtered by route 1")
        #expect(lines[3].hasPrefix("line 5  dead letter  decode.unknown_property  Message has no property 'sequence'"))
        let (objects, _) = try shown(text, topic: "t", json: true, configuration)
        #expect(
            objects[0] == """
                {"record":1,"line":1,"outcome":"event","operations":[{"verb":"upsert","entity":"Chat","identity":"c1",\
                "version":"2026-01-02T00:00:00Z","time":"2026-01-02T00:00:00Z","properties":{"title":"T"}},\
                {"verb":"upsert","entity":"Message","identity":"m1","version":"2026-01-02T00:00:00Z",\
                "time":"2026-01-02T00:00:00Z","properties":{"seq":1,"chat":"c1"}}]}
                """)
        #expect(objects[1] == "{\"record\":2,\"line\":2,\"outcome\":\"filtered\",\"reason\":\"filter\",\"route\":1}")
        #expect(
            objects[3].hasPrefix(
                "{\"record\":4,\"line\":5,\"outcome\":\"deadLetter\",\"code\":\"decode.unknown_property\""))
    }

    @Test func `a topic that is not configured is refused`() throws {
        #expect(throws: RouteError.self) { try shown("{}", topic: "none", WorkerConfiguration()) }
    }

    // MARK: Routes

    /// Reads records as those of a topic, or by the file's name.
    private func read(
        _ text: String, _ topic: TopicConfiguration, isNamed: Bool = true, _ model: ObjectModel
    ) throws -> (lines: [String], routes: [RouteUsage.Report], gaps: [SampleRules.Gap]) {
        var configuration = WorkerConfiguration()
        configuration.topics = [topic]
        let folder = TestFolder()
        let path = folder.write("sample.jsonl", text)
        let sample = RecordSample(configuration: configuration, model: model)
        var lines: [String] = []
        _ = try sample.read(path: path, topic: isNamed ? topic.name : nil) { place, outcome in
            lines.append(sample.text(place, outcome))
        }
        return (lines, sample.routes, sample.gaps)
    }

    private func parts(_ report: RouteUsage.Report?) -> [String] {
        (report?.parts ?? []).map { "\($0.name) \($0.value) \($0.records)" }
    }

    @Test func `a type is found by the columns and the aliases that stand for its property`() throws {
        var route = RouteConfiguration(entity: "WorkOrder")
        route.table = "work_orders"
        route.types = ["updatedAt": .microseconds, "small": .text, "id": .number]
        (route.aliases, route.identity) = (["size": "small"], .field("key"))
        let row = #"{"key":7,"updated_at":1767312000001000,"size":"3"}"#
        let change = DebeziumRecords.change("c", after: row, source: DebeziumRecords.source(table: "work_orders"))
        let debezium = TopicConfiguration(name: "t", format: .debezium, routes: [route])
        let (lines, routes, _) = try read(change, debezium, TestModels.kinds())
        #expect(lines == ["line 1  upsert  WorkOrder 7  updatedAt=\"2026-01-02T00:00:00.001Z\"  small=3"])
        #expect(
            parts(routes.first) == [
                "identity key 1", "alias size 1", "type id number 1", "type small text 1",
                "type updatedAt microseconds 1",
            ])

        var order = RouteConfiguration(entity: "WorkOrder")
        var split = SplitConfiguration(field: "items", entity: "Part", parent: "order")
        (split.types, split.aliases) = (["label": .number], ["nr": "number", "text": "label"])
        order.splits = [split]
        let json = TopicConfiguration(name: "t", format: .json, routes: [order])
        let nested = try read(#"{"id":"w1","items":[{"nr":1,"text":2}]}"#, json, TestModels.kinds())
        #expect(
            parts(nested.routes.first) == [
                "split items 1", "split items: alias nr 1", "split items: alias text 1",
                "split items: type label number 1",
            ])
    }

    @Test func `an alias counts in each spelling in which it applies`() throws {
        var route = RouteConfiguration(entity: "WorkOrder")
        (route.aliases, route.types) = (["gr\u{F6}\u{DF}e": "small"], ["gr\u{F6}\u{DF}e": .number])
        var split = SplitConfiguration(field: "st\u{FC}cke", entity: "Part", parent: "order")
        split.aliases = ["n\u{FC}mmer": "number"]
        route.splits = [split]
        let json = TopicConfiguration(name: "t", format: .json, routes: [route])
        let record =
            "{\"id\":\"w1\",\"gro\u{308}\u{DF}e\":5,\"stu\u{308}cke\":[{\"nu\u{308}mmer\":1}]}"
        let (lines, routes, _) = try read(record, json, TestModels.kinds())
        #expect(lines.last?.contains("small=5") == true)
        #expect(
            parts(routes.first) == [
                "alias gr\u{F6}\u{DF}e 1", "type gr\u{F6}\u{DF}e number 1", "split st\u{FC}cke 1",
                "split st\u{FC}cke: alias n\u{FC}mmer 1",
            ])
        var configuration = WorkerConfiguration()
        route.splits = []
        configuration.files = [FileConfiguration(match: "*.csv", format: .json, routes: [route])]
        let folder = TestFolder()
        let path = folder.write("sample.csv", "id,gro\u{308}\u{DF}e\nw1,5\n")
        let sample = RecordSample(configuration: configuration, model: try TestModels.kinds())
        _ = try sample.read(path: path, topic: nil) { _, _ in }
        #expect(parts(sample.routes.first).first == "alias gr\u{F6}\u{DF}e 1")
    }

    @Test func `exported dead letters count for the routes of their topic`() throws {
        var drop = RouteConfiguration(entity: "")
        (drop.verb, drop.condition) = (.drop, "kind = 'ping'")
        var filtered = RouteConfiguration(entity: "WorkOrder")
        (filtered.aliases, filtered.filter) = (["nr": "id"], "nr != 'w0'")
        let topic = TopicConfiguration(name: "orders", format: .json, routes: [filtered, drop].reversed())
        let values = [#"{"kind":"ping"}"#, #"{"nr":"w1"}"#, #"{"nr":"w0"}"#]
        let letters = values.enumerated().map { offset, value in
            DeadLetterLine.text(
                DeadLetter(
                    time: 0, topic: "orders", partition: 0, offset: Int64(offset), stage: "apply", code: "c",
                    reason: "r",
                    key: nil, value: Array(value.utf8), valueBytes: value.utf8.count))
        }
        for isNamed in [true, false] {
            let (lines, routes, _) = try read(
                letters.joined(separator: "\n"), topic, isNamed: isNamed, TestModels.kinds())
            #expect(
                lines == ["line 1  dropped by route 1", "line 2  upsert  WorkOrder w1", "line 3  filtered by route 2"])
            #expect(routes.map(\.entity) == ["drop", "WorkOrder"] && routes.map(\.records) == [1, 2])
            #expect(parts(routes.last) == ["filter nr 2", "alias nr 2"])
        }
    }

    @Test func `lines of kcat are records with their keys`() throws {
        func line(_ key: String, _ payload: String, _ headers: String = "") -> String {
            #"{"topic":"orders","partition":0,"offset":3,"tstype":"create","ts":1767323045999,"broker":1,"#
                + #"\#(headers)"key":\#(key),"payload":\#(payload)}"#
        }
        var route = RouteConfiguration(entity: "WorkOrder")
        (route.headers, route.fields) = (["site": "B"], ["happenedAt": "$timestamp", "name": "$key"])
        let json = TopicConfiguration(
            name: "orders", format: .json, routes: [route, RouteConfiguration(entity: "WorkOrder")])
        let text = [
            line(#""k1""#, #""{\"id\":\"w1\"}""#, #""headers":["site","B","empty",null],"#), line(#""w2""#, "null"),
            line("null", #""{\"id\":\"w3\"}""#), line("3", "{}"), #"{"topic":"orders","id":"w4"}"#,
        ]
        let (lines, routes, _) = try read(text.joined(separator: "\n"), json, TestModels.kinds())
        #expect(
            lines.prefix(3) == [
                #"line 1  upsert  WorkOrder w1  happenedAt="2026-01-02T03:04:05.999Z"  name="k1""#,
                "line 2  delete  WorkOrder w2", "line 3  upsert  WorkOrder w3",
            ])
        #expect(lines[3].contains("dead letter  decode.envelope") && lines[3].contains("kcat -C -J"))
        // Another program writes spaces.
        let spaced = line("null", #""{\"id\":\"w5\"}""#).replacing("\":", with: "\": ").replacing(",\"", with: ", \"")
        #expect(try read(spaced, json, TestModels.kinds()).lines == ["line 1  upsert  WorkOrder w5"])
        // Without kcat's marks it is a record like others.
        #expect(lines[4].contains("decode.unknown_property  WorkOrder has no property 'topic'"))
        #expect(routes.map(\.records) == [1, 3])
        let deletion = DebeziumRecords.change("d", source: DebeziumRecords.source(table: "work_orders"))
        let debezium = TopicConfiguration(name: "orders", format: .debezium)
        let keyed = try read(line(#""{\"id\":\"w1\"}""#, JSONText.string(deletion)), debezium, TestModels.kinds())
        #expect(keyed.lines == ["line 1  delete  WorkOrder w1"])
    }

    @Test func `a route that several topics share is reported once`() throws {
        var shared = RouteConfiguration(entity: "WorkOrder")
        shared.aliases = ["nr": "id"]
        shared.place = ConfigurationPlace(.file(path: "worker.yaml", line: 3, column: 5))
        var configuration = WorkerConfiguration()
        configuration.routes = [shared]
        configuration.topics = ["a", "b"].map { TopicConfiguration(name: $0, format: .json) }
        let folder = TestFolder()
        let lines = ["a", "b"].map { topic in
            let value = Array(#"{"nr":"w1"}"#.utf8)
            return DeadLetterLine.text(
                DeadLetter(
                    time: 0, topic: topic, partition: 0, offset: 0, stage: "apply", code: "c", reason: "r", key: nil,
                    value: value, valueBytes: value.count))
        }
        let path = folder.write("letters.jsonl", lines.joined(separator: "\n"))
        let sample = RecordSample(configuration: configuration, model: try TestModels.kinds())
        _ = try sample.read(path: path, topic: nil) { _, _ in }
        #expect(sample.routes.map(\.records) == [2] && parts(sample.routes.first) == ["alias nr 2"])
    }

    // MARK: Rules of values

    @Test func `a value beyond its limits is the dead letter of the store`() throws {
        let model = try ObjectModel.parse(
            """
            model: shop
            entities:
              Customer:
                identity: id
                attributes:
                  id:    { type: string }
                  name:  { type: string, maxLength: 5 }
                  code:  { type: string, optional: true, pattern: "[A-Z]+" }
                  age:   { type: integer16, default: 1, min: 0, max: 150 }
                  token: { type: integer16, optional: true, transient: true, max: 9 }
            """)
        let rows = [
            #"{"id":"c1","name":"Ann","code":"AB","age":0}"#, #"{"id":"c2","name":"Ann","age":-1}"#,
            #"{"id":"c3","name":"Annabell"}"#, #"{"id":"c4","name":"Ann","code":"x","age":151}"#,
            #"{"id":"c5","name":null}"#,
            #"{"id":"c6","age":3}"#, #"{"id":"c7","name":"Ann","age":null}"#, #"{"id":"c8","name":"Ann","token":10}"#,
        ]
        let topic = TopicConfiguration(name: "t", format: .json, routes: [RouteConfiguration(entity: "Customer")])
        let (lines, _, gaps) = try read(rows.joined(separator: "\n"), topic, model)
        let writer = try WriterContext(store: Store.inMemory(model: model))
        let decoder = try TestDecoder(model, format: .json, routes: topic.routes)
        for (index, row) in rows.enumerated() where index != 5 {
            let event = try decoder.event(TestRecord(row))
            guard case .failed(let failure)? = try writer.apply(WriterContext.Chunk(events: [event])).outcomes.first
            else {
                #expect(index == 0 && lines[index].contains("upsert"), "\(row)")
                continue
            }
            #expect(lines[index] == "line \(index + 1)  dead letter  \(failure.code)  \(failure.message)")
        }
        #expect(gaps == [SampleRules.Gap(attribute: "Customer.name", objects: 1)])
        #expect(gaps.first?.text.contains("left out of 1 object: a dead letter (1570, validation.required)") == true)
    }
}
