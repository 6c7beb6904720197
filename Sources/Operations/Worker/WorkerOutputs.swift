import GraphCore
import IngestCore
import KafkaClient
import Logging

/// The outboxes of a worker, and the sinks that they deliver to; nil where a topic is not configured.
struct WorkerOutputs: Sendable {
    let notifications: Outbox?
    let deadLetters: Outbox?
    private let notificationSink: (any RecordSink)?
    private let deadLetterSink: (any RecordSink)?

    init(
        _ configuration: WorkerConfiguration, client: KafkaConfiguration, consumer: KafkaConfiguration, store: Store,
        metrics: WorkerMetrics, health: HealthMonitor, logger: Logger, outages: OutageLog
    ) throws {
        let isAlone = configuration.store.writers == .one
        notificationSink = try configuration.notificationSink(client: client, consumer: consumer, store: store)
        notifications = try notificationSink.map {
            try .notifications(
                store: store, sink: $0, configuration: configuration.notifications, metrics: metrics, health: health,
                logger: logger, outages: outages, isActive: isAlone)
        }
        deadLetterSink = try configuration.deadLetters.topic.map { topic in
            try KafkaRecordSink(
                configuration: client, sentTopic: SentTopic(topic: topic, client: client, consumer: consumer))
        }
        deadLetters = try deadLetterSink.map {
            try .deadLetters(
                store: store, sink: $0, topic: configuration.deadLetters.topic ?? "", configuration: configuration,
                metrics: metrics, health: health, logger: logger, outages: outages, isActive: isAlone)
        }
    }

    /// Closes the sinks, when the outboxes have ended.
    func close() {
        notificationSink?.close()
        deadLetterSink?.close()
    }
}

extension WorkerConfiguration {
    /// Makes the sink of notifications, or nil where nothing is notified.
    fileprivate func notificationSink(
        client: KafkaConfiguration, consumer: KafkaConfiguration, store: Store
    ) throws -> (any RecordSink)? {
        guard let topic = notifications.topic else { return nil }
        let sent = try SentTopic(topic: topic, client: client, consumer: consumer)
        guard notifications.transactional else {
            return try KafkaRecordSink(configuration: client, isGapless: true, sentTopic: sent)
        }
        let name = kafka.properties["transactional.id"]
        let identity = try store.identity()
        return try TransactionalRecordSink(
            configuration: client, topic: topic, transactionalID: name ?? "ingest-worker-\(identity)",
            group: name.map { "\($0)-\(identity)" }, sentTopic: sent)
    }
}
