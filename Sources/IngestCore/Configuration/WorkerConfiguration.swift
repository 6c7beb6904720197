import KafkaClient
import Logging

/// Holds every setting of the worker.
///
/// `WorkerConfiguration()` has the defaults, and is the only place that states them. Use ``load(file:settings:environment:)``
/// to read a file, flags and environment variables over them.
public struct WorkerConfiguration: Sendable, Equatable {
    /// The model: a YAML file, or a `.xcdatamodel` or `.xcdatamodeld` folder, relative to the working directory.
    public var model = "config/models/chat.yaml"
    /// The author that history transactions carry.
    public var author = "ingest-worker"
    /// The store.
    public var store = StoreConfiguration()
    /// The topics to consume, each with its format and routes.
    public var topics = [TopicConfiguration(name: "chat-events")]
    /// The routes of all topics and files, tried after their own.
    public var routes: [RouteConfiguration] = []
    /// How replayed files are read, by name; the first match wins.
    public var files: [FileConfiguration] = []
    /// The Kafka client.
    public var kafka = KafkaSettings()
    /// The registry of the schemas that records name.
    public var schemaRegistry = SchemaRegistryConfiguration()
    /// When a chunk closes.
    public var chunk = ChunkConfiguration()
    /// How far chunks grow when there is backlog.
    public var commit = CommitConfiguration()
    /// The notifications about committed changes.
    public var notifications = NotificationConfiguration()
    /// The dead letters.
    public var deadLetters = DeadLetterConfiguration()
    /// How long the history is kept.
    public var history = HistoryConfiguration()
    /// How long deleted identities are remembered.
    public var tombstones = TombstoneConfiguration()
    /// How long administrative requests are kept.
    public var audit = AuditConfiguration()
    /// The backups that are taken on request.
    public var backup = BackupConfiguration()
    /// The HTTP server.
    public var http = HTTPConfiguration()
    /// The log.
    public var log = LogConfiguration()
    /// The limits on a record.
    public var limits = LimitConfiguration()
    /// The handling of a record that cannot be decoded or applied.
    public var errors = ErrorConfiguration()
    /// The end of the process.
    public var shutdown = ShutdownConfiguration()
    /// The lease that keeps a second writer out.
    public var lease = LeaseConfiguration()

    /// Creates the default configuration.
    public init() {}
}

/// Says where the store is and what it may use.
public struct StoreConfiguration: Sendable, Equatable {
    /// The placeholder for `kafka.partitions` in a path that is read from a source.
    public static let partitionMark = "{partition}"

    /// The SQLite file, relative to the working directory.
    public var path = "data/ingest.sqlite"
    /// The URL of a PostgreSQL database that holds the store instead of a file, or nil.
    public var url: String?
    /// How many workers write a store in PostgreSQL at the same time.
    public var writers = Writers.one
    /// The page cache of the writing connection, in megabytes.
    public var cacheMegabytes = 16
    /// How long to wait for a lock that another process holds, in milliseconds.
    public var busyTimeoutMilliseconds = 5_000

    /// How many workers write a store.
    public enum Writers: String, Sendable, CaseIterable {
        /// One worker owns the store.
        case one
        /// The workers of a consumer group share the store.
        case many
    }

    /// Creates the defaults.
    public init() {}
}

/// Bounds a chunk: the first bound that is reached closes it, and commits it.
public struct ChunkConfiguration: Sendable, Equatable {
    /// The number of operations while the worker keeps up.
    public var maxOperations = 500
    /// The number of operations up to which chunks grow while records wait; no chunk grows unless it is more than
    /// `maxOperations`.
    public var maxBacklogOperations = 20_000
    /// The size of the records, in bytes.
    public var maxBytes = 8_388_608
    /// The time since the chunk's first record, in milliseconds.
    public var maxMilliseconds = 200
    /// The number of threads: with 1, one decodes and saves; with 2, one saves a chunk while the other decodes the next.
    public var threads = 1

    /// Creates the defaults.
    public init() {}
}

/// Bounds the growth of chunks when there is backlog: each full chunk doubles the next within these bounds.
public struct CommitConfiguration: Sendable, Equatable {
    /// The number of rows that a chunk writes.
    public var maxRows = 100_000
    /// The time from a chunk's first record to its commit, in milliseconds.
    public var maxMilliseconds = 1000

    /// Creates the defaults.
    public init() {}
}

/// Says what notifications are sent, and where.
public struct NotificationConfiguration: Sendable, Equatable {
    /// The scope of one notification.
    public enum Granularity: String, Sendable, CaseIterable {
        /// A notification for each committed transaction.
        case transaction
        /// A notification for each changed object, keyed by entity and identity.
        case object
    }

    /// The topic, or nil when no notifications are sent to Kafka.
    public var topic: String? = "ingest.changes"
    /// The scope of one notification.
    public var granularity = Granularity.transaction
    /// Whether a notification about an object holds the object's values.
    public var values = false
    /// The size at which a notification is split, in bytes.
    public var maxBytes = 900_000
    /// Whether batches of notifications are sent in Kafka transactions.
    public var transactional = false
    /// The transactions that may wait to be notified before the worker pauses consuming; 0 sets no limit.
    public var maxOutboxTransactions = 1_000_000

