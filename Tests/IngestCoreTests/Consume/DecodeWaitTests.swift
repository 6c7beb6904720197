import KafkaClient
import Testing

@testable import IngestCore

@Suite struct DecodeWaitTests {
    private let first = TopicPartition("t", 0)
    private let second = TopicPartition("t", 1)

    @Test func `partitions that wait are tried together, and the wait grows until one is decoded`() {
        var wait = DecodeWait(backoff: Backoff(firstSeconds: 2, maximumSeconds: 8))
        #expect(wait.isOver && wait.due(at: 0) == [])
        wait.failed(second, at: 10)
        wait.failed(first, at: 11.9)
        #expect(wait.due(at: 10.9) == [] && wait.due(at: 12) == [first, second])
        #expect(!wait.isOver && wait.due(at: 20) == [])
        wait.failed(first, at: 20)
        #expect(wait.due(at: 21.9) == [])
        #expect(wait.due(at: 24) == [first])
        let ended = [second, first].map { (wait.ended($0), wait.isOver) }
        #expect(ended.map(\.0) == [true, true] && ended.map(\.1) == [false, true])
        wait.failed(first, at: 30)
        #expect(wait.due(at: 32) == [first])
    }

    @Test func `a partition that is not read any more is not waited for`() {
        var wait = DecodeWait()
        wait.failed(first, at: 0)
        let ended = [second, first, first].map { wait.ended($0) }
        #expect(ended == [false, true, false])
        #expect(wait.isOver && wait.due(at: 100) == [])
    }
}
