extension ConfigurationKey {
    /// Lists every setting with a name of its own, in the order of the documentation.
    ///
    /// Besides these, `kafka.PROPERTY` sets the librdkafka property of that name.
    public static let known: [ConfigurationKey] = main + registry + bounds + outputs + operation

    private static let largest = Int(Int32.max)

    private static let main: [ConfigurationKey] = [
        .text("model", \.model, "The model: a YAML file, or a .xcdatamodel or .xcdatamodeld folder."),
        .text("author", \.author, "The author that history transactions carry."),
        .text(
            "store.path", \.store.path,
            "The SQLite file; its folder is made when it is missing. {partition} stands for kafka.partitions."),
        .secret(
            "store.url", \.store.url, fault: WorkerConfiguration.faultOfStoreURL,
            remedy: "Write it as postgres://USER@HOST:5432/DATABASE?schema=NAME.",
            "The PostgreSQL database that holds the store instead of a file. file:PATH reads the URL from a file."),
        .choice(
            "store.writers", \.store.writers,
            "Whether one worker owns the store, or many of a consumer group share it; many needs store.url."),
        .integer(
            "store.cacheMegabytes", \.store.cacheMegabytes, 1...65_536,
            "The page cache of the writing connection, in megabytes."),
        .integer(
            "store.busyTimeoutMilliseconds", \.store.busyTimeoutMilliseconds, 0...3_600_000,
            "How long to wait for a lock that another process holds."),
        .topics,
        .routes,
        .files,
        .choice(
            "kafka.onPositionLost", \.kafka.onPositionLost,
            "What to do when the needed offset is gone from the broker: halt the partition, or go on with the earliest "
                + "or latest record. Not given to librdkafka."),
        .partitions,
    ]

    private static let registry: [ConfigurationKey] = [
        .optionalText(
            "schemaRegistry.url", \.schemaRegistry.url,
            "The schema registry for records of Avro and Protobuf; several addresses with commas. null asks none."),
        .optionalText(
            "schemaRegistry.username", \.schemaRegistry.username, "The user's name for basic authentication."),
        .secret(
            "schemaRegistry.password", \.schemaRegistry.password, fault: SchemaRegistryConfiguration.faultOfSecret,
            remedy: "Write it in one line.",
            "The user's password for basic authentication. file:PATH reads it from a file."),
        .secret(
            "schemaRegistry.bearerToken", \.schemaRegistry.bearerToken,
            fault: SchemaRegistryConfiguration.faultOfSecret, remedy: "Write it in one line.",
            "A token instead of a user's name. file:PATH reads it from a file."),
        .optionalText(
            "schemaRegistry.caFile", \.schemaRegistry.caFile,
            "The authorities that may sign the registry's certificate; null takes the system's."),
        .integer(
            "schemaRegistry.timeoutSeconds", \.schemaRegistry.timeoutSeconds, 1...60,
            "The time that the registry has for an answer."),
    ]

    private static let bounds: [ConfigurationKey] = [
        .integer(
            "chunk.maxOperations", \.chunk.maxOperations, 1...1_000_000, "A chunk closes at this number of operations."),
        .integer(
            "chunk.maxBacklogOperations", \.chunk.maxBacklogOperations, 1...1_000_000,
            "With backlog, chunks grow up to this number of operations."),
        .integer("chunk.maxBytes", \.chunk.maxBytes, 1...largest, "A chunk closes at this size of its records."),
        .integer(
            "chunk.maxMilliseconds", \.chunk.maxMilliseconds, 1...600_000,
            "A chunk closes at this age, in milliseconds."),
        .integer(
            "chunk.threads", \.chunk.threads, 1...2,
            "With 1, one thread decodes and saves; with 2, one saves a chunk while another decodes the next."),
        .integer(
            "commit.maxRows", \.commit.maxRows, 1...largest,
            "With backlog, a chunk grows while it writes no more rows than this."),
        .integer(
            "commit.maxMilliseconds", \.commit.maxMilliseconds, 0...600_000,
            "With backlog, a chunk grows while its commit follows its first record within this time."),
        .integer(
            "limits.maxRecordBytes", \.limits.maxRecordBytes, 1...largest, "A larger record becomes a dead letter."),
        .integer("limits.maxDepth", \.limits.maxDepth, 1...1_024, "A record nested deeper becomes a dead letter."),
        .integer(
            "limits.maxElements", \.limits.maxElements, 1...10_000_000,
            "A record that routes split into more objects becomes a dead letter."),
        .integer(
            "limits.maxProgramMegabytes", \.limits.maxProgramMegabytes, 16...2_048,
            "The memory for a route's jq program, in megabytes; a record that needs more becomes a dead letter."),
        .integer(
            "limits.maxProgramMilliseconds", \.limits.maxProgramMilliseconds, 10...5_000,
            "The processor time of a jq program for a record; a record that needs more becomes a dead letter."),
    ]

