import Logging
import ObjectGraph

@testable import IngestCore
@testable import KafkaClient

extension ConsumerWorker {
    /// Makes a worker with a store in memory and no broker, whose parts are called by hand.
    ///
    /// - Parameter other: a worker whose writer this one has, too.
    static func bare(
        _ configuration: WorkerConfiguration = WorkerConfiguration(), health: HealthMonitor = HealthMonitor(),
        logger: Logger = .silent, directory: TopicDirectory? = nil, notifications: Outbox? = nil,
        options: WriterContext.Options = WriterContext.Options(), sharing other: ConsumerWorker? = nil,
        clock: WorkerClock = .system
    ) throws -> ConsumerWorker {
        try ConsumerWorker(
            configuration: configuration,
            writer: other?.pipeline.writer
                ?? WriterContext(store: Store.inMemory(model: WorkerHarness.model), options: options),
            sources: KafkaConfiguration([:]), metrics: WorkerMetrics(version: "1", librdkafka: "2", sqlite: "3"),
            health: health, logger: logger, notifications: notifications, directory: directory,
            clock: clock)
    }
}

/// Delivers nothing anywhere, one entry at a time.
struct NoDelivery: OutboxDelivery {
    func deliver(after cursor: Int64) -> DeliveredBatch? { DeliveredBatch(cursor: cursor + 1, count: 1) }
    func waitingCount(after cursor: Int64) -> Int { 0 }
    func storedCursor() -> Int64 { 0 }
    func save(_ cursor: Int64, _ writer: WriterContext) {}
    func prepareToStop() {}
    func report(_ event: OutboxEvent) {}
}
