import KafkaClient
import ObjectGraph
import TestSupport
import Testing

@testable import IngestCore

@Suite struct IngestPipelineTests {
    // MARK: When chunks close

    @Test func `a chunk closes at its number of operations`() throws {
        let fixture = try PipelineFixture { ($0.chunk.maxOperations, $0.commit.maxRows) = (3, 1) }
        for record in Events.records(["m0", "m1"].map { Events.message($0) }) { try fixture.add(record) }
        #expect(fixture.pipeline.summary.chunks == 0)
        // An event with a nested object counts its operations.
        try fixture.add(TestRecord(Events.message("m2"), offset: 2))
        #expect(fixture.pipeline.summary.chunks == 1)
        let nested =
            "{\"id\":\"c2\",\"title\":\"T\",\"members\":[{\"id\":\"u1\",\"name\":\"A\"},{\"id\":\"u2\",\"name\":\"B\"}]}"
        try fixture.add(TestRecord(Events.event("chat.created", nested), offset: 3))
        #expect(fixture.pipeline.summary.chunks == 2)
    }

    @Test func `identities that no broker takes are put aside`() throws {
        let fixture = try PipelineFixture()
        let long = String(repeating: "x", count: 1025)
        let events = [Events.message(long), Events.message("m", chat: long), Events.message("n")]
        for record in Events.records(events) { try fixture.add(record) }
        try fixture.pipeline.finish()
        #expect(try fixture.deadLetters().map(\.code) == ["decode.identity", "decode.identity"])
        #expect(try fixture.identities("Message") == ["n"])
    }

    @Test func `a chunk closes at its bytes`() throws {
        let fixture = try PipelineFixture { $0.chunk.maxBytes = 500 }
        try fixture.add(TestRecord(Events.message("m0", body: "short"), offset: 0))
        #expect(fixture.pipeline.summary.chunks == 0)
        try fixture.add(TestRecord(Events.message("m1", body: String(repeating: "x", count: 500)), offset: 1))
        #expect(fixture.pipeline.summary.chunks == 1)
    }

    @Test func `the keys and headers of its records count among a chunk's bytes`() throws {
        let long = String(repeating: "x", count: 500)
        for record in [
            TestRecord(Events.message("m0"), key: long), TestRecord(Events.message("m0"), headers: ["name": long]),
            TestRecord(Events.message("m0"), headers: [long: nil]),
        ] {
            let fixture = try PipelineFixture { $0.chunk.maxBytes = 500 }
            try fixture.add(record)
            #expect(fixture.pipeline.summary.chunks == 1)
        }
    }

    @Test func `a chunk is committed after its time`() throws {
        let fixture = try PipelineFixture { ($0.chunk.maxMilliseconds, $0.commit.maxMilliseconds) = (250, 500) }
        #expect(fixture.pipeline.deadline == nil)
        try fixture.add(TestRecord(Events.message("m0")))
        fixture.now = 0.125
        try fixture.pipeline.tick(hasBacklog: true)
        #expect(fixture.commits.isEmpty)
        #expect(try fixture.identities("Message").isEmpty, "nobody sees what is not committed")
        fixture.now = 0.25
        try fixture.pipeline.tick(hasBacklog: true)
        #expect(fixture.commits.count == 1 && fixture.pipeline.deadline == nil)
        #expect(try fixture.identities("Message") == ["m0"])
    }

    private func add(_ numbers: Range<Int>, to fixture: PipelineFixture, hasBacklog: Bool = true) throws {
        for number in numbers {
            try fixture.add(TestRecord(Events.message("m\(number)"), offset: Int64(number)), hasBacklog: hasBacklog)
        }
    }

    @Test func `without backlog each full chunk is committed at once`() throws {
        let fixture = try PipelineFixture { $0.chunk.maxOperations = 1 }
        try add(0..<3, to: fixture, hasBacklog: false)
        #expect(fixture.commits.map { $0.map(\.nextOffset) } == [[1], [2], [3]])
        #expect(try fixture.identities("Message") == ["m0", "m1", "m2"])
    }

