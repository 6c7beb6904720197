import KafkaClient
import ObjectGraph
import Testing

@testable import IngestCore

/// What the state of one partition answers to events.
@Suite struct PartitionStateTests {
    private let fault = PartitionFixture.fault

    /// A partition at offset 10 whose last record is 9.
    private func verifying(_ policy: KafkaSettings.OnPositionLost = .halt) -> PartitionState {
        PartitionState(assignedAt: PartitionFixture.position(10, last: 9), policy: policy)
    }

    /// The same after the comparison.
    private func reading(_ policy: KafkaSettings.OnPositionLost = .halt) -> PartitionState {
        var state = verifying(policy)
        #expect(state.receive(9, payload: 9) == .dropped && state.condition == .reading)
        return state
    }

    @Test func `a partition that the store does not know is read from its beginning`() {
        var state = PartitionState(assignedAt: nil)
        #expect(state.condition == .reading && state.progress.start == PartitionProgress.beginning)
        #expect(state.receive(7) == .applied && state.progress.next == 8)
    }

    @Test func `the store lacks a new partition from its first record on, also after going back`() {
        var state = PartitionState(assignedAt: nil)
        #expect(state.firstMissing == nil)
        _ = state.receive(7)
        _ = state.receive(8)
        #expect(state.firstMissing == 7)
        _ = state.handle(.positionRead(nil))
        #expect(state.firstMissing == 7 && state.progress.next == nil)
        _ = state.handle(.saved(9))
        #expect(state.firstMissing == 9)
        var known = reading()
        _ = known.receive(10)
        #expect(known.firstMissing == 10)
        _ = known.handle(.positionRead(nil))
        #expect(known.firstMissing == nil)
    }

    @Test func `offsets at the end without a record do not count as lag`() {
        var state = reading()
        #expect(state.lagStart(storeRefuses: false) == 10)
        _ = state.handle(.endReached(12))
        #expect(state.lagStart(storeRefuses: false) == 12 && state.lagStart(storeRefuses: true) == 10)
        #expect(PartitionState(assignedAt: nil).lagStart(storeRefuses: false) == nil)
    }

    @Test func `an end behind the last record is saved once the store has all before it`() {
        var state = verifying()
        _ = state.handle(.endReached(12))
        #expect(state.endToSave == nil, "the last record is not compared yet")
        state = reading()
        _ = state.handle(.endReached(10))
        #expect(state.endToSave == nil, "the store has this end")
        _ = state.receive(10)
        _ = state.handle(.endReached(12))
        #expect(state.endToSave == nil, "the record before it is not saved")
        _ = state.handle(.saved(11))
        #expect(state.endToSave == 12)
        _ = state.handle(.connectionLost)
        #expect(state.endToSave == nil, "another log may answer")
        _ = state.handle(.positionRead(PartitionFixture.position(11, last: 0)))
        #expect(state.endToSave == nil)
        _ = state.handle(.seekDone)
        _ = state.receive(10)
        _ = state.handle(.endReached(12))
        #expect(state.endToSave == 12)
        _ = state.handle(.saved(12))
        #expect(state.endToSave == nil && state.offsetToCommit == 12)
        // A transaction that was aborted leaves a marker alone.
        _ = state.handle(.endReached(13))
        #expect(state.endToSave == 13)
        _ = state.handle(.damaged(at: 13, fault))
        #expect(state.endToSave == nil)
    }

    @Test func `the end of a partition that shows no record is saved, and tells later what was missed`() {
        var state = PartitionState(assignedAt: nil)
        _ = state.handle(.endReached(0))
        #expect(state.endToSave == nil, "the partition never had a record")
        _ = state.handle(.endReached(50))
        #expect(state.endToSave == 50)
        _ = state.handle(.saved(50))
        #expect(state.endToSave == nil && state.offsetToCommit == 50 && state.progress.next == 50)
        #expect(state.receive(50) == .applied && state.endToSave == nil)
        // A record that is not saved stands before the end.
        var read = PartitionState(assignedAt: nil)
        _ = read.receive(7)
        _ = read.handle(.endReached(8))
        #expect(read.endToSave == nil)
        // Retention has taken the records from 50 to 60 before anybody read them.
        var later = PartitionState(assignedAt: PartitionFixture.position(50))
        _ = later.handle(.offsetOutOfRange)
        _ = later.handle(.rangeKnown(Watermarks(low: 61, high: 61)))
        #expect(later.isHalted)
    }

