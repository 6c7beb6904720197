import KafkaClient
import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

/// Which records are repeats, and when a position is lost.
@Suite struct PartitionProgressTests {
    private func fingerprint(_ value: String, time: Int64? = 1) -> RecordFingerprint {
        var bytes = Array(value.utf8)
        return bytes.withUnsafeMutableBytes { value in
            var record = SourceRecord(
                place: RecordPlace(topic: "t", partition: 0, offset: 0), key: nil, value: UnsafeRawBufferPointer(value))
            record.timestampMilliseconds = time
            return RecordFingerprint(record)
        }
    }

    private func position(_ next: Int64, last: String?) -> SourcePosition {
        SourcePosition(
            topic: "t", partition: 0, nextOffset: next, detail: last.map { fingerprint($0).description })
    }

    @Test func `a partition the store does not know is read from its beginning`() {
        var progress = PartitionProgress(nil)
        #expect(progress.start == PartitionProgress.beginning)
        #expect(progress.received(offset: 7, fingerprint: fingerprint("a")) == .apply)
        #expect(progress.next == 8)
    }

    @Test func `reading starts at the last record that the store took`() {
        var progress = PartitionProgress(position(10, last: "nine"))
        #expect(progress.start == 9)
        #expect(progress.received(offset: 9, fingerprint: fingerprint("nine")) == .skip)
        #expect(progress.received(offset: 10, fingerprint: fingerprint("ten")) == .apply)
        #expect(progress.received(offset: 10, fingerprint: fingerprint("ten")) == .skip)
    }

    @Test func `another record in that place is a lost position`() {
        var progress = PartitionProgress(position(10, last: "nine"))
        guard case .lost = progress.received(offset: 9, fingerprint: fingerprint("other")) else {
            Issue.record("another record was taken for the last one")
            return
        }
        var later = PartitionProgress(position(10, last: "nine"))
        guard case .lost = later.received(offset: 9, fingerprint: fingerprint("nine", time: 2)) else {
            Issue.record("a record of another time was taken for the last one")
            return
        }
    }

    @Test func `records that were fetched behind another record count only after a jump`() {
        var progress = PartitionProgress(position(10, last: "nine"))
        _ = progress.received(offset: 9, fingerprint: fingerprint("other"))
        #expect(progress.received(offset: 10, fingerprint: fingerprint("ten")) == .skip)
        guard case .lost(let reason) = progress.outOfRange(low: 0, high: 20) else {
            Issue.record("the question was settled without a decision")
            return
        }
        #expect(reason.contains("the record at offset 9"))
        #expect(progress.next == 10)
        progress.jump(to: 0)
        #expect(progress.received(offset: 0, fingerprint: fingerprint("zero")) == .apply)
    }

    @Test func `a last record that compaction took is not missed`() {
        var progress = PartitionProgress(position(10, last: "nine"))
        #expect(progress.received(offset: 12, fingerprint: fingerprint("twelve")) == .apply)
        #expect(progress.next == 13)
    }

    @Test func `a position without a fingerprint is taken at its word`() {
        var progress = PartitionProgress(position(10, last: nil))
        #expect(progress.start == 10)
        #expect(progress.received(offset: 10, fingerprint: fingerprint("ten")) == .apply)
    }

    @Test func `only the record before may be too old`() {
        var progress = PartitionProgress(position(10, last: "nine"))
        #expect(progress.outOfRange(low: 10, high: 10) == .seek(10))
        #expect(progress.received(offset: 10, fingerprint: fingerprint("ten")) == .apply)
        var compared = PartitionProgress(position(10, last: "nine"))
        #expect(compared.outOfRange(low: 9, high: 10) == .compare && compared.isUnverified)
        for (low, high) in [(Int64(11), Int64(20)), (0, 5), (0, 0)] {
            var lost = PartitionProgress(position(10, last: "nine"))
            guard case .lost(let reason) = lost.outOfRange(low: low, high: high) else {
                Issue.record("a position outside \(low) to \(high) was not lost")
                continue
            }
            #expect(reason.contains("offset 10"))
        }
    }

    // MARK: Offsets without a record before the position

    /// The record 2 was the last, and the end of its transaction was saved.
    private var behindMarker: PartitionProgress {
        PartitionProgress(PartitionFixture.position(4, last: 2, at: 2))
    }

    @Test func `reading starts at the last record also where offsets without one follow it`() {
        var progress = behindMarker
        #expect(progress.start == 2)
        #expect(progress.received(offset: 2, fingerprint: PartitionFixture.fingerprint(2)) == .skip)
        #expect(!progress.isUnverified)
        #expect(progress.received(offset: 4, fingerprint: PartitionFixture.fingerprint(4)) == .apply)
        var compacted = behindMarker
        #expect(compacted.received(offset: 4, fingerprint: PartitionFixture.fingerprint(4)) == .apply)
    }