    @Test func `with backlog a commit is one chunk, and one transaction of the history`() throws {
        let fixture = try PipelineFixture { ($0.chunk.maxOperations, $0.commit.maxRows) = (2, 100) }
        try add(0..<14, to: fixture)
        #expect(fixture.commits.map { $0.map(\.nextOffset) } == [[2], [6], [14]])
        let transactions = try fixture.store.read { try $0.history(after: 0) }
        #expect(transactions.map(\.token) == [1, 2, 3])
        #expect(transactions.map(\.source) == ["events/0@0", "events/0@2", "events/0@6"])
        // The chat's count is written once for each transaction.
        #expect(transactions.map(\.changes.count) == [3, 5, 9])
        // The backlog ends: what is open is committed, and small chunks follow.
        try add(14..<16, to: fixture)
        try fixture.pipeline.tick(hasBacklog: false)
        try add(16..<20, to: fixture, hasBacklog: false)
        #expect(fixture.commits.map { $0.map(\.nextOffset) }[3...] == [[16], [18], [20]])
        #expect(fixture.pipeline.summary.chunks == 6 && fixture.pipeline.summary.commits == 6)
    }

    @Test func `the rows of a commit are bounded`() throws {
        let fixture = try PipelineFixture { ($0.chunk.maxOperations, $0.commit.maxRows) = (1, 10) }
        try add(0..<40, to: fixture)
        try fixture.pipeline.finish()
        let transactions = try fixture.store.read { try $0.history(after: 0) }
        #expect(transactions.allSatisfy { $0.changes.count <= 10 })
        #expect(transactions.contains { $0.changes.count > 2 })
    }

    // MARK: Positions

    @Test func `positions are committed with the data`() throws {
        let fixture = try PipelineFixture()
        for (number, partition) in [0, 1, 0, 1, 1].enumerated() {
            var record = TestRecord(Events.message("m\(number)"), offset: Int64(number * 10))
            record.partition = Int32(partition)
            try fixture.add(record)
        }
        #expect(try fixture.positions().isEmpty)
        try fixture.pipeline.finish()
        #expect(try fixture.positions().map(\.partition) == [0, 1])
        #expect(try fixture.positions().map(\.nextOffset) == [21, 41])
        #expect(try fixture.positions().allSatisfy { $0.detail != nil })
        #expect(fixture.commits.last?.last?.nextOffset == 41)
        #expect(try fixture.identities("Message").count == 5)
    }

    @Test func `a record that is no event moves the position too`() throws {
        let fixture = try PipelineFixture()
        try fixture.feed(Events.records(["{"]))
        #expect(try fixture.positions().map(\.nextOffset) == [1])
        #expect(try fixture.deadLetters().count == 1)
    }

    @Test func `finishing with nothing to save is no error`() throws {
        let fixture = try PipelineFixture()
        try fixture.pipeline.finish()
        try fixture.pipeline.tick(hasBacklog: false)
        #expect(fixture.pipeline.summary.chunks == 0)
    }

    // MARK: Dead letters

    @Test func `bad records are put aside and their neighbours saved`() throws {
        let fixture = try PipelineFixture()
        let marker = "S3CRET-marker"
        var broken = TestRecord("{\"type\":\"message.created\",\"data\":{\"id\":\"\(marker)", key: "key-1", offset: 1)
        broken.headers = [RecordHeader("trace", [1, 2, 255]), RecordHeader("none", nil)]
        broken.partition = 3
        var invalid = TestRecord(
            Events.event("member.created", "{\"id\":\"u1\",\"email\":\"\(marker)\"}"), key: "key-2",
            headers: ["a": "b"], offset: 7)
        invalid.topic = "others"
        var seen: [String] = []
        fixture.pipeline.onDeadLetter = { place, code, _ in seen.append("\(place) \(code)") }
        for record in [TestRecord(Events.message("m0")), broken, invalid, TestRecord(Events.message("m1"), offset: 2)] {
            try fixture.add(record)
        }
        try fixture.pipeline.finish()
        #expect(try fixture.identities("Message") == ["m0", "m1"])
        #expect(seen == ["events/3 offset 1 json.truncated", "others/0 offset 7 validation.1680"])
        let letters = try fixture.deadLetters()
        try #require(letters.count == 2)
        expect(
            letters[0], broken, stage: "decode", code: "json.truncated",
            headers: "[[\"trace\",\"AQL/\"],[\"none\",null]]")
        expect(letters[1], invalid, stage: "apply", code: "validation.1680", headers: "[[\"a\",\"Yg==\"]]")
        #expect(letters.allSatisfy { !$0.reason.contains(marker) && !$0.reason.isEmpty })
        #expect(fixture.pipeline.summary.deadLetters == 2 && fixture.pipeline.summary.applied == 2)
    }

