import KafkaClient
import Testing

@testable import IngestCore

@Suite struct PartitionSpanTests {
    private func span(
        asked: Int64? = nil, end: Int64? = nil, low: Int64 = 0, high: Int64 = 100, known: Int64? = nil,
        last: Int64? = nil, isResumption: Bool = false
    ) throws(TopicReplayError) -> PartitionSpan {
        try PartitionSpan(
            TopicPartition("t", 3), asked: asked, end: end, broker: Watermarks(low: low, high: high), known: known,
            last: last, isResumption: isResumption)
    }

    @Test func `a new store is read from the asked start to the end`() throws {
        let all = try span(low: 7)
        #expect(all.start == 7 && all.end == 100 && all.count == 93 && !all.looksBack)
        let part = try span(asked: 20, end: 30)
        #expect(part.start == 20 && part.end == 30)
        #expect(try span(end: 500).end == 100)
        #expect(try span(asked: 200).count == 0)
    }

    @Test func `a run that goes on begins at the store's position`() throws {
        let found = try span(asked: 20, known: 60, isResumption: true)
        #expect(found.start == 60 && found.asked == 20 && found.looksBack)
        // Killed before its first commit.
        #expect(try span(asked: 20, isResumption: true).start == 20)
    }

    @Test func `a run that goes on compares the store's last record where the broker still has it`() throws {
        #expect(try span(asked: 60, low: 59, known: 60).looksBack)
        #expect(try !span(asked: 60, low: 60, known: 60).looksBack)
        #expect(try span(asked: 60, low: 50, known: 60, last: 50).looksBack)
        #expect(try !span(asked: 60, low: 51, known: 60, last: 50).looksBack)
    }

    @Test func `a store that is beyond the start is refused unless this replay brought it there`() throws {
        let error = #expect(throws: TopicReplayError.self) { try span(asked: 20, known: 60) }
        #expect(error?.code == .positioned)
        #expect(error?.description.contains("--from-offset stored") == true)
        #expect(try span(asked: 60, known: 60).start == 60)
    }

    @Test func `a store that would never get what stands before the start is refused`() {
        for high: Int64 in [70, 100] {
            let error = #expect(throws: TopicReplayError.self) { try span(asked: 80, high: high, known: 60) }
            #expect(error?.code == .positioned && error?.description.contains("--from-offset stored") == true)
        }
    }

    @Test func `a partition that ends before the start begins at its end`() throws {
        let found = try span(asked: 200)
        #expect(found.start == 100 && found.asked == 200 && found.count == 0)
        #expect(try span(asked: 200, known: 100).start == 100)
    }

    @Test func `a replay reports records that retention has removed`() throws {
        let asked = #expect(throws: TopicReplayError.self) { try span(asked: 20, low: 50) }
        #expect(asked?.code == .gone && asked?.description.contains("the broker has 50 to 100") == true)
        let resumed = #expect(throws: TopicReplayError.self) { try span(low: 50, known: 30, isResumption: true) }
        #expect(resumed?.code == .gone)
        // Only the last record is gone: nothing is missing, and nothing is there to compare.
        let found = try span(low: 50, known: 50, isResumption: true)
        #expect(found.start == 50 && !found.looksBack)
    }
}
