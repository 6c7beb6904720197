import IngestCore
import RecordDecoding
import TestSupport

/// What a seed decides before a life begins: who shares what, and how large things are.
package struct Setup {
    let seed: UInt64
    var configuration: WorkerConfiguration
    let setDeletionThreshold: Int
    var partitionCount: Int32
    var processCount: Int
    let isCooperative: Bool
    /// Whether topics that the workers read may lose records.
    let losesInputs: Bool
    /// Whether topics that the workers fill may lose records.
    let losesOutputs: Bool

    /// The number of partitions of the topic that every store reads whole, where there is one.
    private(set) var broadcastCount: Int32 = 0

    init(seed: UInt64, kind: Life.Kind = .workers) {
        self.seed = seed
        var random = SeededRandom(seed: seed ^ 0x7365_7475_70)
        var configuration = WorkerConfiguration()
        configuration.topics = [TopicConfiguration(name: SimulatedBroker.input)]
        configuration.store.writers = random.number(below: 2) == 0 ? .one : .many
        configuration.chunk.maxOperations = [1, 3, 10, 20, 50, 50, 100, 200][random.number(below: 8)]
        configuration.chunk.maxBacklogOperations = configuration.chunk.maxOperations * (1 + random.number(below: 8))
        configuration.chunk.threads = 1 + random.number(below: 2)
        configuration.notifications.topic = SimulatedBroker.output
        configuration.notifications.maxOutboxTransactions = [0, 5, 50][random.number(below: 3)]
        configuration.notifications.transactional = random.number(below: 3) == 0
        configuration.deadLetters.topic = SimulatedBroker.failed
        configuration.deadLetters.maxUnsent = [0, 5, 50][random.number(below: 3)]
        self.configuration = configuration
        setDeletionThreshold = random.number(below: 4) == 0 ? 2 : 1000
        partitionCount = Int32(1 + random.number(below: 4))
        processCount = 1 + random.number(below: 3)
        losesInputs = random.number(below: 4) == 0
        self.configuration.kafka.onPositionLost = [.halt, .earliest, .latest][random.number(below: 3)]
        isCooperative = random.number(below: 2) == 0
        losesOutputs = random.number(below: 4) == 0
        if kind == .stores { separateStores() }
    }

    /// Gives each partition a store of its own. The numbers are others than those before, which stay as they are.
    private mutating func separateStores() {
        var random = SeededRandom(seed: seed ^ 0x7374_6F72_6573)
        let mark = StoreConfiguration.partitionMark
        configuration.store.path = "stores/\(mark).sqlite"
        configuration.store.writers = .one
        configuration.notifications.topic = "\(SimulatedBroker.output)-\(mark)"
        configuration.deadLetters.topic = "\(SimulatedBroker.failed)-\(mark)"
        configuration.shutdown.drainSeconds = [1, 5, 10][random.number(below: 3)]
        partitionCount = Int32(1 + random.number(below: 5))
        if random.number(below: 3) == 0 {
            configuration.topics.append(TopicConfiguration(name: SimulatedBroker.second))
        }
        guard random.number(below: 2) == 0 else { return }
        broadcastCount = Int32(1 + random.number(below: 2))
        var topic = TopicConfiguration(name: SimulatedBroker.broadcast)
        topic.broadcast = true
        configuration.topics.append(topic)
    }
}
