import GraphCore
import IngestCore
import KafkaClient
import MemoryStorage
import TestSupport

/// Something that must not happen, with the number of its invariant in ARCHITECTURE.md.
package struct Violation: Error, CustomStringConvertible {
    let invariant: String
    let text: String

    package var description: String { "\(invariant): \(text)" }
}

/// Everything around the workers, and the workers: one cluster, one store or one for each partition, one clock, and no
/// threads.
final class World: @unchecked Sendable {
    let model: ObjectModel
    let configuration: WorkerConfiguration
    let setDeletionThreshold: Int
    /// Whether inputs may lose records.
    let losesInputs: Bool
    /// Whether each partition has a store of its own.
    let hasStoreForEachPartition: Bool
    private(set) var stores: [SimulatedStore] = []
    /// The metrics of all processes, which nobody reads: registering them takes long.
    let metrics = WorkerMetrics()
    var broker: SimulatedBroker
    private(set) var processes: [SimulatedProcess] = []
    var random: SeededRandom
    private(set) var seconds = 0.0
    /// The calendar's time, in microseconds since 1970 UTC.
    private(set) var microseconds: Int64 = 1_795_000_000_000_000
    var stepCount = 0
    /// The first thing that must not have happened.
    private(set) var violation: Violation?
    /// Whether no faults come now.
    var isCalm = false
    private var streams: [EventStream]
    private let keepsTimeline: Bool
    private(set) var timeline: [String] = []

    init(_ setup: Setup, model: ObjectModel, keepsTimeline: Bool) {
        self.model = model
        self.keepsTimeline = keepsTimeline
        configuration = setup.configuration
        setDeletionThreshold = setup.setDeletionThreshold
        losesInputs = setup.losesInputs
        random = SeededRandom(seed: setup.seed)
        let time = Shared(microseconds)
        hasStoreForEachPartition = configuration.hasStoreForEachPartition
        sharedTime = time
        let ownPartitions: [Int32?] = hasStoreForEachPartition ? Array(0..<setup.partitionCount) : [nil]
        let configurations = ownPartitions.map { $0.map(setup.configuration.ofPartition) ?? setup.configuration }
        broker = SimulatedBroker(setup, outputs: configurations.flatMap(\.outputs))
        streams = broker.inputs.indices.map { EventStream(partition: Int32($0)) }
        stores = zip(configurations, ownPartitions).map { configuration, partition in
            SimulatedStore(self, configuration, partition: partition) { time.value }
        }
        processes = (0..<setup.processCount).map { SimulatedProcess(self, number: $0) }
    }

    private let sharedTime: Shared

    /// The world's calendar for the store's place.
    private final class Shared: @unchecked Sendable {
        var value: Int64
        init(_ value: Int64) { self.value = value }
    }

    /// The number of records that the workers have sent.
    var outputCount: Int {
        stores.reduce(0) { $0 + Int(broker.high($1.output) + broker.high($1.failed)) }
    }

    /// The number of transactions that the workers have committed.
    var transactionCount: Int { stores.reduce(0) { $0 + $1.history.count } }

    var isBrokerSilent: Bool { seconds < broker.silentUntilSeconds }

    // MARK: Time

    /// Lets time pass, and every due step happen, in an order that the seed decides.
    func pass(seconds span: Double) {
        let end = seconds + span
        while violation == nil {
            for process in processes { process.startIfDue() }
            let isNews = random.number(below: 3) == 0
            var due: [(SimulatedProcess, SimulatedProcess.Loop)] = []
            for process in processes { process.forEachDueLoop(withNews: isNews) { due.append((process, $0)) } }
            if let (process, loop) = due.isEmpty ? nil : due[random.number(below: due.count)] {
                process.step(loop)
                advance(0.001)
            } else {
                advance(0.01)
            }
            if seconds >= end { return }
        }
    }

    private func advance(_ span: Double) {
        seconds += span
        microseconds += Int64(span * 1_000_000)
        sharedTime.value = microseconds
        for process in processes where process.isAlive {
            broker.group.hear(process.number, at: seconds)
        }
        broker.group.expire(at: seconds)
        broker.expireTransactions(at: seconds)
    }

    /// Lets time pass while a call waits.
    func wait(milliseconds: Int) { if milliseconds > 0 { advance(Double(milliseconds) / 1000) } }

    /// Returns a time that the seed decides.
    func randomSeconds(upTo span: Double) -> Double { span * Double(random.number(below: 1000)) / 1000 }

