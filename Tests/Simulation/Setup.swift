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

    init(seed: UInt64) {
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
    }
}
