import KafkaClient
import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

/// Dead letters that are tried again, dropped and exported.
@Suite struct DeadLetterRetryTests {
    private func topic(_ change: (inout RouteConfiguration) -> Void = { _ in }) -> WorkerConfiguration {
        var route = RouteConfiguration(entity: "Message")
        change(&route)
        var configuration = WorkerConfiguration()
        configuration.topics = [TopicConfiguration(name: "events", format: .json, routes: [route])]
        return configuration
    }

    /// A store with the letters of records that CloudEvents refused.
    private func fixture(_ records: [String]) throws -> PipelineFixture {
        let fixture = try PipelineFixture()
        for (index, value) in records.enumerated() {
            // Put aside from the last to the first.
            let offset = records.count - index - 1
            try fixture.add(TestRecord(records[offset], key: "k\(offset)", headers: ["h": "v"], offset: Int64(offset)))
            #expect(!value.isEmpty)
        }
        try fixture.pipeline.finish()
        return fixture
    }

    private func retry(
        _ fixture: PipelineFixture, _ configuration: WorkerConfiguration,
        _ change: (inout DeadLetterSelection) -> Void = { _ in }
    ) throws -> DeadLetterRetry.Summary {
        var selection = DeadLetterSelection()
        change(&selection)
        let retry = DeadLetterRetry(writer: fixture.writer, configuration: configuration)
        var letters = try LetterBatches(selection, fixture.writer.store, configuration.chunk)
        while let ids = letters.next() { try retry.retry(ids) }
        return retry.summary
    }

    @Test func `dead letters pass when the route is mended`() throws {
        let fixture = try fixture([
            "{\"id\":\"m0\",\"chat\":\"c1\"}", "{\"id\":\"m1\",\"chat\":\"c1\"}", "{\"id\":\"m2\",\"txt\":1}",
        ])
        #expect(try fixture.deadLetters().map(\.code) == Array(repeating: "decode.envelope", count: 3))
        let positions = try fixture.positions().map(\.nextOffset)
        let summary = try retry(fixture, topic())
        #expect((summary.tried, summary.applied, summary.failed) == (3, 2, 1))
        #expect(try fixture.identities("Message") == ["m0", "m1"])
        let left = try fixture.deadLetters()
        #expect(left.map(\.code) == ["decode.unknown_property"])
        #expect(left[0].attempts == 2 && left[0].offset == 2 && left[0].stage == "decode")
        #expect(left[0].value == Array("{\"id\":\"m2\",\"txt\":1}".utf8))
        #expect(try fixture.positions().map(\.nextOffset) == positions)
        let again = try retry(fixture, topic { $0.ignore = ["txt"] })
        // The model asks for a chat: decoded by now, and refused by a rule.
        #expect(again.failed == 1)
        #expect(try fixture.deadLetters().map(\.stage) == ["apply"])
        #expect(try fixture.deadLetters().map(\.attempts) == [3])
    }

    @Test func `dead letters are applied in the order of their positions`() throws {
        // Without versions the last one counts.
        let model = try TestModels.kinds()
        let records = ["{\"number\":1,\"label\":\"first\"}", "{\"number\":1,\"label\":\"second\"}"]
        let fixture = try PipelineFixture(model: model)
        for offset in [1, 0] { try fixture.add(TestRecord(records[offset], offset: Int64(offset))) }
        try fixture.pipeline.finish()
        var configuration = WorkerConfiguration()
        configuration.chunk.maxOperations = 1
        configuration.topics = [
            TopicConfiguration(name: "events", format: .json, routes: [RouteConfiguration(entity: "Part")])
        ]
        #expect(try retry(fixture, configuration).applied == 2)
        let parts = try fixture.store.read { try $0.fetch(FetchRequest("Part")) }
        #expect(parts.compactMap { $0["label"]?.text } == ["second"])
        #expect(try fixture.deadLetters().isEmpty)
    }

