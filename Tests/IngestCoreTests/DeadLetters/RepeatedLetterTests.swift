import ObjectGraph
import Testing

@testable import GraphCore
@testable import IngestCore
@testable import SQLiteStorage

/// Records that are put aside once more, because reading went back.
@Suite struct RepeatedLetterTests {
    /// A record that cannot be decoded, and another that breaks a rule.
    private let bad = [
        TestRecord("{\"bad\":0}", key: "k", headers: ["h": "1"], offset: 0),
        TestRecord(Events.event("member.created", "{\"id\":\"u1\",\"email\":\"nobody\"}"), offset: 1),
    ]

    private func add(_ records: [TestRecord], _ fixture: PipelineFixture) throws {
        for record in records { try fixture.add(record) }
        try fixture.pipeline.finish()
    }

    @Test func `a dead letter that comes again is counted and stays the letter it was`() throws {
        let fixture = try PipelineFixture()
        try add(bad, fixture)
        let first = try fixture.deadLetters()
        #expect(first.map(\.stage) == ["decode", "apply"] && first.map(\.attempts) == [1, 1])
        try fixture.pipeline.move(to: [SourcePosition(topic: "events", partition: 0, nextOffset: 0)])
        try add(bad + [TestRecord("{\"bad\":2}", offset: 2)], fixture)
        let second = try fixture.deadLetters()
        #expect(second.map(\.offset) == [0, 1, 2] && second.map(\.attempts) == [2, 2, 1])
        #expect(second.prefix(2).map(\.id) == first.map(\.id) && second.prefix(2).map(\.time) == first.map(\.time))
        #expect(second.map(\.code) == first.map(\.code) + [first[0].code])
    }

    /// A letter of an earlier program has no timestamp, and neither has a record of a file.
    @Test func `a letter that comes again has the last timestamp that is known`() throws {
        let fixture = try PipelineFixture()
        for (timestamp, known) in [(nil, nil), (5, 5), (nil, 5), (6, 6)] as [(Int64?, Int64?)] {
            var record = bad[0]
            record.timestampMilliseconds = timestamp
            try add([record], fixture)
            #expect(try fixture.deadLetters().map(\.timestampMilliseconds) == [known])
        }
        #expect(try fixture.deadLetters().map(\.attempts) == [4])
    }

    @Test func `the reason is that of the last attempt`() throws {
        let fixture = try PipelineFixture()
        try add([bad[0]], fixture)
        var letter = try #require(try fixture.deadLetters().first)
        let known = letter
        (letter.code, letter.reason, letter.stage) = ("decode.other", "another reason", "apply")
        _ = try fixture.writer.apply(WriterContext.Chunk(events: [], deadLetters: [letter]))
        try fixture.writer.commit()
        let kept = try fixture.deadLetters()
        #expect(kept.map(\.id) == [known.id] && kept.map(\.attempts) == [2])
        #expect(kept.map(\.code) == ["decode.other"] && kept.map(\.reason) == ["another reason"])
        #expect(kept.map(\.stage) == ["apply"])
    }

    /// A topic that was made anew has other records at the same places.
    @Test func `another record at the place of a dead letter is another letter`() throws {
        let fixture = try PipelineFixture()
        try add([bad[0]], fixture)
        var others = Array(repeating: bad[0], count: 6)
        others[0].value = Array("{\"bad\":1}".utf8)
        others[1].key = nil
        others[2].key = Array("l".utf8)
        others[3].headers = []
        others[4].partition = 1
        others[5].topic = "others"
        try add(others, fixture)
        #expect(try fixture.deadLetters().map(\.attempts) == Array(repeating: 1, count: 7))
    }

    @Test func `a record without a value is known again`() throws {
        let fixture = try PipelineFixture()
        let none = TestRecord(nil, key: "k")
        try add([none], fixture)
        try add([none], fixture)
        #expect(try fixture.deadLetters().map(\.attempts) == [2])
        var empty = none
        empty.value = []
        try add([empty], fixture)
        #expect(try fixture.deadLetters().map(\.attempts) == [2, 1])
    }

    @Test func `a letter that a chunk brings several times is counted as often`() throws {
        let fixture = try PipelineFixture()
        try add([bad[0], bad[1], bad[0]], fixture)
        #expect(try fixture.deadLetters().map(\.attempts) == [2, 1])
        try add([bad[0], bad[0], bad[1]], fixture)
        #expect(try fixture.deadLetters().map(\.attempts) == [4, 2])
    }

    /// Stores of programs before this one may have letters twice.
    @Test func `of letters that a store has twice the first is counted`() throws {
        let fixture = try PipelineFixture()
        try add([bad[0]], fixture)
        try fixture.store.sqlite().onWriter { handle in
            try SQLiteWriterSession(handle, model: fixture.store.model).runOnce(
                "INSERT INTO _dead_letter SELECT 9, time, topic, partition, offset, line, stage, code, reason, key, "
                    + "value, valueBytes, headers, attempts, NULL FROM _dead_letter")
        }
        try add([bad[0]], fixture)
        #expect(try fixture.deadLetters().map(\.id) == [1, 9])
        #expect(try fixture.deadLetters().map(\.attempts) == [2, 1])
    }
}
