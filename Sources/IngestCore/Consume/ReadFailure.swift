import KafkaClient

/// Decides what a client's error means for the reading of a topic or partition.
enum ReadFailure: Sendable, Equatable {
    /// Nothing is read for now; the client goes on by itself, from the same record, when the cause is gone.
    case waits(reason: String, remedy: String)
    /// The broker's data there cannot be read. The client may go on behind it, so the partition has to be halted.
    case damaged(reason: String, remedy: String)

    /// Makes a failure of a client's event; nil where the event reports none.
    init?(_ event: ConsumerEvent) {
        let code = event.error.code
        if let (reason, remedy) = Self.waiting[code] {
            self = .waits(reason: reason, remedy: remedy)
        } else if let reason = Self.damages[code], let partition = event.topicPartition, partition.partition >= 0 {
            let place = event.offset.map { " at offset \($0)" } ?? ""
            self = .damaged(reason: "\(reason)\(place) (\(code): \(event.error.message))", remedy: Self.damageRemedy)
        } else {
            return nil
        }
    }

    /// The reason and the remedy for a topic that does not exist.
    static let unknown = (
        reason: "the broker does not know the topic", remedy: "make the topic, or correct 'topics'"
    )

    private static let waiting: [KafkaError.Code: (reason: String, remedy: String)] = [
        .unknownTopicOrPartition: unknown, .unknownTopic: unknown, .unknownPartition: unknown,
        KafkaError.Code("TOPIC_AUTHORIZATION_FAILED"): (
            "the broker does not let this client read the topic",
            "grant the client's user Read and Describe on the topic; it goes on by itself"
        ),
        KafkaError.Code("INVALID_MSG"): (
            "the broker says that its records are damaged",
            "repair the partition on the broker, as from another replica; it goes on by itself"
        ),
        .messageTooLarge: (
            "a record is larger than the client takes",
            "raise kafka.fetch.message.max.bytes and kafka.receive.message.max.bytes, and restart"
        ),
    ]

    /// The library goes on behind a batch whose checksum is wrong, and asks for ever for one that it cannot unpack.
    private static let damages: [KafkaError.Code: String] = [
        KafkaError.Code("_BAD_MSG"): "records are damaged, their checksum or form is wrong",
        KafkaError.Code("_BAD_COMPRESSION"): "records are damaged, they cannot be decompressed",
        KafkaError.Code("_NOT_IMPLEMENTED"): "records have a form or a compression that the client does not know",
    ]

    private static let damageRemedy =
        "repair the partition on the broker, as from another replica, or delete its records through these, and restart "
        + "with kafka.onPositionLost=earliest; nothing was skipped"
}