    /// Moves the calendars of the world and of its processes.
    func jump(seconds span: Double) {
        note("the calendar jumps by \(Int(span)) s")
        microseconds += Int64(span * 1_000_000)
        sharedTime.value = microseconds
    }

    // MARK: Faults

    func produce(_ count: Int, to number: Int) {
        let partition = broker.inputs[number]
        for _ in 0..<count {
            // The end of a transaction, or a batch that was aborted.
            if random.number(below: 15) == 0 { broker.logs[partition]?.append(nil) }
            let value = streams[number].next(&random)
            broker.logs[partition]?.append(
                ProducerRecord(
                    topic: partition.topic, partition: partition.partition, value: value,
                    timestampMilliseconds: microseconds / 1000))
        }
    }

    /// Drops records that the store has read, by their age.
    func age(_ number: Int) {
        let partition = broker.inputs[number]
        // Where several stores read it, the position of the one that is furthest behind.
        let stored = stores(reading: partition).map { $0.positions[partition] ?? 0 }.min() ?? 0
        let low = broker.low(partition)
        if stored <= low { return }
        let kept = low + Int64(random.number(below: Int(stored - low) + 1))
        note("\(partition) drops records before \(kept)")
        broker.logs[partition]?.age(to: kept)
    }

    /// Loses the end of a topic that the workers fill, or all of it, as where the topic is made again.
    func loseOutput() {
        let store = stores.count == 1 ? stores[0] : stores[random.number(below: stores.count)]
        let topic = random.number(below: 3) == 0 ? store.failed : store.output
        // A worker that has just lost the role of delivery, and does not know it yet, may write over what is lost. The broker
        // fences the transactions of such a worker.
        let isFenced = topic == store.output && configuration.notifications.transactional
        // Nor does it learn of that while the store refuses.
        isCalm = true
        defer { isCalm = false }
        if !isFenced { pass(seconds: max(seconds, store.refusesUntilSeconds) + 15 - seconds) }
        let high = Int(broker.high(topic))
        let offset = random.number(below: 2) == 0 ? 0 : random.number(below: high + 1)
        note("the broker loses \(topic.topic) from offset \(offset) of \(high)")
        broker.loseOutput(topic, from: Int64(offset), at: seconds)
        // A write that nobody learns of, before a worker has looked, may hide the loss: the end stands behind the mark again.
        // So may one of a worker that wakes up and does not know yet that it is fenced.
        broker.lostAcknowledgements = 0
        for process in processes { process.callsUntilKill = nil }
        pass(seconds: 15)
    }

    /// Loses the end of an input, or all of it.
    func loseInput(_ number: Int) {
        let partition = broker.inputs[number]
        let high = Int(broker.high(partition))
        let offset = random.number(below: 2) == 0 ? 0 : random.number(below: high + 1)
        note("the broker loses \(partition) from offset \(offset) of \(high)")
        broker.logs[partition]?.lose(from: Int64(offset))
        note("stored \(stores(reading: partition).map { $0.positions[partition] ?? -1 })")
    }

    // MARK: Invariants

    /// Notes what happened, for the report of a life that fails.
    func note(_ text: @autoclosure () -> String) {
        if keepsTimeline { timeline.append("\(Int(seconds * 1000)) ms  \(text())") }
    }

    func note(_ process: SimulatedProcess, _ text: @autoclosure () -> String) {
        note("\(process.name)  \(text())")
    }

    func violate(_ invariant: String, _ text: String) {
        if violation == nil { violation = Violation(invariant: invariant, text: text) }
        note("violates \(invariant): \(text)")
    }

    /// The stores whose workers read a partition.
    func stores(reading partition: TopicPartition) -> [SimulatedStore] {
        stores.filter { $0.inputs.contains(partition) }
    }

    /// I1: the broker's offset is never ahead of the store's.
    func checkCommitted(_ offsets: [TopicPartition: Int64], by process: SimulatedProcess) {
        for (partition, offset) in offsets {
            if configuration.broadcastTopics.contains(partition.topic) {
                violate("I1", "\(process.name) committed an offset of \(partition), which every store reads")
            }
            // A worker with an older state may commit a position that has gone back with its lost log.
            let saved = stores(reading: partition).map { $0.furthest(partition) }.min() ?? 0
            if offset <= saved { continue }
            violate("I1", "\(process.name) committed \(offset) of \(partition), stored \(saved)")
        }
    }

    /// Judges the error that ended a process: each has to be one that the faults explain.
    func judge(_ error: any Error, of name: String) {
        if let error = error as? StoreError, error.code == .fenced || error.isRetriable { return }
        violate("I6", "\(name) ended: \(error)")
    }
}
