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

/// Everything around the workers, and the workers: one cluster, one store, one clock, and no threads.
final class World: @unchecked Sendable {
    let model: ObjectModel
    let configuration: WorkerConfiguration
    let setDeletionThreshold: Int
    /// Whether inputs may lose records.
    let losesInputs: Bool
    let place: MemoryPlace
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
    /// The transactions that were committed, in order.
    private(set) var history: [HistoryTransaction] = []
    /// The dead letters that were committed, in order.
    private(set) var letters: [DeadLetter] = []
    /// The store's next failures.
    var storeFaults: [StoreFault] = []
    /// Until when the store refuses every call.
    var storeRefusesUntilSeconds = 0.0
    /// The number of the last writer that has claimed the store.
    private(set) var writerCount = 0
    /// The number of requests that make transactions.
    var retryCount = 0
    /// What the workers have saved of each input that has lost records.
    private(set) var readings: [TopicPartition: SavedReading] = [:]
    private var streams: [EventStream]
    private let observer: Store
    private let keepsTimeline: Bool
    private(set) var timeline: [String] = []

    /// A failure of the store that its next calls meet.
    struct StoreFault {
        let call: MemoryCall
        let code: StoreError.Code
        var count: Int
    }

    init(_ setup: Setup, model: ObjectModel, keepsTimeline: Bool) {
        self.model = model
        self.keepsTimeline = keepsTimeline
        configuration = setup.configuration
        setDeletionThreshold = setup.setDeletionThreshold
        losesInputs = setup.losesInputs
        random = SeededRandom(seed: setup.seed)
        let time = Shared(microseconds)
        place = MemoryPlace(
            model: model, identity: "simulated", sharesWriters: configuration.store.writers == .many,
            now: { time.value })
        sharedTime = time
        broker = SimulatedBroker(partitionCount: setup.partitionCount, isCooperative: setup.isCooperative)
        streams = (0..<setup.partitionCount).map { EventStream(partition: $0) }
        observer = Store(MemoryStorage(place), model: model)
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
        [SimulatedBroker.output, SimulatedBroker.failed].reduce(0) { $0 + Int(broker.high(TopicPartition($1, 0))) }
    }

    var isBrokerSilent: Bool { seconds < broker.silentUntilSeconds }

    var isStoreRefusing: Bool { seconds < storeRefusesUntilSeconds }

    func nextWriter() -> Int {
        writerCount += 1
        return writerCount
    }

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
        for process in processes where process.state == .running {
            broker.group.hear(process.number, at: seconds)
        }
        broker.group.expire(at: seconds)
        broker.expireTransactions(at: seconds)
    }

    /// Lets time pass while a call waits.
    func wait(milliseconds: Int) { if milliseconds > 0 { advance(Double(milliseconds) / 1000) } }

    /// Moves the calendars of the world and of its processes.
    func jump(seconds span: Double) {
        note("the calendar jumps by \(Int(span)) s")
        microseconds += Int64(span * 1_000_000)
        sharedTime.value = microseconds
    }

    // MARK: Faults

    func failStore(_ call: MemoryCall) throws(StoreError) {
        if isStoreRefusing, call != .committed {
            throw StoreError(.disconnected, "The simulated store is away", remedy: "Wait")
        }
        guard let index = storeFaults.firstIndex(where: { $0.call == call }) else { return }
        storeFaults[index].count -= 1
        let code = storeFaults[index].code
        if storeFaults[index].count <= 0 { storeFaults.remove(at: index) }
        throw StoreError(code, "The simulated store refuses", remedy: "Wait")
    }

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
        let stored = storedPositions[partition] ?? 0
        let low = broker.low(partition)
        if stored <= low { return }
        let kept = low + Int64(random.number(below: Int(stored - low) + 1))
        note("\(partition) drops records before \(kept)")
        broker.logs[partition]?.age(to: kept)
    }

    /// Loses the end of a topic that the workers fill, or all of it, as where the topic is made again.
    func loseOutput() {
        let topic = random.number(below: 3) == 0 ? SimulatedBroker.failed : SimulatedBroker.output
        // A worker that has just lost the role of delivery, and does not know it yet, may write over what is lost. The broker
        // fences the transactions of such a worker.
        let isFenced = topic == SimulatedBroker.output && configuration.notifications.transactional
        // Nor does it learn of that while the store refuses.
        if !isFenced { pass(seconds: max(seconds, storeRefusesUntilSeconds) + 15 - seconds) }
        let high = Int(broker.high(TopicPartition(topic, 0)))
        let offset = random.number(below: 2) == 0 ? 0 : random.number(below: high + 1)
        note("the broker loses \(topic) from offset \(offset) of \(high)")
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
        note("stored \(storedPositions[partition] ?? -1)")
    }

    // MARK: Invariants

    /// Notes what happened, for the report of a life that fails.
    func note(_ text: @autoclosure () -> String) {
        if keepsTimeline { timeline.append("\(Int(seconds * 1000)) ms  \(text())") }
    }

    func note(_ process: SimulatedProcess, _ text: @autoclosure () -> String) {
        note("worker \(process.number)  \(text())")
    }

    func violate(_ invariant: String, _ text: String) {
        if violation == nil { violation = Violation(invariant: invariant, text: text) }
        note("violates \(invariant): \(text)")
    }

    func read<Result>(_ body: (ReadContext) throws -> Result) throws -> Result { try observer.read(body) }

    var storedPositions: [TopicPartition: Int64] {
        let positions = (try? observer.read { try $0.positions() }) ?? []
        return Dictionary(
            positions.map { (TopicPartition($0.topic, $0.partition), $0.nextOffset) }, uniquingKeysWith: max)
    }

    /// I1: the broker's offset is never ahead of the store's.
    func checkCommitted(_ offsets: [TopicPartition: Int64], by process: SimulatedProcess) {
        let stored = storedPositions
        for (partition, offset) in offsets {
            // A worker with an older state may commit a position that has gone back with its lost log.
            let saved = max(stored[partition] ?? 0, readings[partition]?.furthest ?? 0)
            if offset <= saved { continue }
            violate(
                "I1", "worker \(process.number) committed \(offset) of \(partition), stored \(stored[partition] ?? 0)")
        }
    }

    /// Remembers the transactions and dead letters that a commit has added, before a purge or a retry may take them.
    func capture() {
        do {
            let (token, letter) = (history.last?.token ?? 0, letters.last?.id ?? 0)
            try observer.read { context in
                history += try context.history(after: token, limit: 1_000_000, maximumChangeCount: .max)
                letters += try context.deadLetters(after: letter, limit: 1_000_000)
                if losesInputs { try context.positions().forEach(follow) }
            }
        } catch {
            violate("I3", "the store cannot be read after a commit: \(error)")
        }
    }

    /// Follows a saved position, to know later which log its records came from.
    private func follow(_ position: SourcePosition) {
        let partition = TopicPartition(position.topic, position.partition)
        guard let log = broker.logs[partition] else { return }
        let policy = configuration.kafka.onPositionLost
        if let fault = readings[partition, default: SavedReading()].take(position, log, policy) {
            violate("I2", "\(partition) \(fault)")
        }
    }

    /// Judges the error that ended a process: each has to be one that the faults explain.
    func judge(_ error: any Error, of process: SimulatedProcess) {
        if let error = error as? StoreError, error.code == .fenced || error.isRetriable { return }
        violate("I6", "worker \(process.number) ended: \(error)")
    }
}
