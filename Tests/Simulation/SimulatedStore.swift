import GraphCore
import IngestCore
import KafkaClient
import MemoryStorage

/// One store of a simulated world: its place, which every process can open, and what workers have committed there.
final class SimulatedStore {
    private unowned let world: World
    /// The configuration of the workers that write the store.
    let configuration: WorkerConfiguration
    /// The partition whose store this is; nil where all partitions share it.
    let partition: Int32?
    let identity: String
    let place: MemoryPlace
    /// The partitions that a worker of the store reads.
    let inputs: [TopicPartition]
    /// The topic of the notifications, and the one of dead letters.
    let output: TopicPartition
    let failed: TopicPartition
    /// The transactions that were committed, in order.
    private(set) var history: [HistoryTransaction] = []
    /// The dead letters that were committed, in order.
    private(set) var letters: [DeadLetter] = []
    /// What the workers have saved of each input that has lost records.
    private(set) var readings: [TopicPartition: SavedReading] = [:]
    /// The store's next failures.
    var faults: [Fault] = []
    /// Until when the store refuses every call.
    var refusesUntilSeconds = 0.0
    /// The number of requests that make transactions.
    var retryCount = 0
    /// The number of the last writer that has claimed the store.
    private(set) var writerCount = 0
    private let observer: Store

    /// A failure of the store that its next calls meet.
    struct Fault {
        let call: MemoryCall
        let code: StoreError.Code
        var count: Int
    }

    init(_ world: World, _ configuration: WorkerConfiguration, partition: Int32?, now: @escaping @Sendable () -> Int64)
    {
        self.world = world
        self.configuration = configuration
        self.partition = partition
        identity = partition.map { "simulated-\($0)" } ?? "simulated"
        place = MemoryPlace(
            model: world.model, identity: identity, sharesWriters: configuration.store.writers == .many, now: now)
        inputs = world.broker.inputs.filter { input in
            partition == nil || input.partition == partition
                || configuration.broadcastTopics.contains(input.topic)
        }
        output = TopicPartition(configuration.notifications.topic ?? "", 0)
        failed = TopicPartition(configuration.deadLetters.topic ?? "", 0)
        observer = Store(MemoryStorage(place), model: world.model)
    }

    /// The store's name in reports.
    var name: String { partition.map { "store \($0)" } ?? "the store" }

    var isRefusing: Bool { world.seconds < refusesUntilSeconds }

    func nextWriter() -> Int {
        writerCount += 1
        return writerCount
    }

    func fail(_ call: MemoryCall) throws(StoreError) {
        if isRefusing, call != .committed {
            throw StoreError(.disconnected, "The simulated store is away", remedy: "Wait")
        }
        guard let index = faults.firstIndex(where: { $0.call == call }) else { return }
        faults[index].count -= 1
        let code = faults[index].code
        if faults[index].count <= 0 { faults.remove(at: index) }
        throw StoreError(code, "The simulated store refuses", remedy: "Wait")
    }

    func read<Result>(_ body: (ReadContext) throws -> Result) throws -> Result { try observer.read(body) }

    var positions: [TopicPartition: Int64] {
        let positions = (try? observer.read { try $0.positions() }) ?? []
        return Dictionary(
            positions.map { (TopicPartition($0.topic, $0.partition), $0.nextOffset) }, uniquingKeysWith: max)
    }

    /// The furthest offset of a partition that was ever saved.
    func furthest(_ partition: TopicPartition) -> Int64 {
        max(positions[partition] ?? 0, readings[partition]?.furthest ?? 0)
    }

    /// Remembers the transactions and dead letters that a commit has added, before a purge or a retry may take them.
    func capture() {
        do {
            let (token, letter) = (history.last?.token ?? 0, letters.last?.id ?? 0)
            try observer.read { context in
                history += try context.history(after: token, limit: 1_000_000, maximumChangeCount: .max)
                letters += try context.deadLetters(after: letter, limit: 1_000_000)
                if world.losesInputs { try context.positions().forEach(follow) }
            }
        } catch {
            world.violate("I3", "\(name) cannot be read after a commit: \(error)")
        }
    }

    /// Follows a saved position, to know later which log its records came from.
    private func follow(_ position: SourcePosition) {
        let partition = TopicPartition(position.topic, position.partition)
        guard let log = world.broker.logs[partition] else { return }
        let policy = configuration.kafka.onPositionLost
        if let fault = readings[partition, default: SavedReading()].take(position, log, policy) {
            world.violate("I2", "\(partition) \(fault)")
        }
    }
}
