import IngestCore
import KafkaClient

/// The consumer of one process in a simulated cluster.
final class SimulatedSource: RecordSource, @unchecked Sendable {
    private unowned let process: SimulatedProcess
    private let rebalance: SourceRebalanceHandler?
    private var positions: [TopicPartition: Int64] = [:]
    private var paused: Set<TopicPartition> = []
    /// Nothing is fetched of these until the next seek.
    private var stopped: Set<TopicPartition> = []
    private var toldEnds: Set<TopicPartition> = []
    private var fetched: [TopicPartition: Watermarks] = [:]
    /// The logs from which the client has fetched last.
    private var generations: [TopicPartition: Int] = [:]

    private var world: World { process.world }

    init(_ process: SimulatedProcess, rebalance: SourceRebalanceHandler?) {
        self.process = process
        self.rebalance = rebalance
        if rebalance != nil { world.broker.group.join(process.number, at: world.seconds) }
    }

    func poll(maxRecords: Int, timeoutMilliseconds: Int) throws -> RecordBatch {
        try process.call(.poll)
        if world.isBrokerSilent {
            world.wait(milliseconds: timeoutMilliseconds)
            return RecordBatch([])
        }
        try serveRebalance()
        var records: [(record: ProducerRecord, offset: Int64)] = []
        var events: [ConsumerEvent] = []
        let limit = world.random.number(below: 4) == 0 ? min(maxRecords, 1 + world.random.number(below: 5)) : maxRecords
        for partition in positions.keys.sorted().shuffled(using: &world.random)
        where !paused.contains(partition) && !stopped.contains(partition) {
            fetch(partition, limit: limit, into: &records, &events)
        }
        if records.isEmpty, events.isEmpty { world.wait(milliseconds: timeoutMilliseconds) }
        return RecordBatch(records, errors: events)
    }

    private func fetch(
        _ partition: TopicPartition, limit: Int, into records: inout [(record: ProducerRecord, offset: Int64)],
        _ events: inout [ConsumerEvent]
    ) {
        guard var position = positions[partition], let log = world.broker.logs[partition] else { return }
        // A log is lost with its leader: another broker answers from then on.
        if log.generation != generations.updateValue(log.generation, forKey: partition) ?? log.generation {
            events.append(ConsumerEvent(topicPartition: nil, offset: nil, error: KafkaError(.connectionLost)))
        }
        if position < log.low || position > log.high {
            stopped.insert(partition)
            events.append(
                ConsumerEvent(
                    topicPartition: partition, offset: position,
                    error: KafkaError(.offsetOutOfRange, topicPartition: partition)))
            return
        }
        fetched[partition] = Watermarks(low: log.low, high: log.high)
        while position < log.committedEnd, records.count < limit {
            if let record = log[position] { records.append((record, position)) }
            position += 1
            toldEnds.remove(partition)
        }
        positions[partition] = position
        if position < log.committedEnd { return }
        if toldEnds.insert(partition).inserted {
            events.append(
                ConsumerEvent(
                    topicPartition: partition, offset: position,
                    error: KafkaError(.partitionEnd, topicPartition: partition)))
        }
    }

    private func serveRebalance() throws {
        guard let rebalance else { return }
        let owned = positions.keys.sorted()
        guard let task = world.broker.group.nextTask(of: process.number, owned: owned, at: world.seconds) else {
            return
        }
        switch task {
        case .lose:
            drop(owned)
            _ = try rebalance(.lost(owned), self)
            process.checkClosed(owned)
        case .revoke(let gone):
            world.note(process, "revoked \(gone)")
            // Offsets can still be committed, so the client forgets them afterwards.
            _ = try rebalance(.revoked(gone), self)
            process.checkClosed(gone)
            drop(gone)
        case .take(let new):
            world.note(process, "assigned \(new)")
            let starts = try rebalance(.assigned(new), self)
            for partition in new { start(partition, at: starts[partition] ?? 0) }
        }
    }

