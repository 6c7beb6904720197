/// Says which notifications are sent, and where.
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

extension ConfigurationSection {
    static let notifications = ConfigurationSection(
        "notifications", "Notifications about committed changes, as CloudEvents.",
        keys: [
            .optionalText(
                "notifications.topic", \.notifications.topic,
                "The topic; null sends none to Kafka (the HTTP change feed stays)."),
            .choice(
                "notifications.granularity", \.notifications.granularity,
                "transaction: one notification for each committed transaction. object: one for each changed object, "
                    + "keyed by entity and identity, for compacted topics."),
            .boolean(
                "notifications.values", \.notifications.values,
                "Whether a notification about an object holds the object's values."),
            .integer(
                "notifications.maxBytes", \.notifications.maxBytes, 1_024...mostInteger,
                "A larger notification is split, in bytes; keep it under the broker's message limit."),
            .boolean(
                "notifications.transactional", \.notifications.transactional,
                "true sends each batch of notifications in a Kafka transaction, together with its last token. Readers "
                    + "with isolation.level=read_committed have each notification once, also when the worker was "
                    + "killed."),
            .integer(
                "notifications.maxOutboxTransactions", \.notifications.maxOutboxTransactions, 0...mostInteger,
                "Notifications that cannot be delivered wait in the history. At this number of waiting transactions the "
                    + "worker stops consuming, and reports it. It continues by itself when a tenth of them is "
                    + "delivered. 0 sets no limit."),
        ])

    static let deadLetters = ConfigurationSection(
        "deadLetters",
        "Records that could not be decoded or applied are kept in the store with their reason; "
            + "docs/how-to/dead-letters.md.",
        keys: [
            .optionalText(
                "deadLetters.topic", \.deadLetters.topic,
                "The topic that also gets them, with the headers of Kafka Connect's dead-letter queues; null: none."),
            .integer(
                "deadLetters.maxBytes", \.deadLetters.maxBytes, 4_096...mostInteger,
                "The value of a larger record for the topic is cut, in bytes; the store keeps the whole. Keep it under "
                    + "the broker's message limit."),
            .integer(
                "deadLetters.maxUnsent", \.deadLetters.maxUnsent, 0...mostInteger,
                "While the topic is unreachable, reading continues until this number of dead letters waits; 0: without "
                    + "a limit."),
        ])
}
