import KafkaClient
import ObjectGraph
import Testing

@testable import IngestCore

/// Positions are saved only over what the consumer knows the store to hold.
@Suite struct PositionLedgerTests {
    private let key = TopicPartition("t", 1)

    private func predecessor(_ ledger: PositionLedger) -> SourcePosition.Predecessor? {
        ledger.following([SourcePosition(topic: "t", partition: 1, nextOffset: 99)]).first?.predecessor
    }

    @Test func `a position follows what was read and then what was committed`() {
        var ledger = PositionLedger()
        #expect(predecessor(ledger) == .anything)
        ledger.begin(key, at: nil)
        #expect(predecessor(ledger) == .nothing)
        ledger.begin(key, at: 5)
        #expect(predecessor(ledger) == .offset(5))
        ledger.committed([SourcePosition(topic: "t", partition: 1, nextOffset: 9)])
        #expect(predecessor(ledger) == .offset(9))
    }

    @Test func `a writer that does not know the newest position saves nothing`() throws {
        let fixture = try PipelineFixture()
        fixture.pipeline.begin(topic: "events", partition: 0, at: nil)
        let records = Events.records((0..<4).map { Events.message("m\($0)") })
        try fixture.add(records[0])
        try fixture.pipeline.finish()
        // Somebody else has read further meanwhile.
        let topic = try #require(fixture.positions().first?.topic)
        _ = try fixture.writer.apply(
            WriterContext.Chunk(events: [], positions: [SourcePosition(topic: topic, partition: 0, nextOffset: 3)]))
        try fixture.writer.commit()
        fixture.pipeline.begin(topic: topic, partition: 0, at: 1)
        let before = try fixture.dump()
        try fixture.add(records[1])
        let error = #expect(throws: StoreError.self) { try fixture.pipeline.finish() }
        #expect(error?.code == .positionConflict)
        #expect(error?.isRetriable == true)
        #expect(try fixture.dump() == before)
        #expect(try fixture.positions().first?.nextOffset == 3)
        // With the store's position it goes on.
        fixture.pipeline.begin(topic: topic, partition: 0, at: 3)
        try fixture.add(records[3])
        try fixture.pipeline.finish()
        #expect(try fixture.identities("Message") == ["m0", "m3"])
    }

    @Test func `a source that the store knows is not taken for a new one`() throws {
        let fixture = try PipelineFixture()
        let records = Events.records((0..<2).map { Events.message("m\($0)") })
        try fixture.add(records[0])
        try fixture.pipeline.finish()
        let topic = try #require(fixture.positions().first?.topic)
        fixture.pipeline.begin(topic: topic, partition: 0, at: nil)
        try fixture.add(records[1])
        #expect(throws: StoreError.self) { try fixture.pipeline.finish() }
        #expect(try fixture.identities("Message") == ["m0"])
    }
}