    private func drop(_ partitions: [TopicPartition]) {
        for partition in partitions {
            positions[partition] = nil
            paused.remove(partition)
            stopped.remove(partition)
        }
    }

    private func start(_ partition: TopicPartition, at offset: Int64) {
        positions[partition] = max(0, offset)
        stopped.remove(partition)
        toldEnds.remove(partition)
    }

    func wake() {}

    var assignment: [TopicPartition] { positions.keys.sorted() }

    func assign(adding offsets: [TopicPartition: Int64]) throws {
        try process.call(.client)
        for (partition, offset) in offsets { start(partition, at: offset) }
    }

    func pause(_ partitions: [TopicPartition]) throws { paused.formUnion(partitions) }

    func resume(_ partitions: [TopicPartition]) throws { paused.subtract(partitions) }

    func seek(_ partition: TopicPartition, to offset: Int64, timeoutMilliseconds: Int) throws {
        try process.call(.client)
        if positions[partition] == nil { throw KafkaError(.wrongState, topicPartition: partition) }
        start(partition, at: offset)
    }

    func commit(_ offsets: [TopicPartition: Int64], asynchronously: Bool, timeoutMilliseconds: Int) throws {
        try process.call(.commitOffsets)
        if world.isBrokerSilent {
            if asynchronously { return }
            throw KafkaError(.timedOut)
        }
        try world.broker.group.checkCommit(offsets, of: process.number)
        world.checkCommitted(offsets, by: process)
    }

    func watermarks(_ partition: TopicPartition) throws -> Watermarks? { fetched[partition] }

    func queryWatermarks(_ partition: TopicPartition, timeoutMilliseconds: Int) throws -> Watermarks {
        try process.call(.client)
        if world.isBrokerSilent { throw KafkaError(.timedOut) }
        return Watermarks(low: world.broker.low(partition), high: world.broker.high(partition))
    }

    func close(timeoutMilliseconds: Int) throws {
        try process.call(.client)
        // An assignment may be under way.
        if rebalance != nil, process.supervisor != nil, !world.isBrokerSilent, world.random.number(below: 3) == 0 {
            try serveRebalance()
        }
        if let rebalance, !positions.isEmpty, world.broker.group.members[process.number] != nil {
            _ = try rebalance(.revoked(assignment), self)
        }
        drop(assignment)
        // A reader without group leaves none.
        let isMember = rebalance != nil || process.supervisor == nil
        if isMember, !world.isBrokerSilent { world.broker.group.leave(process.number) }
    }

    func abandon() throws { drop(assignment) }
}

/// Makes the sources of one process, and answers its questions about topics.
struct SimulatedCluster: RecordSources, TopicLister {
    unowned let process: SimulatedProcess

    let fetchWaitSeconds = 0.5

    func join(_ topics: [String], rebalance: @escaping SourceRebalanceHandler) throws -> any RecordSource {
        SimulatedSource(process, rebalance: rebalance)
    }

    func withoutGroup() throws -> any RecordSource { SimulatedSource(process, rebalance: nil) }

    private func ask() throws {
        try process.call(.client)
        if process.world.isBrokerSilent { throw KafkaError(.timedOut) }
    }

    func metadata(timeoutMilliseconds: Int) throws -> ClusterMetadata {
        try ask()
        return ClusterMetadata(
            brokers: [ClusterMetadata.Broker(id: 1, host: "broker", port: 9092)], topics: process.world.broker.topics,
            clusterID: nil)
    }

    func ends(
        of partitions: some Collection<TopicPartition>, timeoutMilliseconds: Int
    ) throws -> [TopicPartition: Int64] {
        try ask()
        return Dictionary(uniqueKeysWithValues: partitions.map { ($0, process.world.broker.high($0)) })
    }

    func watermarks(_ partition: TopicPartition, timeoutMilliseconds: Int) throws -> Watermarks {
        try ask()
        return Watermarks(low: process.world.broker.low(partition), high: process.world.broker.high(partition))
    }
}
