import KafkaClient
import ObjectGraph
import Testing

@testable import IngestCore

/// What concerns more than one partition, and topics that are not there.
@Suite struct AssignedPartitionsTests {
    private let zero = TopicPartition("t", 0)
    private let one = TopicPartition("t", 1)
    private let topic = TopicPartition("t", -1)
    private let fault = PartitionFixture.fault

    private func partitions(_ assigned: [TopicPartition]) -> AssignedPartitions {
        var partitions = AssignedPartitions(topics: ["t"])
        for partition in assigned { _ = partitions.assign(partition) }
        return partitions
    }

    @Test func `a partition that comes during a pause waits too`() {
        var partitions = partitions([zero])
        partitions.pause(for: .deadLetters)
        _ = partitions.assign(one)
        #expect(partitions.due(.pause) == [zero, one])
        partitions.goOn(without: .deadLetters)
        #expect(partitions.due(.pause).isEmpty && partitions.pauses.isEmpty)
    }

    @Test func `a record of a partition that is not assigned does not count`() {
        var partitions = partitions([zero])
        var actions: AssignedPartitions.Actions = []
        #expect(partitions.receive(one, at: 0, actions: &actions) == .skip)
        #expect(partitions.receive(zero, at: 0, actions: &actions) == .apply)
        #expect(partitions.revoke(zero).isEmpty && actions.isEmpty)
        #expect(partitions.receive(zero, at: 1, actions: &actions) == .skip)
    }

    @Test func `a missing topic is reported until a partition of it comes`() {
        var partitions = partitions([])
        #expect(reports(partitions.lose(topic, fault)) == ["t halted"])
        #expect(partitions.lose(topic, fault).isEmpty && partitions.lacksAny)
        #expect(reports(partitions.assign(zero)) == ["t released"])
        #expect(!partitions.lacksAny)
        // Now the partition itself is told.
        #expect(reports(partitions.lose(topic, fault)) == ["t/0 halted"])
    }

    @Test func `a topic that the broker's list lacks is reported until the list has it`() {
        var partitions = partitions([zero, one])
        #expect(reports(partitions.update((topics: ["u": [0]], generation: 1))) == ["t halted"])
        #expect(partitions.uncompared == [zero, one])
        #expect(reports(partitions.lose(zero, fault)) == ["t/0 halted"])
        // The group gives a partition anew: the topic is not there all the same.
        #expect(reports(partitions.assign(zero)) == ["t/0 released"])
        let news = partitions.update((topics: ["t": [0, 1]], generation: 2))
        #expect(reports(news) == ["t released"] && partitions.topicGeneration == 2)
    }

    @Test func `a wanted partition is reported until it is there`() {
        var partitions = partitions([zero])
        let seven = TopicPartition("t", 7)
        #expect(reports(partitions.noteAbsence(of: seven, fault)) == ["t/7 halted"])
        #expect(partitions.noteAbsence(of: seven, fault).isEmpty)
        #expect(partitions.keepAbsent([seven]).isEmpty && partitions.absent == [seven])
        #expect(reports(partitions.keepAbsent([])) == ["t/7 released"])
        // One that is assigned already has a state for it.
        #expect(reports(partitions.noteAbsence(of: zero, fault)) == ["t/0 halted"] && partitions.absent.isEmpty)
    }

    @Test func `a halted partition stays halted when its topic returns`() {
        var partitions = partitions([zero])
        #expect(reports(partitions.handle(.damaged(at: 3, fault), zero)) == ["t/0 halted"])
        #expect(partitions.lose(topic, ReadFault(reason: "gone", remedy: "")).isEmpty)
        _ = partitions.update((topics: [:], generation: 1))
        #expect(reports(partitions.update((topics: ["t": [0]], generation: 2))) == ["t released"])
        #expect(partitions[zero]?.condition == .halted(fault))
    }

    @Test func `signs of life reach the partitions that have them`() {
        var partitions = partitions([zero, one])
        for partition in [zero, one] { _ = partitions.handle(.clock(0, end: 5), partition) }
        partitions.hear([zero], isFull: false)
        #expect(partitions[zero]?.isSuspicious == false && partitions[one]?.isSuspicious == true)
        partitions.hear([], isFull: true)
        #expect(partitions[one]?.isSuspicious == false)
    }
}

extension AssignedPartitions {
    /// The partitions whose last record in the store has to be read again.
    var uncompared: Set<TopicPartition> { Set(states.filter { $0.value.comparison != .notNeeded }.keys) }

    fileprivate mutating func assign(_ partition: TopicPartition) -> Actions {
        var actions: Actions = []
        _ = assign(partition, at: nil, actions: &actions)
        return actions
    }

    fileprivate mutating func receive(
        _ partition: TopicPartition, at offset: Int64, actions: inout Actions
    ) -> RecordVerdict {
        receive(partition, offset: offset, fingerprint: PartitionFixture.fingerprint(0), actions: &actions)
    }
}

/// The reports in short: the partition, and what is told.
private func reports(_ actions: AssignedPartitions.Actions) -> [String] {
    actions.compactMap { partition, action in
        guard case .report(let report) = action else { return nil }
        return switch report {
        case .halted: "\(partition) halted"
        case .waiting: "\(partition) waiting"
        case .released: "\(partition) released"
        case .silent: "\(partition) silent"
        case .heard: "\(partition) heard"
        }
    }
}
