import IngestCore
import KafkaClient

/// A producer of one process for one topic with one partition.
final class SimulatedSink: RecordSink, @unchecked Sendable {
    private unowned let process: SimulatedProcess
    private let partition: TopicPartition
    let sentTopic: SentTopic?

    init(_ process: SimulatedProcess, _ partition: TopicPartition) {
        self.process = process
        self.partition = partition
        sentTopic = SentTopic(process, topic: partition.topic)
    }

    private var world: World { process.world }

    func deliver(_ records: [ProducerRecord]) throws {
        try process.call(.deliver)
        try world.refuseDelivery()
        let losesAnswer = world.losesAnswer()
        let written = losesAnswer ? records.prefix(1 + world.random.number(below: records.count)) : records[...]
        world.note(process, "delivers \(written.count) records at \(world.broker.high(partition)) of \(partition)")
        for record in written {
            let offset = world.broker.high(partition)
            world.broker.logs[partition]?.append(record)
            if !losesAnswer { sentTopic?.onDelivery(partition, offset) }
        }
        if losesAnswer { throw KafkaError(.messageTimedOut) }
        // The process may end before it knows.
        try process.call(.delivered)
    }
}

/// A producer of one process that sends in transactions, as `TransactionalRecordSink` does.
final class SimulatedTransactionalSink: RecordSink, @unchecked Sendable {
    private unowned let process: SimulatedProcess
    private let partition: TopicPartition
    /// The number of this producer among all of its name; nil before it is made ready.
    private var epoch: Int?
    private var isOpen = false
    /// The records that the producer holds; a commit writes them first.
    private var queue: [ProducerRecord] = []
    let sentTopic: SentTopic?

    init(_ process: SimulatedProcess, _ partition: TopicPartition) {
        self.process = process
        self.partition = partition
        sentTopic = SentTopic(process, topic: partition.topic)
    }

    private var world: World { process.world }

    func finishedEntry() throws -> Int64? {
        try step {
            try begin()
            try ask(.client)
            return world.broker.transactions[partition]?.finishedEntry
        }
    }

    func deliver(_ records: [ProducerRecord]) throws {
        try step {
            try begin()
            isOpen = true
            queue += records
            try write(world.random.number(below: queue.count + 1))
        }
    }

    func finish(through entry: Int64) throws {
        try step {
            guard isOpen else { return }
            try write(queue.count)
            try ask(.client)
            // From here on the producer cannot abort: only the next one of its name learns what became of it.
            isOpen = false
            if world.losesAnswer() {
                // The coordinator may have begun the commit, which it then ends.
                if world.random.number(below: 2) == 0 { commit(entry) }
                throw KafkaError(.timedOut)
            }
            commit(entry)
            try process.call(.delivered)
        }
    }

    func close() { drop() }

    private func commit(_ entry: Int64) {
        world.broker.logs[partition]?.endTransaction(aborts: false)
        world.broker.transactions[partition]?.commit(entry)
    }

    /// Makes the producer ready: the former one of its name is refused from now on, and its transaction aborted.
    private func begin() throws {
        if epoch != nil { return }
        try process.call(.client)
        if world.isBrokerSilent { throw KafkaError(.timedOut) }
        world.broker.logs[partition]?.endTransaction(aborts: true)
        epoch = world.broker.transactions[partition]?.begin()
    }

    private func write(_ count: Int) throws {
        if count == 0 { return }
        try ask(.deliver)
        try world.refuseDelivery()
        world.broker.transactions[partition]?.open(at: world.seconds)
        world.broker.logs[partition]?.beginTransaction()
        world.note(process, "delivers \(count) records at \(world.broker.high(partition)) of \(partition)")
        for record in queue.prefix(count) {
            let offset = world.broker.high(partition)
            world.broker.logs[partition]?.append(record)
            sentTopic?.onDelivery(partition, offset)
        }
        queue.removeFirst(count)
    }

    private func ask(_ call: SimulatedProcess.Call) throws {
        try process.call(call)
        if world.isBrokerSilent { throw KafkaError(.timedOut) }
        if epoch != world.broker.transactions[partition]?.epoch {
            throw KafkaError(KafkaError.Code("_FENCED"), isFatal: true)
        }
    }

    private func step<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch {
            drop()
            throw error
        }
    }

    private func drop() {
        if isOpen, (try? ask(.client)) != nil { world.broker.logs[partition]?.endTransaction(aborts: true) }
        (epoch, isOpen, queue) = (nil, false, [])
    }
}

/// What the broker knows of the transactions of one name, which fill one topic.
struct SimulatedTransactions {
    /// The number of the last producer; the broker refuses those before it.
    private(set) var epoch = 0
    /// The offset of the group that belongs to the name.
    private(set) var finishedEntry: Int64?
    private var openedAtSeconds: Double?
    static let timeoutSeconds = 60.0

    mutating func begin() -> Int {
        epoch += 1
        openedAtSeconds = nil
        return epoch
    }

    mutating func open(at seconds: Double) { openedAtSeconds = openedAtSeconds ?? seconds }

    mutating func commit(_ entry: Int64) {
        finishedEntry = entry
        openedAtSeconds = nil
    }

    mutating func forget() { finishedEntry = nil }

    /// Whether the open transaction has taken too long: the broker aborts it, and refuses its producer.
    mutating func expires(at seconds: Double) -> Bool {
        guard let opened = openedAtSeconds, seconds - opened > Self.timeoutSeconds else { return false }
        _ = begin()
        return true
    }
}

extension SentTopic {
    /// The watch of a process over a simulated topic.
    fileprivate convenience init(_ process: SimulatedProcess, topic: String) {
        let cluster = SimulatedCluster(process: process)
        self.init(topic: topic, topics: cluster, sources: cluster, clock: process.clock)
    }
}

extension World {
    /// Refuses a delivery where the broker is silent, or has too few replicas.
    fileprivate func refuseDelivery() throws {
        if isBrokerSilent { throw KafkaError(.timedOut) }
        if broker.refusedDeliveries == 0 { return }
        broker.refusedDeliveries -= 1
        throw KafkaError(.notEnoughReplicas)
    }

    /// Whether the broker does what it is asked for, and its answer is lost.
    fileprivate func losesAnswer() -> Bool {
        if broker.lostAcknowledgements == 0 { return false }
        broker.lostAcknowledgements -= 1
        return true
    }
}
