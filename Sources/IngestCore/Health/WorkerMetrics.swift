import KafkaClient
import ObjectGraph

/// Holds the worker's standard metrics.
package final class WorkerMetrics: Sendable {
    /// The registry that shows them.
    package let registry = MetricsRegistry()

    /// Records whose positions were committed, each once.
    package let records: Counter
    /// Bytes of these records.
    package let recordBytes: Counter
    /// Operations applied, by entity and verb.
    package let operations: MetricFamily<Counter>
    /// Events that were older than what the store has.
    package let stale: Counter
    /// Records that asked nothing of the store.
    package let filtered: Counter
    /// Dead letters, by stage.
    package let deadLetters: MetricFamily<Counter>
    /// Dead letters that the store keeps, by code.
    package let deadLettersKept: GaugeSnapshot
    /// Dead letters delivered to their topic.
    package let deadLettersSent: Counter
    /// Deliveries of dead letters that failed.
    package let deadLetterErrors: Counter
    /// Dead letters that wait for their topic.
    package let deadLettersUnsent: Gauge
    /// Placeholders made.
    package let placeholders: Counter
    /// Objects deleted, delete rules included, by entity.
    package let objectsDeleted: MetricFamily<Counter>
    /// Chunks saved.
    package let chunks: Counter
    /// Database commits.
    package let commits: Counter
    /// Chunks that were applied again because another writer of the store had got in the way.
    package let conflicts: Counter
    /// The duration of commits.
    package let commitDuration: Histogram
    /// The time from records to notifications, and its parts.
    package let latency: LatencyMetrics
    /// The operations in a chunk.
    package let chunkOperations: Histogram
    /// The last history token.
    package let historyToken: Gauge
    /// The last token that was sent as a notification.
    package let notificationToken: Gauge
    /// Notifications sent.
    package let notifications: Counter
    /// Notifications that could not be sent.
    package let notificationErrors: Counter
    /// Transactions that wait to be notified.
    package let outboxTransactions: Gauge
    /// 1 while nothing is consumed because too many wait, else 0.
    package let outboxFull: Gauge
    /// Readers of the change feed at present.
    package let feedReaders: Gauge
    /// Events that were given to readers of the change feed.
    package let feedEvents: Counter
    /// Records between the store's position and the partition's end, by topic and partition.
    package let consumerLag: MetricFamily<Gauge>
    /// The age of the oldest record between them, at most, by topic and partition.
    package let consumerLagSeconds: MetricFamily<Gauge>
    /// Partitions that stood still and that the client fetched again.
    package let refetches: Counter
    /// The next offset that the store waits for, by topic and partition.
    package let position: MetricFamily<Gauge>
    /// The time of the last error, seconds since 1970. A connection that was lost is none while the broker answers: brokers
    /// close those that nobody uses.
    package let lastErrorTimestamp: Gauge
    /// The time of the last commit, seconds since 1970.
    package let lastCommitTimestamp: Gauge
    /// The size of the store's file.
    package let storeBytes: Gauge
    /// The size of the store's write-ahead log.
    package let walBytes: Gauge

    /// Registers the metrics.
    ///
    /// - Parameters:
    ///   - version: The worker's version.
    ///   - librdkafka: The version of librdkafka.
    ///   - sqlite: The version of SQLite.
    package init(version: String, librdkafka: String, sqlite: String) {
        records = registry.counter("ingest_records_total", "Records read and committed, each once.")
        recordBytes = registry.counter("ingest_record_bytes_total", "Bytes of these records.")
        operations = registry.counters(
            "ingest_operations_total", "Operations applied to objects.", labels: ["entity", "verb"])
        stale = registry.counter("ingest_stale_total", "Events older than what the store has; they changed nothing.")
        filtered = registry.counter(
            "ingest_filtered_total", "Records that a route filtered or dropped, and tombstones behind deletions.")
        deadLetters = registry.counters(
            "ingest_dead_letters_total", "Records kept as dead letters.", labels: ["stage"])
        for stage in ["decode", "apply"] { _ = deadLetters.with(stage) }
        deadLettersKept = registry.snapshot(
            "ingest_dead_letters_kept", "Dead letters in the store; codes beyond twenty count as 'other'.",
            label: "code")
        deadLettersSent = registry.counter(
            "ingest_dead_letters_sent_total", "Dead letters delivered to their topic.")
        deadLetterErrors = registry.counter(
            "ingest_dead_letter_errors_total", "Attempts to deliver dead letters that failed.")
        deadLettersUnsent = registry.gauge("ingest_dead_letters_unsent", "Dead letters that wait for their topic.")
        placeholders = registry.counter(
            "ingest_placeholders_total", "Objects made for references whose own event had not arrived.")
        objectsDeleted = registry.counters(
            "ingest_objects_deleted_total", "Objects deleted, by events and by delete rules.", labels: ["entity"])
        chunks = registry.counter("ingest_chunks_total", "Chunks saved.")
        commits = registry.counter("ingest_commits_total", "Database commits.")
        conflicts = registry.counter(
            "ingest_conflicts_total", "Chunks applied again because another writer of the store was in the way.")
        commitDuration = registry.histogram(
            "ingest_commit_duration_seconds", "Time to write and commit.",
            bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10])
        latency = LatencyMetrics(registry)
        chunkOperations = registry.histogram(
            "ingest_chunk_operations", "Operations in a chunk.",
            bounds: [1, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 20_000])
        historyToken = registry.gauge("ingest_history_token", "The last history token in the store.")
        notificationToken = registry.gauge(
            "ingest_notification_token", "The last history token whose notification was delivered.")
        notifications = registry.counter("ingest_notifications_total", "Notifications delivered.")
        notificationErrors = registry.counter(
            "ingest_notification_errors_total", "Attempts to deliver a notification that failed.")
        outboxTransactions = registry.gauge(
            "ingest_outbox_transactions", "History transactions that wait to be notified.")
        outboxFull = registry.gauge(
            "ingest_outbox_full", "1 while nothing is consumed because too many transactions wait to be notified.")
        feedReaders = registry.gauge("ingest_feed_readers", "Readers of the change feed at present.")
        feedEvents = registry.counter("ingest_feed_events_total", "Events given to readers of the change feed.")
        consumerLag = registry.gauges(
            "kafka_consumer_lag", "Records between the store's position and the partition's end.",
            labels: ["topic", "partition"], isBounded: false)
        consumerLagSeconds = registry.gauges(
            "kafka_consumer_lag_seconds",
            "Age of the oldest record between the store's position and the partition's end, at most.",
            labels: ["topic", "partition"], isBounded: false)
        refetches = registry.counter(
            "ingest_fetches_anew_total",
            "Partitions that stalled though the broker had more, and were fetched again.")
        position = registry.gauges(
            "ingest_position", "The next offset that the store waits for.", labels: ["topic", "partition"],
            isBounded: false)
        lastErrorTimestamp = registry.gauge(
            "ingest_last_error_timestamp_seconds",
            "Time of the last error, in seconds since 1970; 0 when there was none.")
        lastCommitTimestamp = registry.gauge(
            "ingest_last_commit_timestamp_seconds",
            "Time of the last commit, in seconds since 1970; 0 when there was none.")
        storeBytes = registry.gauge("ingest_store_bytes", "Size of the store's file.")
        walBytes = registry.gauge("ingest_wal_bytes", "Size of the store's write-ahead log.")
        registry.gauges(
            "ingest_build_info", "Versions; the value is always 1.", labels: ["version", "librdkafka", "sqlite"]
        ).with(version, librdkafka, sqlite).set(1)
        ProcessMetrics.register(in: registry)
    }

    /// Registers the metrics of this program.
    convenience init() {
        self.init(version: WorkerRuntime.version, librdkafka: KafkaLibrary.versionString, sqlite: Store.sqliteVersion)
    }

    /// Sets the size of the store, where it is known.
    func setSize(_ size: StoreSize?) {
        guard let size else { return }
        storeBytes.set(size.bytes)
        if let log = size.logBytes { walBytes.set(log) }
    }

    /// Sets the lag of a partition; nil where it is not known.
    func setLag(_ measure: PartitionLag.Measure?, of partition: TopicPartition) {
        let labels = [partition.topic, "\(partition.partition)"]
        consumerLag.series(labels).set(measure.map { Double($0.records) } ?? .nan)
        consumerLagSeconds.series(labels).set(measure?.seconds ?? .nan)
    }

    /// Notes that something failed just now.
    func noteError() { lastErrorTimestamp.set(Double(WriterContext.systemTime()) / 1_000_000) }
}