    @Test func `only the selected dead dead letters are tried`() throws {
        let fixture = try fixture(["{\"id\":\"m0\",\"chat\":\"c1\"}", "{\"id\":\"m1\",\"chat\":\"c1\"}"])
        let ids = try fixture.deadLetters().map(\.id)
        #expect(try retry(fixture, topic()) { $0.code = "decode.type" }.tried == 0)
        #expect(try retry(fixture, topic()) { $0.topic = "others" }.tried == 0)
        #expect(try retry(fixture, topic()) { $0.before = 0 }.tried == 0)
        #expect(try retry(fixture, topic()) { ($0.ids, $0.stage, $0.partition) = ([ids[0]], "decode", 0) }.applied == 1)
        #expect(try fixture.deadLetters().map(\.id) == [ids[1]])
    }

    // MARK: Timestamps

    private func timed() -> WorkerConfiguration { topic { $0.timeField = "$timestamp" } }

    /// A store with the letter of a message of 2001, and the message as an event of 2023 wrote it.
    private func outdated() throws -> PipelineFixture {
        let fixture = try PipelineFixture()
        var record = TestRecord("{\"id\":\"m0\",\"chat\":\"c1\",\"body\":\"old\"}")
        record.timestampMilliseconds = 1_000_000_000_000
        try fixture.add(record)
        try addNews(to: fixture)
        return fixture
    }

    private func addNews(to fixture: PipelineFixture) throws {
        let data = "{\"id\":\"m0\",\"chat\":\"c1\",\"body\":\"new\"}"
        try fixture.add(TestRecord(Events.event("message.created", data, time: "2023-01-01T00:00:00Z"), offset: 1))
        try fixture.pipeline.finish()
    }

    private func bodies(_ fixture: PipelineFixture) throws -> [String?] {
        try fixture.store.read { try $0.fetch(FetchRequest("Message")) }.map { $0["body"]?.text }
    }

    @Test func `a retried letter is as old as its record`() throws {
        let fixture = try outdated()
        #expect(try fixture.deadLetters().map(\.timestampText) == ["2001-09-09T01:46:40Z"])
        let summary = try retry(fixture, timed())
        #expect((summary.applied, summary.stale) == (0, 1))
        #expect(try bodies(fixture) == ["new"] && fixture.deadLetters().isEmpty)
    }