    @Test func `a log that ends before the store's position has lost it, though reading starts at its end`() {
        var state = verifying()
        #expect(state.handle(.endReached(9)) == [.report(.waiting)])
        #expect(state.due == [.askRange])
        _ = state.handle(.rangeKnown(Watermarks(low: 0, high: 9)))
        #expect(state.isHalted)
        // The same behind the last record, where only the end of a transaction is lost.
        var behind = PartitionState(assignedAt: PartitionFixture.position(10, last: 7, at: 7))
        #expect(behind.receive(7, payload: 7) == .dropped)
        _ = behind.handle(.endReached(9))
        #expect(behind.condition == .outOfRange)
        // Where the client is not yet at the position, an end says nothing.
        var elsewhere = verifying()
        _ = elsewhere.handle(.seekRefused(isRetriable: true))
        _ = elsewhere.handle(.endReached(9))
        #expect(elsewhere.condition == .verifying)
    }

    @Test func `a partition shows no further record where it is not read, or is read to its end`() {
        var state = reading()
        #expect(!state.isExhausted)
        _ = state.handle(.endReached(10))
        #expect(state.isExhausted)
        _ = state.handle(.pauseBegan(.decoding))
        #expect(!state.isExhausted)
        _ = state.handle(.pauseEnded(.decoding))
        #expect(!state.isExhausted, "the end was reached before")
        _ = state.handle(.positionRead(PartitionFixture.position(10, last: 9)))
        _ = state.handle(.seekDone)
        #expect(!state.isExhausted)
        _ = state.handle(.endReached(10))
        #expect(state.isExhausted)
        for event in [PartitionEvent.missing(fault), .offsetOutOfRange, .damaged(at: 0, fault)] {
            var state = reading()
            _ = state.handle(event)
            #expect(state.isExhausted, "\(event)")
        }
    }

    @Test(arguments: [KafkaSettings.OnPositionLost.halt, .earliest])
    func `an offset that the broker has again is compared, and not lost`(_ policy: KafkaSettings.OnPositionLost) {
        var state = verifying(policy)
        _ = state.handle(.offsetOutOfRange)
        #expect(state.handle(.rangeKnown(Watermarks(low: 0, high: 20))) == [.report(.released)])
        #expect(state.condition == .verifying && state.due == [.compareLastRecord])
        #expect(state.handle(.positionRead(PartitionFixture.position(10, last: 9))) == [.seek(9)])
        _ = state.handle(.seekDone)
        #expect(state.receive(9, payload: 9) == .dropped && state.receive(10) == .applied)
    }

    @Test func `the store's last record is compared before anything is applied`() {
        var state = verifying()
        #expect(state.condition == .verifying && state.progress.start == 9)
        #expect(state.receive(9, payload: 9) == .dropped)
        #expect(state.condition == .reading)
        #expect(state.receive(10) == .applied)
    }

    @Test func `another record in the last one's place halts the partition, and nothing of the log is applied`() {
        var state = verifying()
        let received = state.receive(9, payload: 99)
        guard case .halted(let fault) = state.condition else {
            Issue.record("the partition is \(state.condition)")
            return
        }
        #expect(received == ReceivedRecord(verdict: .skip, actions: [.report(.halted(fault))]))
        #expect(fault.reason.contains("offset 9") && fault.remedy.contains("kafka.onPositionLost"))
        #expect(state.due == [.pause])
        #expect(state.receive(10) == .dropped)
    }

    @Test func `an operator's decision on a lost position is carried out when the broker has said what it has`() {
        var state = verifying(.earliest)
        #expect(state.receive(9, payload: 99) == ReceivedRecord(verdict: .skip, actions: [.report(.waiting)]))
        #expect(state.condition == .outOfRange && state.due == [.askRange])
        #expect(state.receive(10) == .dropped)
        let marks = Watermarks(low: 3, high: 40)
        let jump = PositionJump(from: 10, policy: .earliest, marks: marks)
        let actions = state.handle(.rangeKnown(marks))
        #expect(actions.first == .report(.released) && actions.count == 2)
        guard case .jump(jump, _)? = actions.last else {
            Issue.record("no jump: \(actions)")
            return
        }
        #expect(state.condition == .reading && state.due.isEmpty)
        #expect(state.receive(3) == .applied)
    }

