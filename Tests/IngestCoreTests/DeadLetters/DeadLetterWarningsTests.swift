import Logging
import ObjectGraph
import Testing

@testable import IngestCore

@Suite struct DeadLetterWarningsTests {
    @Test func `the log warns of the first dead letter of each code and partition and counts the others`() {
        var warnings = DeadLetterWarnings()
        let first = [("a", 0), ("b", 0), ("a", 1)].map { code, partition in
            warnings.note(code, topic: "t", partition: Int32(partition), at: 0)
        }
        #expect(first == [true, true, true])
        #expect(warnings.tick(at: 100) == nil, "nothing is counted yet")
        for _ in 0..<5 { #expect(warnings.note("a", topic: "t", partition: 0, at: 100) == false) }
        #expect(warnings.note("b", topic: "t", partition: 0, at: 101) == false)
        #expect(warnings.tick(at: 109.9) == nil)
        #expect(warnings.tick(at: 110) == ["a": 5, "b": 1])
        #expect(warnings.tick(at: 200) == nil && warnings.flush() == nil)
    }

    @Test func `the memory of dead letters is bounded`() {
        var warnings = DeadLetterWarnings()
        var codes = DeadLetterCodes()
        let told = (0..<5_000).count { number in
            codes.note("code-\(number)", place: "p\(number)", reason: "r")
            return warnings.note("code-\(number)", topic: "t", partition: 0, at: 0)
        }
        #expect(told == DeadLetterWarnings.maximumPlaces)
        #expect(warnings.flush().map { $0.count <= 101 && $0.values.reduce(0, +) == 4_000 } == true)
        #expect(codes.sorted.count == 101 && codes.sorted.map(\.tally.count).reduce(0, +) == 5_000)
        #expect(codes.sorted.first?.code == "other")
    }

    @Test func `the summary of a pipeline has an example of each code`() throws {
        let fixture = try PipelineFixture()
        try fixture.feed(Events.records(["{", Events.message("m1"), "{"]))
        let codes = fixture.pipeline.summary.deadLetterCodes.sorted
        try #require(codes.count == 1)
        #expect(
            codes[0].tally.count == 2 && codes[0].tally.place.hasSuffix("offset 0") && !codes[0].tally.reason.isEmpty)
    }

    @Test func `dead letters are grouped by code, topic and entity, and selected by time and reason`() throws {
        let fixture = try PipelineFixture()
        try fixture.feed(
            Events.records([
                Events.event("member.created", "{\"id\":\"u1\",\"colour\":1}"),
                Events.event("member.created", "{\"id\":\"u2\",\"shape\":1}"), "{",
            ]))
        let groups = try fixture.store.read { try $0.deadLetterGroups() }
        #expect(groups.map(\.count) == [2, 1])
        #expect(groups.map(\.entity) == ["Member", nil])
        #expect(groups[0].code == "decode.unknown_property" && groups[0].topic == "events")
        let letters = try fixture.deadLetters()
        #expect(groups[0].firstTime == letters[0].time && groups[0].lastTime == letters[1].time)
        var selection = DeadLetterSelection()
        selection.reason = "COLOUR"
        #expect(try fixture.store.read { try $0.deadLetters(selection) }.map(\.id) == [letters[0].id])
        selection.reason = nil
        selection.since = letters[2].time + 1
        #expect(try fixture.store.read { try $0.deadLetterCount(selection) } == 0)
        selection.since = letters[0].time
        #expect(try fixture.store.read { try $0.deadLetterCount(selection) } == 3)
    }
}
