import Logging
import ObjectGraph

@testable import IngestCore
@testable import KafkaClient

extension ConsumerWorker {
    /// Makes a worker with a store in memory and no broker, whose parts are called by hand.
    static func bare(
        _ configuration: WorkerConfiguration = WorkerConfiguration(), health: HealthMonitor = HealthMonitor(),
        logger: Logger = .silent, directory: TopicDirectory? = nil,
        deliveredToken: @escaping @Sendable () -> Int64? = { nil }
    ) throws -> ConsumerWorker {
        try ConsumerWorker(
            configuration: configuration, writer: WriterContext(store: Store.inMemory(model: WorkerHarness.model)),
            consumer: KafkaConfiguration([:]), metrics: WorkerMetrics(version: "1", librdkafka: "2", sqlite: "3"),
            health: health, logger: logger, mailbox: CursorMailbox(), directory: directory,
            deliveredToken: deliveredToken)
    }
}