    private static let outputs: [ConfigurationKey] = [
        .optionalText(
            "notifications.topic", \.notifications.topic,
            "The topic for change notifications; null sends none to Kafka."),
        .choice(
            "notifications.granularity", \.notifications.granularity,
            "A notification for each transaction, or for each changed object."),
        .boolean(
            "notifications.values", \.notifications.values, "Whether a notification about an object holds its values."),
        .integer(
            "notifications.maxBytes", \.notifications.maxBytes, 1_024...largest,
            "A larger notification is split; keep it under the broker's message limit."),
        .boolean(
            "notifications.transactional", \.notifications.transactional,
            "Whether batches of notifications are sent in Kafka transactions, together with their last token."),
        .integer(
            "notifications.maxOutboxTransactions", \.notifications.maxOutboxTransactions, 0...largest,
            "At this number of transactions that wait to be notified, consuming rests until they are; 0 sets no limit."),
        .optionalText(
            "deadLetters.topic", \.deadLetters.topic,
            "The topic that also gets the dead letters; null keeps them in the store only."),
        .integer(
            "deadLetters.maxBytes", \.deadLetters.maxBytes, 4_096...largest,
            "The value of a larger record for the topic is cut; keep it under the broker's message limit."),
        .integer(
            "deadLetters.maxUnsent", \.deadLetters.maxUnsent, 0...largest,
            "When so many dead letters wait for the topic, reading waits too; 0 is no limit."),
        .integer(
            "history.keepDays", \.history.keepDays, 0...36_500,
            "History that every reader has seen is purged at this age."),
        .integer(
            "history.purgeEveryMinutes", \.history.purgeEveryMinutes, 1...525_600, "The time between two purges."),
        .boolean(
            "history.indexObjects", \.history.indexObjects,
            "Whether the history has an index by object; writing takes about a quarter more time with it."),
        .integer(
            "tombstones.keepDays", \.tombstones.keepDays, 0...36_500,
            "Tombstones are purged at this age; keep them for longer than an event can be late. 0 keeps them all."),
        .integer(
            "audit.keepDays", \.audit.keepDays, 0...36_500,
            "Entries of the audit, with their idempotency keys, are purged at this age. 0 keeps them all."),
    ]

    private static let operation: [ConfigurationKey] = [
        .choice(
            "errors.tolerance", \.errors.tolerance,
            "all: a bad record becomes a dead letter. none: it stops the worker."),
        .integer(
            "errors.retryTimeoutSeconds", \.errors.retryTimeoutSeconds, 0...31_536_000,
            "How long the store, the broker or a delivery may fail before the worker ends with 75; 0 sets no limit."),
        .optionalText(
            "backup.folder", \.backup.folder,
            "The folder of the backups that are taken on request; null takes none."),
        .boolean("http.enabled", \.http.enabled, "Whether there is an HTTP server."),
        .boolean(
            "http.console", \.http.console,
            "Whether the server has the console, which shows objects and the bytes of dead letters."),
        .text("http.host", \.http.host, "The address that the HTTP server listens on."),
        .integer(
            "http.port", \.http.port, 0...65_535, "The port of the HTTP server; 0 takes any free one and prints it."),
        .secret(
            "http.bearerToken", \.http.bearerToken, fault: BearerToken.fault,
            remedy: "Make one with 'openssl rand -hex 32'.",
            "The token that all paths but the probes ask for; null asks for none. file:PATH reads it from a file."),
        .secret(
            "http.operatorToken", \.http.operatorToken, fault: BearerToken.fault,
            remedy: "Make one with 'openssl rand -hex 32'.",
            "The token for administrative requests, not that for reading; null turns them off. file:PATH reads it from "
                + "a file."),
        .optionalText(
            "http.allowedHosts", \.http.allowedHosts,
            "The names in Host by which requests may ask, beside addresses, localhost and http.host; with commas. Readers "
                + "with a token, or at another address than loopback, may ask by any."),
        .boolean(
            "http.allowUnauthenticated", \.http.allowUnauthenticated,
            "Whether other machines may be served without a token."),
        .integer("http.maxConnections", \.http.maxConnections, 8...10_000, "The open connections at most."),
        .integer(
            "http.maxFeedReaders", \.http.maxFeedReaders, 1...10_000,
            "The readers of the change feed at most, three fewer than connections."),
        .choice("log.level", \.log.level, "The lowest level that is logged."),
        .choice("log.format", \.log.format, "The form of a log line."),
        .integer(
            "shutdown.drainSeconds", \.shutdown.drainSeconds, 0...3_600,
            "The time to finish open chunks and notifications at the end."),
        .integer(
            "lease.ttlSeconds", \.lease.ttlSeconds, 1...3_600,
            "How long a writer owns the store without renewing its lease."),
    ]

    static let byPath: [String: ConfigurationKey] = Dictionary(
        known.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })

    /// The first parts of dotted names.
    static let sections: Set<String> = Set(
        known.compactMap { key in key.path.firstIndex(of: ".").map { String(key.path[..<$0]) } })
}