    /// Creates the defaults.
    public init() {}
}

/// Says where dead letters go besides the store.
public struct DeadLetterConfiguration: Sendable, Equatable {
    /// The topic, or nil when dead letters are kept in the store only.
    public var topic: String?
    /// The size of a record for the topic above which its value is cut, in bytes; the store keeps the whole.
    public var maxBytes = 900_000
    /// The number of dead letters that may wait for the topic before reading waits too; 0 is no limit.
    public var maxUnsent = 100_000

    /// Creates the defaults.
    public init() {}
}

/// Says how long the history is kept.
public struct HistoryConfiguration: Sendable, Equatable {
    /// The age at which history may be purged, in days.
    public var keepDays = 7
    /// The time between two purges, in minutes.
    public var purgeEveryMinutes = 60
    /// Whether the history has an index by object.
    public var indexObjects = false

    /// Creates the defaults.
    public init() {}
}

/// Says how long deleted identities are remembered.
public struct TombstoneConfiguration: Sendable, Equatable {
    /// The age at which a tombstone is purged, in days; 0 keeps tombstones permanently.
    public var keepDays = 0

    /// Creates the defaults.
    public init() {}
}

/// Says how long the audit's entries are kept.
public struct AuditConfiguration: Sendable, Equatable {
    /// The age at which an entry is purged, in days; 0 keeps entries permanently.
    public var keepDays = 365

    /// Creates the defaults.
    public init() {}
}

/// Says where backups go.
public struct BackupConfiguration: Sendable, Equatable {
    /// The folder of the backups that are taken on request, or nil where none are.
    public var folder: String?

    /// Creates the defaults.
    public init() {}
}

/// Says where the HTTP server listens.
public struct HTTPConfiguration: Sendable, Equatable {
    /// The address or host name.
    public var host = "127.0.0.1"
    /// The port; 0 takes any free one.
    public var port = 8080
    /// Whether there is an HTTP server.
    public var enabled = true
    /// Whether the server has the console, which shows objects and the bytes of dead letters.
    public var console = true
    /// The token that all paths but the probes ask for, or nil where none is asked for.
    public var bearerToken: String?
    /// The token that administrative requests ask for, or nil where there are none over HTTP.
    public var operatorToken: String?
    /// The names by which a proxy or a reader may ask, beside addresses, `localhost` and `host`; with commas.
    public var allowedHosts: String?
    /// Whether other machines may be served without a token.
    public var allowUnauthenticated = false
    /// The open connections at most.
    public var maxConnections = 64
    /// The readers of the change feed at most, three fewer than connections.
    public var maxFeedReaders = 48

    /// Creates the defaults.
    public init() {}

    /// Whether only this machine reaches the address.
    public var isLoopback: Bool {
        let name = host.lowercased()
        if name == "localhost" || name == "::1" { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

extension HTTPConfiguration: RedactedDescription {
    /// Lists the settings without the token.
    public var description: String {
        "host=\(host) port=\(port) enabled=\(enabled) bearerToken=\(bearerToken == nil ? "null" : SecretName.replacement)"
    }
}

/// Says what is logged, and how.
public struct LogConfiguration: Sendable, Equatable {
    /// The lowest level that is written.
    public var level = Logger.Level.info
    /// The form of a line.
    public var format = LogFormat.text

    /// Creates the defaults.
    public init() {}
}

/// Bounds what one record may ask of the worker.
public struct LimitConfiguration: Sendable, Equatable {
    /// The size above which a record is a dead letter, in bytes.
    public var maxRecordBytes = 16_777_216
    /// The nesting above which a record is a dead letter.
    public var maxDepth = 64
    /// The number of elements above which a record that routes split is a dead letter.
    public var maxElements = 100_000
    /// The memory of the process that runs a route's program, in megabytes.
    public var maxProgramMegabytes = 256
    /// The processor time that a route's program has for a record, in milliseconds.
    public var maxProgramMilliseconds = 1000

    /// Creates the defaults.
    public init() {}
}

/// Says what a record that cannot be decoded or applied does, and for how long what fails is tried again.
public struct ErrorConfiguration: Sendable, Equatable {
    /// How bad records are met.
    public enum Tolerance: String, Sendable, CaseIterable {
        /// A bad record becomes a dead letter, and the worker goes on.
        case all
        /// A bad record stops the worker.
        case none
    }

    /// How bad records are met.
    public var tolerance = Tolerance.all
    /// How long the store, the broker or a delivery may fail before the worker ends, in seconds; 0 sets no limit.
    public var retryTimeoutSeconds = 0

    /// Creates the defaults.
    public init() {}
}

/// Bounds the end of the process.
public struct ShutdownConfiguration: Sendable, Equatable {
    /// The time to finish open chunks and notifications, in seconds.
    public var drainSeconds = 10

    /// Creates the defaults.
    public init() {}
}

/// Says how long a writer owns the store without renewing its lease.
public struct LeaseConfiguration: Sendable, Equatable {
    /// The time to live, in seconds.
    public var ttlSeconds = 10

    /// Creates the defaults.
    public init() {}
}
