import Testing

@testable import IngestCore
@testable import ObjectGraph

struct PendingChunkTests {
    enum Outcome: Sendable { case event, passedOver }

    private func add(_ record: TestRecord, _ outcome: Outcome, to chunk: inout PendingChunk) {
        record.deliver { source in
            if outcome == .event { chunk.add(ChangeSet([]), source) { 0 } }
            chunk.advance(past: source, at: source.place, nextOffset: source.place.offset + 1, detail: nil)
        }
    }

    private func record(_ partition: Int32, _ offset: Int64, _ value: String?) -> TestRecord {
        var record = TestRecord(value, key: value.map { "k\($0.count)" }, offset: offset)
        record.partition = partition
        return record
    }

    private func fingerprint(_ record: TestRecord) -> String {
        record.deliver { RecordFingerprint($0).description }
    }

    @Test(
        arguments: [
            [(0, Outcome.event), (0, .event)], [(0, .event), (0, .passedOver)], [(0, .passedOver), (0, .event)],
            [(0, .passedOver), (0, .passedOver), (0, .passedOver)],
            [(0, .passedOver), (1, .passedOver), (0, .passedOver), (1, .event), (1, .passedOver), (0, .event)],
            [(0, .passedOver), (1, .event), (1, .passedOver), (1, .passedOver), (0, .passedOver)],
            // Two records without bytes, of which the later lets the bytes before it go.
            [
                (0, .passedOver), (0, .passedOver), (1, .passedOver), (0, .passedOver), (0, .passedOver),
                (0, .passedOver),
            ],
            [(0, .passedOver), (0, .passedOver), (1, .event), (0, .passedOver), (0, .passedOver), (0, .passedOver)],
        ] as [[(Int32, Outcome)]])
    func `each position keeps the fingerprint of its last record`(_ steps: [(Int32, Outcome)]) throws {
        var chunk = PendingChunk(try TestModels.chat())
        var last: [Int32: TestRecord] = [:]
        for (offset, step) in steps.enumerated() {
            // Records without key and value too, and values of other lengths.
            let value = offset % 3 == 2 ? nil : String(repeating: "v", count: 10 - offset)
            let record = record(step.0, Int64(offset), value)
            add(record, step.1, to: &chunk)
            last[step.0] = record
        }
        #expect(chunk.positions.count == last.count)
        for position in chunk.positions {
            #expect(position.detail == last[position.partition].map(fingerprint))
            #expect(position.nextOffset == last[position.partition].map { $0.offset + 1 })
        }
    }
}
