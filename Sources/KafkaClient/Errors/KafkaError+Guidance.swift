extension KafkaError.Code {
    /// Whether the same call can succeed later, judged by the code alone.
    var isRetriable: Bool { Self.retriableNames.contains(name) }

    /// The remedy for a failure of this kind.
    var remedy: String {
        Self.remedies[name] ?? (isRetriable ? "Try again." : "Look the code up in librdkafka's documentation.")
    }

    private static let retriableNames: Set<String> = [
        "CLIENT_BUSY", "CLIENT_CONNECTION_LOST", "_ALL_BROKERS_DOWN", "_TRANSPORT", "_RESOLVE", "_TIMED_OUT",
        "_MSG_TIMED_OUT", "_QUEUE_FULL",
        "_TIMED_OUT_QUEUE", "_STATE", "_WAIT_COORD", "_IN_PROGRESS", "_PREV_IN_PROGRESS", "_RETRY", "_INTR",
        "_PURGE_QUEUE", "_OUTDATED", "_WAIT_CACHE", "_ASSIGNMENT_LOST", "_LEADER_LOCAL", "_MAX_POLL_EXCEEDED",
        "UNKNOWN_TOPIC_OR_PART", "LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION", "REQUEST_TIMED_OUT",
        "BROKER_NOT_AVAILABLE", "REPLICA_NOT_AVAILABLE", "NETWORK_EXCEPTION", "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "NOT_CONTROLLER", "KAFKA_STORAGE_ERROR",
        "THROTTLING_QUOTA_EXCEEDED", "UNSTABLE_OFFSET_COMMIT", "PREFERRED_LEADER_NOT_AVAILABLE",
        "OFFSET_NOT_AVAILABLE", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "CONCURRENT_TRANSACTIONS",
    ]

    private static let brokerRemedy =
        "Check bootstrap.servers, that a broker listens there, and that security.protocol matches its listener."
    private static let groupRemedy = "The group has moved on; read the partitions again after the next assignment."

    private static let remedies: [String: String] = [
        "CLIENT_UNKNOWN_PROPERTY": "Check the spelling against librdkafka's CONFIGURATION.md for this version.",
        "CLIENT_INVALID_PROPERTY": "Set a value that librdkafka's CONFIGURATION.md allows for this property.",
        "CLIENT_UNSUPPORTED_BY_LIBRARY": "Change the property, or install a newer librdkafka.",
        "CLIENT_CREATION_FAILED": "Correct the configuration that the message names.",
        "CLIENT_CLOSED": "Make a new client.",
        "CLIENT_BUSY": "Poll from one thread, and neither poll nor close inside the rebalance handler.",
        "CLIENT_CONNECTION_LOST": "Nothing needs to be done; the client connects again.",
        "CLIENT_INVALID_ARGUMENT": "Correct the argument that the message names.",
        "_ALL_BROKERS_DOWN": brokerRemedy,
        "_TRANSPORT": brokerRemedy,
        "_RESOLVE": "Check the host names in bootstrap.servers and the name service.",
        "_AUTHENTICATION": "Check sasl.mechanisms, sasl.username, sasl.password and the broker's permissions.",
        "CLIENT_TLS_CERTIFICATE_EXPIRED":
            "Renew the broker's certificate, or set the clock of the machine whose clock is wrong.",
        "CLIENT_TLS_CERTIFICATE_NAME":
            "Name the broker in bootstrap.servers and advertised.listeners as its certificate does, or give it a "
            + "certificate for that name.",
        "CLIENT_TLS_CERTIFICATE_UNTRUSTED":
            "Set ssl.ca.location to the certificate of the authority that signed the broker's.",
        "CLIENT_TLS_CERTIFICATE_REQUIRED":
            "Set ssl.certificate.location and ssl.key.location to a certificate that the broker trusts.",
        "CLIENT_TLS_EXPECTED":
            "Set security.protocol to ssl or sasl_ssl, or name the listener without TLS in bootstrap.servers.",
        "CLIENT_TLS_NOT_EXPECTED":
            "Set security.protocol to plaintext or sasl_plaintext, or name the listener with TLS in bootstrap.servers.",
        "_SSL": "Check ssl.ca.location, ssl.certificate.location, the broker's certificate and the clock.",
        "_TIMED_OUT": "Try again, or allow more time; check that the broker can be reached.",
        "_MSG_TIMED_OUT": "Check that the broker can be reached, then send the record again.",
        "_QUEUE_FULL": "Wait for deliveries (flush), then send the record again.",
        "_PURGE_QUEUE": "The record was not written; send it again with an open producer.",
        "_PURGE_INFLIGHT": "The record may have been written; readers must recognise a repeat.",
        "_PARTITION_EOF": "Nothing needs to be done.",
        "_AUTO_OFFSET_RESET": "Retained data may have been passed over: decide where to go on, then seek there.",
        "OFFSET_OUT_OF_RANGE": "Retained data may have been passed over: decide where to go on, then seek there.",
        "_MAX_POLL_EXCEEDED": "Poll more often, take smaller batches, or raise max.poll.interval.ms.",
        "_STATE": "Try again when the client has settled (an assignment may be under way).",
        "_FATAL": "Close this client and make a new one.",
        "_UNKNOWN_TOPIC": "Create the topic, or correct its name.",
        "_UNKNOWN_PARTITION": "Correct the partition number, or add partitions to the topic.",
        "UNKNOWN_TOPIC_OR_PART": "Create the topic, or correct its name and partition.",
        "TOPIC_ALREADY_EXISTS": "Use the topic that is there, or choose another name.",
        "TOPIC_EXCEPTION": "Use letters, digits, '.', '_' and '-' in topic names, at most 249 of them.",
        "TOPIC_AUTHORIZATION_FAILED": "Grant this client access to the topic.",
        "GROUP_AUTHORIZATION_FAILED": "Grant this client access to the group.",
        "CLUSTER_AUTHORIZATION_FAILED":
            "Grant this client the operation that the message names; an idempotent producer needs IdempotentWrite on the "
            + "cluster.",
        "MSG_SIZE_TOO_LARGE": "Send a smaller record, or raise message.max.bytes on the client and on the topic.",
        "ILLEGAL_GENERATION": groupRemedy,
        "REBALANCE_IN_PROGRESS": groupRemedy,
        "UNKNOWN_MEMBER_ID": groupRemedy,
        "_ASSIGNMENT_LOST": groupRemedy,
        "NOT_ENOUGH_REPLICAS": "Bring the missing replicas back, or lower min.insync.replicas.",
        "_FENCED": "Another process uses the same transactional.id or group.instance.id; stop one of them.",
    ]
}
