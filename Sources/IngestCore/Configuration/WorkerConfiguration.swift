import RecordDecoding

/// Holds every setting of the worker.
///
/// `WorkerConfiguration()` has the defaults, and no other place states them. The declarations in `ConfigurationSection`
/// stand beside the values that they describe. Use ``load(file:settings:environment:)``
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

extension ConfigurationSection {
    /// The settings without a section that stand before those of the store.
    static let general = ConfigurationSection(keys: [
        .text(
            "model", \.model,
            "The model: a YAML file, or a .xcdatamodel or .xcdatamodeld folder; docs/reference/model.md explains it."),
        .text("author", \.author, "The author that history transactions and notifications carry."),
    ])

    /// The settings that say what is read.
    static let sources = ConfigurationSection(keys: [.topics, .routes, .files])
}