    @Test func `an offset that the broker does not have waits for its answer, which decides`() {
        var gone = reading()
        #expect(gone.handle(.offsetOutOfRange) == [.report(.waiting)])
        #expect(gone.handle(.offsetOutOfRange) == [] && gone.due == [.askRange])
        #expect(gone.handle(.rangeKnown(Watermarks(low: 12, high: 20))).count == 1)
        #expect(gone.isHalted)
        // Retention took only the record before: nothing is missing.
        var aged = verifying()
        _ = aged.handle(.offsetOutOfRange)
        #expect(aged.handle(.rangeKnown(Watermarks(low: 10, high: 20))) == [.report(.released), .seek(10)])
        #expect(aged.handle(.seekDone) == [] && aged.condition == .reading)
        #expect(aged.receive(10) == .applied)
    }

    @Test func `after a lost connection nothing is applied before the last record was read again`() {
        var state = reading()
        #expect(state.handle(.connectionLost) == [] && state.condition == .verifying && state.due.isEmpty)
        #expect(state.receive(10) == .dropped && state.due == [.compareLastRecord])
        #expect(state.receive(11) == .dropped)
        #expect(state.handle(.positionRead(PartitionFixture.position(10, last: 9))) == [.seek(9)])
        // Records that the client had fetched before the seek.
        #expect(state.receive(12) == .dropped)
        #expect(state.handle(.seekDone) == [] && state.due.isEmpty)
        #expect(state.receive(9, payload: 9) == .dropped && state.receive(10) == .applied)
    }

    @Test func `after a lost connection an end without a record is saved once the last record was read again`() {
        var state = reading()
        _ = state.handle(.connectionLost)
        #expect(state.handle(.endReached(12)) == [] && state.due == [.compareLastRecord] && state.endToSave == nil)
        #expect(state.handle(.positionRead(PartitionFixture.position(10, last: 9))) == [.seek(9)])
        #expect(state.handle(.seekDone) == [] && state.receive(9, payload: 9) == .dropped)
        #expect(state.handle(.endReached(12)) == [] && state.endToSave == 12 && state.isExhausted)
    }

    @Test func `a refused seek is repeated, and a hopeless one waits for the next record`() {
        var state = reading()
        _ = state.handle(.seekRefused(isRetriable: true))
        #expect(state.due == [.compareLastRecord])
        _ = state.handle(.seekRefused(isRetriable: false))
        #expect(state.due.isEmpty && state.condition == .verifying)
        #expect(state.receive(10) == .dropped && state.due == [.compareLastRecord])
    }

    @Test func `a pause lets the records at hand count, and ends with a comparison`() {
        var state = reading()
        #expect(state.handle(.pauseBegan(.outbox)) == [] && state.condition == .paused(.outbox))
        #expect(state.due == [.pause])
        _ = state.handle(.clientChanged(isPaused: true))
        #expect(state.due.isEmpty && state.receive(10) == .applied)
        _ = state.handle(.pauseBegan(.deadLetters))
        _ = state.handle(.pauseEnded(.outbox))
        #expect(state.condition == .paused(.deadLetters) && state.due.isEmpty)
        _ = state.handle(.pauseEnded(.deadLetters))
        #expect(state.due == [.resume, .compareLastRecord])
    }

    @Test(arguments: [PauseReasons.outbox, .deadLetters])
    func `a partition assigned during a pause drops records until the client pauses it`(_ reason: PauseReasons) {
        var partitions = AssignedPartitions(topics: ["t"])
        partitions.pause(for: reason)
        let partition = TopicPartition("t", 0)
        var actions: AssignedPartitions.Actions = []
        func receive(_ offset: Int64) -> RecordVerdict {
            partitions.receive(
                partition, offset: offset, fingerprint: PartitionFixture.fingerprint(Int(offset)), actions: &actions)
        }
        let position = PartitionFixture.position(10, last: 9)
        #expect(partitions.assign(partition, at: position, actions: &actions) == 9)
        #expect(receive(9) == .skip && receive(10) == .skip)
        #expect(partitions[partition]?.due == [.pause, .compareLastRecord])
        _ = partitions.handle(.clientChanged(isPaused: true), partition)
        #expect(partitions.handle(.positionRead(position), partition).map(\.action) == [.seek(9)])
        partitions.goOn(without: reason)
        #expect(partitions[partition]?.due == [.resume, .compareLastRecord])
    }

