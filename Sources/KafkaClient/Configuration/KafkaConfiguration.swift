/// Holds librdkafka properties by name, verbatim, and the handlers for what the library reports.
///
/// Properties that the user sets always win over the client's defaults, see `consumerDefaults` and `producerDefaults`.
/// A name or a value that librdkafka refuses shows when a client is made with it.
public struct KafkaConfiguration: Sendable, ExpressibleByDictionaryLiteral {
    /// Receives the library's log lines: syslog level (0 emergency … 7 debug), facility, message.
    /// It runs on the library's threads.
    public typealias LogHandler = @Sendable (_ level: Int, _ facility: String, _ message: String) -> Void
    /// Receives errors that belong to no call, such as `_ALL_BROKERS_DOWN`, refused credentials or fatal errors.
    public typealias ErrorHandler = @Sendable (KafkaError) -> Void
    /// Receives one statistics document (JSON, UTF-8) every `statistics.interval.ms`. The bytes last for the call.
    public typealias StatisticsHandler = @Sendable (UnsafeRawBufferPointer) -> Void

    /// The properties by name.
    public var properties: [String: String]
    /// Receives log lines; silent by default.
    public var onLog: LogHandler?
    /// Receives errors that belong to no call.
    public var onError: ErrorHandler?
    /// Receives statistics, if `statistics.interval.ms` is set.
    public var onStatistics: StatisticsHandler?

    /// Makes a configuration from properties.
    public init(_ properties: [String: String] = [:]) {
        self.properties = properties
    }

    /// Makes a configuration from a literal.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(Dictionary(elements, uniquingKeysWith: { $1 }))
    }

    /// Reads or sets one property.
    public subscript(property: String) -> String? {
        get { properties[property] }
        set { properties[property] = newValue }
    }

    /// Sets one property on a copy.
    public func setting(_ property: String, to value: String?) -> KafkaConfiguration {
        var copy = self
        copy[property] = value
        return copy
    }
}

extension KafkaConfiguration: RedactedDescription {
    /// Prints the properties with the values of secrets hidden.
    public var description: String {
        properties.sorted { $0.key < $1.key }
            .map { "\($0.key)=\(ConfigurationRules.isSecret($0.key) ? "[hidden]" : $0.value)" }
            .joined(separator: " ")
    }
}

extension KafkaConfiguration {
    /// The properties that the consumer uses where the user sets none.
    ///
    /// The store keeps the offsets, so the library neither commits nor stores any. An offset out of range is an error
    /// and never a jump. The queue holds at most 16 MiB. A smaller `queued.max.messages.kbytes`, or a small
    /// `queued.min.messages`, makes the library stop fetching between batches. That costs over nine tenths of the rate.
    public static let consumerDefaults: [String: String] = [
        "enable.auto.commit": "false",
        "enable.auto.offset.store": "false",
        "auto.offset.reset": "error",
        "enable.partition.eof": "false",
        "queued.max.messages.kbytes": "16384",
        "partition.assignment.strategy": "range",
    ]

    /// The properties that the producer uses where the user sets none.
    public static let producerDefaults: [String: String] = ["enable.idempotence": "true"]
}
