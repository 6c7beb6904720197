import ObjectGraph
import Testing

@testable import IngestCore

@Suite struct RecordSampleTests {
    private func shown(
        _ text: String, topic: String? = nil, json: Bool = false, _ configuration: WorkerConfiguration
    ) throws -> ([String], RecordSample.Counts) {
        let folder = TestFolder()
        let path = folder.write("sample.jsonl", text)
        let sample = try RecordSample(configuration: configuration, model: TestModels.chat())
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
        #expect(lines[1] == "line 2  filtered  filter")
        #expect(lines[3].hasPrefix("line 5  dead letter  decode.unknown_property  Message has no property 'sequence'"))
        let (objects, _) = try shown(text, topic: "t", json: true, configuration)
        #expect(
            objects[0] == """
                {"record":1,"line":1,"outcome":"event","operations":[{"verb":"upsert","entity":"Chat","identity":"c1",\
                "version":"2026-01-02T00:00:00Z","time":"2026-01-02T00:00:00Z","properties":{"title":"T"}},\
                {"verb":"upsert","entity":"Message","identity":"m1","version":"2026-01-02T00:00:00Z",\
                "time":"2026-01-02T00:00:00Z","properties":{"seq":1,"chat":"c1"}}]}
                """)
        #expect(objects[1] == "{\"record\":2,\"line\":2,\"outcome\":\"filtered\",\"reason\":\"filter\"}")
        #expect(
            objects[3].hasPrefix(
                "{\"record\":4,\"line\":5,\"outcome\":\"deadLetter\",\"code\":\"decode.unknown_property\""))
    }

    @Test func `a topic that is not configured is refused`() throws {
        #expect(throws: RouteError.self) { try shown("{}", topic: "none", WorkerConfiguration()) }
    }
}
