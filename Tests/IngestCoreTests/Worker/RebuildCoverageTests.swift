import KafkaClient
import ObjectGraph
import Testing

@testable import IngestCore
@testable import Operations

@Suite struct RebuildCoverageTests {
    private let zero = TopicPartition("t", 0)
    private let one = TopicPartition("t", 1)

    private func position(_ topic: String, _ partition: Int32 = 0, _ offset: Int64 = 10) -> SourcePosition {
        SourcePosition(topic: topic, partition: partition, nextOffset: offset)
    }

    private func marks(_ low: Int64, _ high: Int64 = 10) -> Watermarks { Watermarks(low: low, high: high) }

    @Test func `a log that reaches back to its beginning lacks nothing`() {
        let old = [position("t"), position("t", 1), position("replay:t"), position("u", 0, 0)]
        #expect(RebuildCoverage.missing(old: old, marks: [zero: marks(0), one: marks(0)], read: []).isEmpty)
    }

    @Test func `records that retention removed are missing unless the rebuild has read them`() {
        let missing = RebuildCoverage.missing(old: [position("t")], marks: [zero: marks(0), one: marks(5)], read: [])
        #expect(missing == ["t/1 begins at offset 5, retention has taken what was before"])
        #expect(
            RebuildCoverage.missing(old: [position("t")], marks: [zero: marks(0), one: marks(5)], read: [one]).isEmpty)
    }

    @Test func `records beyond the end of the log are missing`() {
        let old = [position("t", 0, 11), position("t", 1, 10)]
        let missing = RebuildCoverage.missing(old: old, marks: [zero: marks(0), one: marks(0)], read: [])
        #expect(
            missing == [
                "t/0 ends at offset 10, and the store has read up to 11: the topic was made again, or has lost its end"
            ])
    }

    @Test func `files and topics that are not read again are missing`() {
        let old = [position("file:/data/a.jsonl"), position("t", 7), position("gone")]
        let missing = RebuildCoverage.missing(old: old, marks: [zero: marks(0)], read: [])
        #expect(
            missing == [
                "the file /data/a.jsonl was replayed into it", "t/7 is not read any more",
                "gone/0 is not read any more",
            ])
    }
}
