import KafkaClient

/// Holds the Kafka client's settings.
public struct KafkaSettings: Sendable, Equatable {
    /// The worker's reaction when the offset it needs is gone from the broker.
    public enum OnPositionLost: String, Sendable, CaseIterable {
        /// It stops consuming the partition and says so.
        case halt
        /// It goes on with the oldest record.
        case earliest
        /// It goes on with the next new record.
        case latest
    }

    /// The librdkafka properties, verbatim.
    public var properties = KafkaProperties([
        "bootstrap.servers": "localhost:9092",
        "group.id": "ingest-worker",
        // Without it the library takes records whose bytes were damaged on their way for sound ones.
        "check.crcs": "true",
    ])
    /// The worker's reaction when the offset it needs is gone; not given to librdkafka.
    public var onPositionLost = OnPositionLost.halt
    /// The partitions that the worker reads by itself, or nil where the group gives it some; not given to librdkafka.
    public var partitions: PartitionSelection?

    /// Creates the defaults.
    public init() {}
}

/// Holds librdkafka properties by name; no description of it shows a secret value.
public struct KafkaProperties: Sendable, Equatable {
    /// The values by property name, secrets in the clear.
    public var values: [String: String]
    /// The properties that are secret though their name does not say so: their values were read from files.
    private var secretNames: Set<String> = []

    /// Creates the properties.
    public init(_ values: [String: String] = [:]) {
        self.values = values
    }

    /// Reads or sets a property.
    public subscript(name: String) -> String? {
        get { values[name] }
        set { values[name] = newValue }
    }

    /// Lists the values that must not be shown, for the log to leave out.
    public var secretValues: [String] {
        values.filter { isSecret($0.key) }.map(\.value).sorted()
    }

    /// Sets a property whose value must not be shown.
    public mutating func setSecret(_ value: String, for name: String) {
        values[name] = value
        secretNames.insert(name)
    }

    private func isSecret(_ name: String) -> Bool { secretNames.contains(name) || SecretName.matches(name) }

    /// Returns a property's value as it may be shown.
    func shown(_ value: String, of name: String) -> String { isSecret(name) ? SecretName.replacement : value }
}

extension KafkaProperties: RedactedDescription {
    /// Lists the properties in order, secrets redacted.
    public var description: String {
        values.sorted { $0.key < $1.key }
            .map { "\($0.key)=\(shown($0.value, of: $0.key))" }
            .joined(separator: " ")
    }
}

extension ConfigurationSection {
    static let kafka = ConfigurationSection(
        "kafka",
        "The Kafka client. Every key but onPositionLost and partitions is a librdkafka property, verbatim: "
            + "security.protocol, sasl.mechanisms, sasl.username, ssl.ca.location and so on. Give secrets by the "
            + "environment, INGEST_KAFKA_SASL_PASSWORD, or in files: sasl.password: "
            + "\"file:/run/secrets/sasl-password\", or INGEST_KAFKA_SASL_PASSWORD_FILE=/run/secrets/sasl-password.",
        properties: [
            Property(name: "bootstrap.servers", summary: "The brokers to begin with."),
            Property(name: "group.id", summary: "The consumer group."),
            Property(
                name: "check.crcs",
                summary: "Whether the client checks the checksums of records; false accepts damaged records."),
        ],
        keys: [
            .choice(
                "kafka.onPositionLost", \.kafka.onPositionLost,
                "The behaviour when the needed offset is gone from the broker. halt stops the partition and reports it. "
                    + "earliest and latest continue with that record. Not given to librdkafka."),
            .partitions,
        ])
}