    @Test func `an exported letter is as old as its record`() throws {
        let line = try DeadLetterLine.text(#require(try outdated().deadLetters().first))
        let folder = TestFolder()
        let fixture = try PipelineFixture()
        try addNews(to: fixture)
        let engine = ReplayEngine(pipeline: fixture.pipeline, configuration: timed(), logger: .silent)
        #expect(try engine.replay(path: folder.write("letters.jsonl", line + "\n")).records == 1)
        #expect(try bodies(fixture) == ["new"] && fixture.deadLetters().isEmpty)
    }

    @Test func `a letter that broke a rule keeps its record's timestamp`() throws {
        let fixture = try PipelineFixture()
        var record = TestRecord(Events.event("member.created", "{\"id\":\"u1\",\"email\":\"nobody\"}"))
        record.timestampMilliseconds = 7
        try fixture.add(record)
        try fixture.pipeline.finish()
        let letters = try fixture.deadLetters()
        #expect(letters.map(\.stage) == ["apply"] && letters.map(\.timestampMilliseconds) == [7])
    }

    @Test func `dead letters that are filtered by now are removed`() throws {
        let fixture = try fixture(["{\"id\":\"m0\",\"chat\":\"c1\"}"])
        #expect(try retry(fixture, topic { $0.filter = "seq > 0" }).filtered == 1)
        #expect(try fixture.deadLetters().isEmpty)
        #expect(try fixture.identities("Message").isEmpty)
    }

    @Test func `a dead letter that is kept in part cannot be retried`() throws {
        let fixture = try PipelineFixture { $0.limits.maxRecordBytes = 100 }
        try fixture.add(TestRecord("{\"id\":\"m0\",\"body\":\"" + String(repeating: "x", count: 17 << 20) + "\"}"))
        try fixture.pipeline.finish()
        #expect(try retry(fixture, topic { _ in }).failed == 1)
        let letter = try #require(try fixture.deadLetters().first)
        #expect(letter.code == "decode.too_large" && letter.reason.contains("Only the beginning"))
    }

    @Test func `a topic that is gone is said`() throws {
        let fixture = try fixture(["{\"id\":\"m0\"}"])
        #expect(try retry(fixture, WorkerConfiguration()).failed == 1)
        #expect(try fixture.deadLetters().map(\.code) == ["decode.topic"])
    }

    @Test func `dead letters are removed for good`() throws {
        let fixture = try fixture(["{\"id\":\"m0\"}", "{\"id\":\"m1\"}"])
        let ids = try fixture.deadLetters().map(\.id)
        try fixture.writer.removeDeadLetters([ids[0]])
        #expect(try fixture.deadLetters().map(\.id) == [ids[1]])
    }

    // MARK: Lines

    @Test func `a line is replayed as the record that it was`() throws {
        let first = try fixture(["{\"id\":\"m0\",\"chat\":\"c1\"}", "{\"id\":\"m1\",\"chat\":\"c1\",\"x\":1}"])
        let letters = try first.deadLetters()
        let folder = TestFolder()
        let path = folder.write("letters.jsonl", letters.map { DeadLetterLine.text($0) + "\n" }.joined())
        var configuration = topic()
        let second = try PipelineFixture { configuration.limits = $0.limits }
        let engine = ReplayEngine(pipeline: second.pipeline, configuration: configuration, logger: .silent)
        #expect(try engine.replay(path: path).records == 2)
        #expect(try second.identities("Message") == ["m0"])
        // What fails again is put aside with the place, key and headers that it came from.
        let left = try #require(try second.deadLetters().first)
        let original = try #require(letters.first { $0.offset == 1 })
        #expect((left.topic, left.partition, left.offset) == ("events", 0, 1))
        #expect((left.key, left.value, left.headers) == (original.key, original.value, original.headers))
        #expect(left.recordHeaders == [RecordHeader("h", Array("v".utf8))])
        // The file's own position counts, and no topic's.
        #expect(try second.positions().map(\.topic) == [RecordPlace.topic(ofFile: path)])
        #expect(try engine.replay(path: path).records == 0)
    }

    @Test func `a damaged line is put aside`() throws {
        let folder = TestFolder()
        let path = folder.write("letters.jsonl", "{\"deadLetter\":1,\"topic\":\"events\"}\n{\"deadLetter\":1,\n")
        let fixture = try PipelineFixture()
        let engine = ReplayEngine(pipeline: fixture.pipeline, configuration: topic(), logger: .silent)
        #expect(try engine.replay(path: path).records == 2)
        #expect(try fixture.deadLetters().map(\.code) == ["decode.envelope", "json.truncated"])
        #expect(try fixture.deadLetters().map(\.topic) == Array(repeating: RecordPlace.topic(ofFile: path), count: 2))
    }

    @Test func `a line with a number beyond all records is put aside`() throws {
        func line(_ offset: Int64, _ size: Int64) -> String {
            #"{"deadLetter":1,"topic":"events","partition":0,"offset":\#(offset),"key":null,"value":"e30=","#
                + #""valueBytes":\#(size)}"# + "\n"
        }
        let kcat =
            #"{"topic":"events","partition":0,"offset":9223372036854775807,"tstype":"create","ts":1,"#
            + #""broker":1,"key":null,"payload":"{}"}"#
        let folder = TestFolder()
        let path = folder.write(
            "letters.jsonl", line(.max, 2) + line(-1, 2) + line(1, .max) + line(2, .max) + kcat)
        let fixture = try PipelineFixture()
        let engine = ReplayEngine(
            pipeline: fixture.pipeline, configuration: topic { $0.identity = .row }, logger: .silent)
        #expect(try engine.replay(path: path).records == 5)
        #expect(try fixture.deadLetters().map(\.code) == Array(repeating: "decode.envelope", count: 5))
    }
}