    private func expect(
        _ letter: DeadLetter, _ record: TestRecord, stage: String, code: String, headers: String?,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(letter.topic == record.topic && letter.partition == record.partition, sourceLocation: sourceLocation)
        #expect(letter.offset == record.offset && letter.line == nil, sourceLocation: sourceLocation)
        #expect(letter.key == record.key && letter.value == record.value, sourceLocation: sourceLocation)
        #expect(letter.valueBytes == record.value?.count ?? 0, sourceLocation: sourceLocation)
        #expect(letter.stage == stage && letter.code == code, sourceLocation: sourceLocation)
        #expect(letter.headers == headers, sourceLocation: sourceLocation)
    }

    @Test func `of a huge record the beginning is kept`() throws {
        let fixture = try PipelineFixture()
        let bytes = Array("{\"type\":\"".utf8) + [UInt8](repeating: 0x61, count: 20_000_000)
        try fixture.add(TestRecord(Events.message("m0")))
        try fixture.add(TestRecord(bytes: bytes, offset: 1))
        try fixture.pipeline.finish()
        let letter = try #require(try fixture.deadLetters().first)
        #expect(letter.code == "decode.too_large" && letter.valueBytes == bytes.count)
        let kept = try #require(letter.value)
        #expect(kept.count == 65_536 && kept == Array(bytes.prefix(65_536)))
        #expect(try fixture.identities("Message") == ["m0"])
    }

    @Test func `a null value is kept as null`() throws {
        let fixture = try PipelineFixture()
        try fixture.feed([TestRecord(nil, key: "k")])
        let letter = try #require(try fixture.deadLetters().first)
        #expect(letter.code == "decode.null" && letter.value == nil && letter.key == Array("k".utf8))
    }

    // MARK: errors.tolerance: none

    @Test(arguments: ["{\"broken\"", Events.event("member.created", "{\"id\":\"u1\",\"email\":\"S3CRET\"}")])
    func `without tolerance nothing since the last commit is kept`(bad: String) throws {
        let fixture = try PipelineFixture { $0.errors.tolerance = .none }
        for record in Events.records(["m0", "m1"].map { Events.message($0) }) { try fixture.add(record) }
        try fixture.pipeline.finish()
        let before = try fixture.dump()
        let halt = try #require(
            caught(IngestPipeline.Halt.self) {
                for (index, event) in [Events.message("m2"), Events.message("m3"), Events.message("m4"), bad]
                    .enumerated()
                {
                    try fixture.add(TestRecord(event, offset: Int64(index + 2)))
                }
                try fixture.pipeline.finish()
            })
        #expect(halt.code == "ingest.halted" && !halt.isRetriable)
        #expect(halt.description.contains("events/0 offset 5"))
        #expect(!halt.description.contains("S3CRET"))
        try fixture.pipeline.finish()
        #expect(try fixture.dump() == before)
        #expect(try fixture.deadLetters().isEmpty)
    }

    @Test func `halts at the first bad record whatever is wrong with it`() throws {
        let fixture = try PipelineFixture { $0.errors.tolerance = .none }
        try fixture.add(TestRecord(Events.message("m0"), offset: 0))
        // It decodes, and breaks a rule when it is applied, after the next record was decoded.
        try fixture.add(TestRecord(Events.event("member.created", "{\"id\":\"u1\",\"email\":\"x\"}"), offset: 1))
        let halt = try #require(
            caught(IngestPipeline.Halt.self) { try fixture.add(TestRecord("{", offset: 2)) })
        #expect(halt.description.contains("events/0 offset 1"))
        #expect(fixture.pipeline.summary.deadLetters == 0)
        #expect(try fixture.positions().isEmpty)
    }

    // MARK: Counting

    @Test func `counts what became of the records`() throws {
        let fixture = try PipelineFixture()
        let events = [
            Events.event("chat.updated", "{\"id\":\"c1\",\"title\":\"new\"}", time: "2026-01-02T00:00:00Z"),
            Events.event("chat.updated", "{\"id\":\"c1\",\"title\":\"old\"}", time: "2026-01-01T00:00:00Z"),
            Events.message("m1", chat: "c9"), "{",
            Events.event("chat.deleted", "{\"id\":\"c1\"}", time: "2026-01-03T00:00:00Z"),
        ]
        try fixture.feed(Events.records(events))
        let summary = fixture.pipeline.summary
        #expect(summary.records == 5 && summary.bytes == events.reduce(0) { $0 + $1.utf8.count })
        #expect(summary.applied == 3 && summary.stale == 1 && summary.deadLetters == 1 && summary.placeholders == 1)
        #expect(summary.chunks == 1 && summary.commits == 1)
    }
}
