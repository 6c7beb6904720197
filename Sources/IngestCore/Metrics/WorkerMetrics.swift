import GraphCore
import KafkaClient
import SQLiteStorage

/// Holds the worker's standard metrics. A property declares a metric.
package final class WorkerMetrics: Sendable {
    /// The registry that shows them.
    package let registry = MetricsRegistry()
    /// The time from records to notifications, and its parts.
    package let latency = LatencyMetrics()

    // MARK: Records

    package let records = Counter(
        "ingest_records_total",
        "Records whose positions the worker has committed. A record counts once, also where the worker reads "
            + "it again after a failure.")
    package let recordBytes = Counter(
        "ingest_record_bytes_total", "Bytes of the records whose positions the worker has committed.")
    package let operations = Counters(
        "ingest_operations_total", "Operations on objects, of committed events without dead letters.",
        labels: ["entity", "verb"])
    package let stale = Counter("ingest_stale_total", "Events older than what the store has; they changed nothing.")
    package let filtered = Counter(
        "ingest_filtered_total",
        "Records that a route filtered or dropped, tombstones behind deletions, and rows without any value.")
    package let placeholders = Counter(
        "ingest_placeholders_total", "Objects made for references whose own event had not arrived.")
    package let objectsDeleted = Counters(
        "ingest_objects_deleted_total", "Objects deleted, by events and by delete rules.",
        labels: ["entity"])

    // MARK: Dead letters

    package let deadLetters = Counters(
        "ingest_dead_letters_total", "Records that became dead letters; the stage is 'decode' or 'apply'.",
        labels: ["stage"])
    package let deadLettersKept = GaugeSnapshot(
        "ingest_dead_letters_kept",
        "Dead letters in the store, by the twenty most frequent codes; all others count as 'other'. The "
            + "worker counts them every ten seconds, or less often if that takes long.",
        label: "code")
    package let deadLettersSent = Counter("ingest_dead_letters_sent_total", "Dead letters delivered to their topic.")
    package let deadLetterErrors = Counter(
        "ingest_dead_letter_errors_total", "Attempts to deliver dead letters that failed.")
    package let deadLettersUnsent = Gauge("ingest_dead_letters_unsent", "Dead letters that wait for their topic.")
    package let deadLettersLost = Counter(
        "ingest_dead_letters_lost_total", "Dead letters that the worker sent again, because their topic lost them.")

    // MARK: Commits and the store

    package let chunks = Counter("ingest_chunks_total", "Chunks saved.")
    package let chunkOperations = Histogram(
        "ingest_chunk_operations", "Operations in a chunk.",
        bounds: [1, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 20_000])
    package let commits = Counter("ingest_commits_total", "Database commits.")
    package let commitDuration = Histogram(
        "ingest_commit_duration_seconds", "Time to write and commit.",
        bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10])
    package let conflicts = Counter(
        "ingest_conflicts_total",
        "Chunks that the worker applied again, because another worker of the store had changed their reads.")
    package let storeBytes = Gauge("ingest_store_bytes", "Size of the store's file.")
    package let walBytes = Gauge("ingest_wal_bytes", "Size of the store's write-ahead log.")
    package let purged = Counters(
        "ingest_purged_total", "Records that purges by age removed; the kind is 'history', 'tombstones' or 'audit'.",
        labels: ["kind"])
    package let purgesHeld = Gauge(
        "ingest_purges_held", "1 while purges by age wait for an operator, because the clock has jumped; else 0.")

    // MARK: Notifications and the change feed

    package let historyToken = Gauge("ingest_history_token", "The last history token in the store.")
    package let notificationToken = Gauge(
        "ingest_notification_token", "The last history token whose notification was delivered.")
    package let notifications = Counter("ingest_notifications_total", "Notifications delivered.")
    package let notificationErrors = Counter(
        "ingest_notification_errors_total", "Attempts to deliver a notification that failed.")
    package let notificationsLost = Counter(
        "ingest_notifications_lost_total",
        "Transactions that the worker notified again, because the broker lost their notifications.")
    package let outboxTransactions = Gauge(
        "ingest_outbox_transactions", "History transactions that wait for notification.")
    package let outboxFull = Gauge(
        "ingest_outbox_full",
        "1 while the worker does not consume, because too many transactions wait for notification; else 0.")
    package let feedReaders = Gauge("ingest_feed_readers", "Readers of the change feed at present.")
    package let feedEvents = Counter("ingest_feed_events_total", "Events given to readers of the change feed.")

    // MARK: Partitions

    package let consumerLag = Gauges(
        "kafka_consumer_lag", "Records between the store's position and the partition's end.",
        labels: ["topic", "partition"], maximumSeries: .max)
    package let consumerLagSeconds = Gauges(
        "kafka_consumer_lag_seconds",
        "The greatest age that the records between the store's position and the partition's end can have.",
        labels: ["topic", "partition"], maximumSeries: .max)
    package let position = Gauges(
        "ingest_position", "The next offset to read, after the last commit.",
        labels: ["topic", "partition"], maximumSeries: .max)
    package let refetches = Counter(
        "ingest_partition_refetches_total", "Times that the worker fetched a stalled partition again.")

    // MARK: The worker

    package let lastErrorTimestamp = Gauge(
        "ingest_last_error_timestamp_seconds",
        "Time of the last error, in seconds since 1970; 0 without one. A broker without an answer is an "
            + "error; a closed idle connection is none.")
    package let lastCommitTimestamp = Gauge(
        "ingest_last_commit_timestamp_seconds", "Time of the last commit, in seconds since 1970; 0 without one.")
    private let build = Gauges(
        "ingest_build_info", "Versions; the value is always 1.",
        labels: ["version", "librdkafka", "sqlite"])

    /// Registers the metrics.
    ///
    /// - Parameters:
    ///   - version: The worker's version.
    ///   - librdkafka: The version of librdkafka.
    ///   - sqlite: The version of SQLite.
    ///   - hasProcess: Whether the process's own metrics are among them.
    package init(version: String, librdkafka: String, sqlite: String, hasProcess: Bool = true) {
        for stage in ["decode", "apply"] { _ = deadLetters.with(stage) }
        for part in AgedPart.allCases { _ = purged.with(part.rawValue) }
        build.with(version, librdkafka, sqlite).set(1)
        registry.addProperties(of: self)
        latency.register(in: registry)
        if hasProcess { ProcessMetrics.register(in: registry) }
    }

    /// Registers the metrics of this program.
    ///
    /// - Parameter hasProcess: Whether the process's own metrics are among them, as those of one worker of several are
    ///   not.
    package convenience init(hasProcess: Bool = true) {
        self.init(
            version: ProgramVersion.text, librdkafka: KafkaLibrary.versionString, sqlite: Store.sqliteVersion,
            hasProcess: hasProcess)
    }

    /// Sets the size of the store, where it is known.
    package func setSize(_ size: StoreSize?) {
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
    func noteError(at time: Int64) { lastErrorTimestamp.set(Double(time) / 1_000_000) }
}
