import ObjectGraph

/// Holds the worker's standard metrics.
public final class WorkerMetrics: Sendable {
    /// The registry that shows them.
    public let registry: MetricsRegistry

    /// Records read.
    public let records: Counter
    /// Bytes of the records read.
    public let recordBytes: Counter
    /// Operations applied, by entity and verb.
    public let operations: MetricFamily<Counter>
    /// Events that were older than what the store has.
    public let stale: Counter
    /// Records that asked nothing of the store.
    public let filtered: Counter
    /// Dead letters, by stage.
    public let deadLetters: MetricFamily<Counter>
    /// Dead letters delivered to their topic.
    public let deadLettersSent: Counter
    /// Deliveries of dead letters that failed.
    public let deadLetterErrors: Counter
    /// Dead letters that wait for their topic.
    public let deadLettersUnsent: Gauge
    /// Placeholders made.
    public let placeholders: Counter
    /// Objects deleted, delete rules included, by entity.
    public let objectsDeleted: MetricFamily<Counter>
    /// Chunks saved.
    public let chunks: Counter
    /// Database commits.
    public let commits: Counter
    /// The duration of commits.
    public let commitDuration: Histogram
    /// The operations in a chunk.
    public let chunkOperations: Histogram
    /// The last history token.
    public let historyToken: Gauge
    /// The last token that was sent as a notification.
    public let notificationToken: Gauge
    /// Notifications sent.
    public let notifications: Counter
    /// Notifications that could not be sent.
    public let notificationErrors: Counter
    /// Transactions that wait to be notified.
    public let outboxTransactions: Gauge
    /// 1 while nothing is consumed because too many wait, else 0.
    public let outboxFull: Gauge
    /// Readers of the change feed at present.
    public let feedReaders: Gauge
    /// Events that were given to readers of the change feed.
    public let feedEvents: Counter
    /// Records between the store's position and the partition's end, by topic and partition.
    public let consumerLag: MetricFamily<Gauge>
    /// Partitions that stood still and that the client fetched again.
    public let refetches: Counter
    /// The next offset that the store waits for, by topic and partition.
    public let position: MetricFamily<Gauge>
    /// The time of the last error, seconds since 1970. A connection that was lost is none while the broker answers: brokers
    /// close those that nobody uses.
    public let lastErrorTimestamp: Gauge
    /// The time of the last commit, seconds since 1970.
    public let lastCommitTimestamp: Gauge
    /// The size of the store's file.
    public let storeBytes: Gauge
    /// The size of the store's write-ahead log.
    public let walBytes: Gauge

    /// Registers the metrics.
    ///
    /// - Parameters:
    ///   - version: The worker's version.
    ///   - librdkafka: The version of librdkafka.
    ///   - sqlite: The version of SQLite.
    ///   - registry: The registry to use.
    public init(
        version: String, librdkafka: String, sqlite: String, registry: MetricsRegistry = MetricsRegistry()
    ) {
        self.registry = registry
        records = registry.counter("ingest_records_total", "Records read.")
        recordBytes = registry.counter("ingest_record_bytes_total", "Bytes of the records read.")
        operations = registry.counters(
            "ingest_operations_total", "Operations applied to objects.", labels: ["entity", "verb"])
        stale = registry.counter("ingest_stale_total", "Events older than what the store has; they changed nothing.")
        filtered = registry.counter(
            "ingest_filtered_total", "Records that a route filtered or dropped, and tombstones behind deletions.")
        deadLetters = registry.counters(
            "ingest_dead_letters_total", "Records kept as dead letters.", labels: ["stage"])
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
        commitDuration = registry.histogram(
            "ingest_commit_duration_seconds", "Time to write and commit.",
            bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10])
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
            labels: ["topic", "partition"])
        refetches = registry.counter(
            "ingest_fetches_anew_total",
            "Partitions that stalled though the broker had more, and were fetched again.")
        position = registry.gauges(
            "ingest_position", "The next offset that the store waits for.", labels: ["topic", "partition"])
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

    /// Notes that something failed just now.
    func noteError() { lastErrorTimestamp.set(Double(WriterContext.systemTime()) / 1_000_000) }
}
