import Foundation
import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding
@testable import RecordFiles

@Suite struct ReplayEngineTests {
    private let folder = TestFolder()

    /// Replays a file into a fixture's store.
    @discardableResult
    private func replay(
        _ path: String, into fixture: PipelineFixture, _ configuration: WorkerConfiguration = WorkerConfiguration(),
        mapping: FileConfiguration? = nil, restarts: Bool = false, stoppingAfter count: Int = .max
    ) throws -> ReplayEngine.FileResult {
        let before = fixture.pipeline.summary.records
        let engine = ReplayEngine(
            pipeline: fixture.pipeline, configuration: configuration, logger: .silent,
            isStopping: { fixture.pipeline.summary.records - before >= count })
        return try engine.replay(path: path, mapping: mapping, restarts: restarts)
    }

    /// A store's dump without what names files: positions and dead letters.
    private func objects(_ fixture: PipelineFixture) throws -> String {
        String(try fixture.dump().split(separator: "\npositions\n", maxSplits: 1, omittingEmptySubsequences: false)[0])
    }

    private func sample(_ name: String) throws -> String? {
        let path = TestModels.packageFolder + "/samples/" + name
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }

    private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    // MARK: Samples

    @Test(arguments: [("chat-events.jsonl", "chat"), ("work-orders.jsonl", "work-orders")])
    func `samples replay the same in each form`(name: String, model: String) throws {
        guard let path = try sample(name) else { return }
        let lines = try text(path).split(separator: "\n")
        let forms = [
            path, folder.write("array.json", "[\n" + lines.joined(separator: ",\n") + "\n]"),
            folder.write("lines.jsonl.gz", gzip(Array(try text(path).utf8))),
            folder.write("crlf.jsonl", "\u{FEFF}" + lines.joined(separator: "\r\n\r\n")),
        ]
        let dumps = try forms.map { form in
            let fixture = try PipelineFixture(model: model == "chat" ? TestModels.chat() : TestModels.workOrders())
            let result = try replay(form, into: fixture)
            #expect(result.records == lines.count && result.resumedAfter == 0)
            #expect(try fixture.positions().map(\.nextOffset) == [Int64(lines.count)])
            #expect(try fixture.store.verify().isSound)
            return try objects(fixture)
        }
        #expect(dumps[0].contains("object "))
        for dump in dumps.dropFirst() { #expect(dump == dumps[0]) }
    }

    @Test func `the table of the samples replays`() throws {
        guard let table = try sample("work-orders.csv"), let worker = try sample("worker.yaml") else { return }
        let configuration = try WorkerConfiguration.load(file: worker).configuration
        let fixture = try PipelineFixture(model: TestModels.workOrders())
        let result = try replay(table, into: fixture, configuration)
        #expect(result.records == 150)
        let letters = try fixture.deadLetters()
        #expect(letters.allSatisfy { $0.line != nil && $0.stage == "decode" })
        #expect(try fixture.identities("WorkOrder").count == 150 - letters.count)
        #expect(try fixture.store.verify().isSound)
    }

    @Test func `a wrong route of a topic ends the replay of its records, and none becomes a dead letter`() throws {
        var route = RouteConfiguration(entity: "Chat")
        route.condition = "id ="
        var configuration = WorkerConfiguration()
        configuration.topics = [TopicConfiguration(name: "chats", format: .json, routes: [route])]
        let line =
            #"{"topic":"chats","partition":0,"offset":3,"tstype":"create","ts":1,"#
            + #""broker":1,"key":null,"payload":"{}"}"#
        let fixture = try PipelineFixture(model: TestModels.chat())
        let path = folder.write("records.jsonl", line)
        #expect(throws: RouteError.self) { try replay(path, into: fixture, configuration) }
        #expect(try fixture.deadLetters().isEmpty && fixture.positions().isEmpty)
    }

    @Test func `a table means the same as its events`() throws {
        var route = RouteConfiguration(entity: "Message")
        route.aliases = ["Text": "body"]
        let table = folder.write(
            "m.csv",
            "id,chat,Text,seq\nm1,c1,\"Hello, \"\"all\"\"\",1\nm2,c1,,2\nm3,c2,\"two\nlines\",\nm4,c1,x,-1\nm5,c1,x,no\n"
        )
        let rows = try PipelineFixture()
        try replay(table, into: rows, mapping: FileConfiguration(match: "*", format: .json, routes: [route]))
        let events = [
            "{\"id\":\"m1\",\"chat\":\"c1\",\"body\":\"Hello, \\\"all\\\"\",\"seq\":1}",
            "{\"id\":\"m2\",\"chat\":\"c1\",\"seq\":2}",
            "{\"id\":\"m3\",\"chat\":\"c2\",\"body\":\"two\\nlines\"}",
            "{\"id\":\"m4\",\"chat\":\"c1\",\"body\":\"x\",\"seq\":-1}",
            "{\"id\":\"m5\",\"chat\":\"c1\",\"body\":\"x\",\"seq\":\"no\"}",
        ].map { Events.event("message.created", $0) }
        let lines = try PipelineFixture()
        try replay(folder.write("m.jsonl", events.joined(separator: "\n")), into: lines)
        #expect(try objects(rows) == objects(lines))
        #expect(try rows.deadLetters().map(\.code) == lines.deadLetters().map(\.code))
        #expect(try rows.deadLetters().map(\.stage).sorted() == ["apply", "decode"])
        let letter = try #require(try rows.deadLetters().first { $0.stage == "decode" })
        #expect(letter.offset == 5 && letter.line == 7 && letter.value == Array("m5,c1,x,no".utf8))
    }

    // MARK: Going on

    private func lines(_ numbers: Range<Int>) -> String {
        numbers.map { Events.message("m\($0)", chat: "c\($0 % 3)", body: "b\($0)") + "\n" }.joined()
    }

    @Test(arguments: ["jsonl", "json", "jsonl.gz"]) func `goes on where it was stopped`(form: String) throws {
        let text = lines(0..<100)
        let array = "[" + text.split(separator: "\n").joined(separator: ",") + "]"
        let path = folder.write(
            "events.\(form)",
            form == "json" ? Array(array.utf8) : form == "jsonl" ? Array(text.utf8) : gzip(Array(text.utf8)))
        let whole = try PipelineFixture()
        try replay(path, into: whole)
        let stopped = try PipelineFixture { $0.chunk.maxOperations = 7 }
        var done = 0
        for count in [1, 30, 20] {
            let result = try replay(path, into: stopped, stoppingAfter: count)
            #expect(result.records == count && result.resumedAfter == done)
            done += count
            #expect(try stopped.positions().map(\.nextOffset) == [Int64(done)])
        }
        let last = try replay(path, into: stopped)
        #expect(last.resumedAfter == 51 && last.records == 49)
        #expect(try stopped.dump() == whole.dump())
        let again = try replay(path, into: stopped)
        #expect(again.records == 0 && again.resumedAfter == 100)
    }

    @Test func `a file that has grown goes on`() throws {
        let path = folder.write("events.jsonl", lines(0..<10))
        let fixture = try PipelineFixture()
        try replay(path, into: fixture)
        _ = folder.write("events.jsonl", lines(0..<25))
        let result = try replay(path, into: fixture)
        #expect(result.resumedAfter == 10 && result.records == 15)
        #expect(try fixture.identities("Message").count == 25)
        _ = folder.write("events.jsonl", lines(0..<2000))
        #expect(try replay(path, into: fixture).resumedAfter == 25)
        #expect(try replay(path, into: fixture).resumedAfter == 2000)
    }

    @Test func `another file at the same path begins again`() throws {
        let path = folder.write("events.jsonl", lines(0..<10))
        let fixture = try PipelineFixture()
        try replay(path, into: fixture)
        _ = folder.write("events.jsonl", lines(50..<53))
        let result = try replay(path, into: fixture)
        #expect(result.resumedAfter == 0 && result.records == 3)
        #expect(try fixture.positions().map(\.nextOffset) == [3])
        #expect(try fixture.identities("Message").count == 13)
        #expect(try replay(path, into: fixture).resumedAfter == 3)
    }

    @Test func `restarting applies again and changes nothing`() throws {
        let path = folder.write("events.jsonl", lines(0..<10))
        let fixture = try PipelineFixture()
        try replay(path, into: fixture)
        let (dump, token) = (try fixture.dump(), try fixture.store.read { try $0.lastToken() })
        let result = try replay(path, into: fixture, restarts: true)
        #expect(result.records == 10 && result.resumedAfter == 0)
        #expect(try fixture.dump() == dump)
        #expect(try fixture.store.read { try $0.lastToken() } == token)
    }

    @Test func `one path may be written in many ways`() throws {
        let path = folder.write("events.jsonl", lines(0..<3))
        let fixture = try PipelineFixture()
        try replay(path, into: fixture)
        #expect(try replay(folder.path + "/.//./events.jsonl", into: fixture).resumedAfter == 3)
    }

    // MARK: Dead letters and refusals

    @Test func `a broken line keeps its place and bytes`() throws {
        let good = lines(0..<2)
        let path = folder.write("events.jsonl", good + "\n{\"broken\"\n" + lines(2..<3))
        let fixture = try PipelineFixture()
        let result = try replay(path, into: fixture)
        let letter = try #require(try fixture.deadLetters().first)
        #expect(letter.topic == "file:\(URL(fileURLWithPath: path).standardizedFileURL.path)")
        #expect(letter.line == 4 && letter.offset == 3 && letter.value == Array("{\"broken\"".utf8))
        #expect(result.records == 4)
        #expect(try fixture.identities("Message").count == 3)
    }

    @Test func `an oversized record is put aside and its beginning kept`() throws {
        var configuration = WorkerConfiguration()
        configuration.limits.maxRecordBytes = 100_000
        let large = Events.message("big", body: String(repeating: "x", count: 300_000))
        let path = folder.write("events.jsonl", lines(0..<1) + large + "\n" + lines(1..<2))
        let fixture = try PipelineFixture()
        try replay(path, into: fixture, configuration)
        let letter = try #require(try fixture.deadLetters().first)
        #expect(letter.code == "decode.too_large" && letter.valueBytes == large.utf8.count)
        #expect(letter.value == Array(large.utf8.prefix(65_536)))
        #expect(try fixture.identities("Message") == ["m0", "m1"])
    }

    @Test func `says what a table needs`() throws {
        let path = folder.write("rows.csv", "id\nm1\n")
        let fixture = try PipelineFixture()
        let error = try #require(caught(RouteError.self) { try replay(path, into: fixture) })
        #expect(error.description.contains("'files'"))
        #expect(throws: RecordFileError.self) { try replay(folder.path + "/missing.jsonl", into: fixture) }
    }

    @Test func `tells its progress`() throws {
        let path = folder.write("events.jsonl", lines(0..<600))
        let fixture = try PipelineFixture()
        var clock = 0.0
        let engine = ReplayEngine(
            pipeline: fixture.pipeline, configuration: WorkerConfiguration(), logger: .silent,
            now: {
                clock += 1
                return clock
            })
        var seen: [ReplayEngine.Progress] = []
        engine.onProgress = { seen.append($0) }
        _ = try engine.replay(path: path)
        #expect(seen.map(\.records) == [256, 512, 600])
        #expect(seen.last?.bytesRead == seen.last?.totalBytes)
    }
}