    @Test func `the last record may be too old, and offsets without a record behind it`() {
        for low: Int64 in 3...4 {
            var progress = behindMarker
            #expect(progress.outOfRange(low: low, high: 4) == .seek(4))
            #expect(progress.received(offset: 4, fingerprint: PartitionFixture.fingerprint(4)) == .apply)
        }
        for (low, high) in [(Int64(5), Int64(9)), (0, 1), (3, 3)] {
            var progress = behindMarker
            guard case .lost = progress.outOfRange(low: low, high: high) else {
                Issue.record("a position outside \(low) to \(high) was not lost")
                continue
            }
        }
    }

    @Test func `a record where the store's log has none is of another log`() {
        for offset: Int64 in 2...3 {
            var progress = behindMarker
            guard case .lost(let reason) = progress.received(offset: offset, fingerprint: fingerprint("other")) else {
                Issue.record("the record at \(offset) was not noticed")
                continue
            }
            #expect(reason.contains("offset \(offset)"))
        }
    }

    @Test func `a record behind the last one, where the store's log has none, is of another log`() {
        var progress = behindMarker
        #expect(progress.received(offset: 2, fingerprint: PartitionFixture.fingerprint(2)) == .skip)
        guard case .lost(let reason) = progress.received(offset: 3, fingerprint: PartitionFixture.fingerprint(3)) else {
            Issue.record("the record at 3 was not noticed")
            return
        }
        #expect(reason.contains("offset 3"))
        #expect(progress.received(offset: 4, fingerprint: PartitionFixture.fingerprint(4)) == .skip)
    }

    @Test func `a last record reads its own text, and that of earlier stores`() {
        let record = LastRecord(offset: 2, fingerprint: PartitionFixture.fingerprint(2))
        #expect(LastRecord(PartitionFixture.position(4, last: 2, at: 2)) == record)
        #expect(LastRecord(PartitionFixture.position(3, last: 2)) == record)
        #expect(record.detail(before: 3) == record.fingerprint.description)
        #expect(record.detail(before: 4) == "\(record.fingerprint)@2")
        for wrong in ["@2", "2@2", "\(record.fingerprint)@", "\(record.fingerprint)@4", "\(record.fingerprint)@x"] {
            #expect(LastRecord(SourcePosition(topic: "t", partition: 0, nextOffset: 4, detail: wrong)) == nil)
        }
    }

    @Test func `a halted partition takes nothing until a jump`() {
        var progress = PartitionProgress(position(10, last: nil))
        progress.halt()
        #expect(progress.received(offset: 10, fingerprint: fingerprint("ten")) == .skip)
        progress.jump(to: 3)
        #expect(progress.received(offset: 3, fingerprint: fingerprint("three")) == .apply)
    }

    @Test func `a fingerprint reads its own text`() {
        for known in [fingerprint("a"), fingerprint("", time: nil), fingerprint("b", time: 1_700_000_000_000)] {
            #expect(RecordFingerprint(known.description) == known)
        }
        for wrong in ["", "x", "1-", "a-1", "1-xyz", "3-100000000"] { #expect(RecordFingerprint(wrong) == nil) }
    }

    @Test func `records before a damaged batch still count, and none behind it`() {
        var progress = PartitionProgress(position(10, last: nil))
        progress.halt(before: 12)
        #expect(progress.received(offset: 10, fingerprint: fingerprint("a")) == .apply)
        #expect(progress.received(offset: 11, fingerprint: fingerprint("b")) == .apply)
        #expect(progress.received(offset: 12, fingerprint: fingerprint("c")) == .skip)
        #expect(progress.received(offset: 13, fingerprint: fingerprint("d")) == .skip)
        #expect(progress.next == 12)
        // A halt for another reason ends everything.
        progress.halt()
        #expect(progress.received(offset: 11, fingerprint: fingerprint("b")) == .skip)
    }

    @Test func `a jump says whether records are skipped or read again`() {
        let marks = Watermarks(low: 5, high: 40)
        func jump(_ from: Int64, _ policy: KafkaSettings.OnPositionLost) -> PositionJump {
            PositionJump(from: from, policy: policy, marks: marks)
        }
        let (skips, rewinds) = (jump(2, .earliest), jump(4028, .earliest))
        #expect(skips.to == 5 && skips.description == "a position was lost, records are skipped")
        #expect(
            rewinds.to == 5
                && rewinds.description == "a position was lost, reading is rewound to the oldest record")
        #expect(jump(5, .earliest).description == rewinds.description, "another log begins at the same offset")
        #expect(jump(2, .latest).to == 40 && jump(2, .latest).description == skips.description)
        // The offsets go back, and yet nothing is read again.
        #expect(jump(4028, .latest).description == "a position was lost, what the partition holds is skipped")
    }
}