    @Test func `while the store refuses nothing counts, and reading goes back to the store's position`() {
        var state = reading()
        #expect(state.receive(10) == .applied)
        _ = state.handle(.pauseBegan(.store))
        #expect(state.condition == .paused(.store) && state.due.isEmpty)
        #expect(state.receive(11) == .dropped)
        _ = state.handle(.pauseEnded(.store))
        #expect(state.due == [.compareLastRecord])
        #expect(state.handle(.positionRead(PartitionFixture.position(10, last: 9))) == [.seek(9)])
    }

    @Test func `a record that cannot be decoded for now is read again, and none behind it counts meanwhile`() {
        var state = reading()
        #expect(state.receive(10) == .applied)
        _ = state.handle(.pauseBegan(.decoding))
        #expect(state.condition == .paused(.decoding) && state.due == [.pause])
        _ = state.handle(.clientChanged(isPaused: true))
        #expect(state.receive(11) == .dropped && state.due.isEmpty)
        _ = state.handle(.pauseEnded(.decoding))
        #expect(state.due == [.resume, .compareLastRecord])
        #expect(state.handle(.positionRead(PartitionFixture.position(10, last: 9))) == [.seek(9)])
    }

    @Test func `a partition that waits for two reasons goes back when the last one ends`() {
        var state = reading()
        _ = state.handle(.pauseBegan(.decoding))
        _ = state.handle(.pauseBegan(.outbox))
        _ = state.handle(.clientChanged(isPaused: true))
        _ = state.handle(.pauseEnded(.decoding))
        #expect(state.receive(11) == .dropped)
        _ = state.handle(.pauseEnded(.outbox))
        #expect(state.due == [.resume, .compareLastRecord])
    }

    @Test func `a halt is reported for as long as it lasts`() {
        var state = reading()
        #expect(state.handle(.missing(fault)) == [.report(.halted(fault))])
        let damage = ReadFault(reason: "damage", remedy: "mend it")
        #expect(state.handle(.damaged(at: 12, damage)) == [.report(.halted(damage))])
        #expect(state.handle(.found) == [])
        #expect(state.handle(.offsetOutOfRange) == [] && state.handle(.pauseEnded(.outbox)) == [])
        #expect(state.condition == .halted(damage) && state.farewell == [.report(.released)])
    }

    @Test func `a topic that returns still waits for its position`() {
        var state = reading()
        _ = state.handle(.offsetOutOfRange)
        #expect(state.handle(.missing(fault)) == [.report(.halted(fault))])
        #expect(state.handle(.found) == [.report(.waiting)] && state.condition == .outOfRange)
    }

    @Test func `records before damage count, and none behind it`() {
        var state = reading()
        _ = state.handle(.damaged(at: 12, fault))
        #expect([10, 11, 12, 13].map { state.receive($0).verdict } == [.apply, .apply, .skip, .skip])
        #expect(state.due == [.pause])
    }

    @Test func `the broker gets the store's position once`() {
        var state = reading()
        // Nobody knows whether the last commit of the run before reached the broker.
        #expect(state.offsetToCommit == 10)
        _ = state.handle(.offsetCommitted(10))
        #expect(state.offsetToCommit == nil && state.receive(10) == .applied)
        #expect(state.offsetToCommit == nil, "it is not saved yet")
        _ = state.handle(.saved(11))
        #expect(state.offsetToCommit == 11 && state.due.isEmpty)
        _ = state.handle(.offsetCommitted(11))
        #expect(state.offsetToCommit == nil)
        // Going back to the store's position tells the broker nothing new.
        _ = state.handle(.positionRead(PartitionFixture.position(11, last: 10)))
        #expect(state.offsetToCommit == nil)
    }

    @Test func `a stalled partition is reported and fetched again`() {
        var state = reading()
        func look(_ time: Double, end: Int64 = 20) -> [PartitionAction] {
            for _ in 0..<FetchWatch.leastPolls { state.polled(isFull: false) }
            return state.handle(.clock(time, end: end))
        }
        #expect(look(0) == [] && state.isSuspicious)
        #expect(look(3) == [.report(.silent(behind: 10))])
        #expect(look(6) == [.refetch(behind: 10)] && state.due == [.compareLastRecord])
        #expect(state.farewell == [.report(.heard)])
        // Nothing is expected of a partition that is paused.
        _ = state.handle(.pauseBegan(.outbox))
        #expect(look(7) == [.report(.heard)] && state.farewell.isEmpty)
    }
}
