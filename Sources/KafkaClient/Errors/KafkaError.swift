/// Reports a failure between this process and Kafka, and its remedy.
///
/// The description never holds a payload, nor the value of a secret property.
public struct KafkaError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure: librdkafka's error name, or one of this client's own codes.
    public let code: Code
    /// The failure in words.
    public let message: String
    /// The partition concerned, if there is one.
    public let topicPartition: TopicPartition?
    /// Whether the same call can succeed later without any change.
    public let isRetriable: Bool
    /// Whether the client that reported it can no longer be used.
    public let isFatal: Bool

    /// Makes an error; what is not said follows from the code.
    public init(
        _ code: Code, _ message: String? = nil, topicPartition: TopicPartition? = nil,
        isRetriable: Bool? = nil, isFatal: Bool = false
    ) {
        self.code = code
        self.message = message ?? code.libraryText
        self.topicPartition = topicPartition
        self.isRetriable = !isFatal && (isRetriable ?? code.isRetriable)
        self.isFatal = isFatal || code == .fatal
    }

    /// The remedy for the failure.
    public var remedy: String { code.remedy }

    /// Prints the code, the partition, the message and the remedy.
    public var description: String {
        let place = topicPartition.map { " at \($0)" } ?? ""
        let end = message.hasSuffix(".") ? "" : "."
        return "Kafka \(code)\(place): \(message)\(end) \(remedy)"
    }
}

extension KafkaError {
    /// Names a kind of failure by a stable text: librdkafka's names (`_ALL_BROKERS_DOWN`, `TOPIC_ALREADY_EXISTS`),
    /// or this client's own, which begin with `CLIENT_`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The stable text.
        public let name: String

        /// Makes a code from its stable text.
        public init(_ name: String) { self.name = name }

        /// Prints the stable text.
        public var description: String { name }

        /// Tells whether a broker said it, and not a client that got no answer.
        public var isFromBroker: Bool { !name.hasPrefix("_") && !name.hasPrefix("CLIENT_") }
    }
}

extension KafkaError.Code {
    /// The configuration names a property that librdkafka does not know.
    public static let unknownProperty = Self("CLIENT_UNKNOWN_PROPERTY")
    /// The configuration gives a property a value that librdkafka refuses.
    public static let invalidProperty = Self("CLIENT_INVALID_PROPERTY")
    /// The configuration needs a newer librdkafka.
    public static let unsupportedByLibrary = Self("CLIENT_UNSUPPORTED_BY_LIBRARY")
    /// The client could not be created.
    public static let creationFailed = Self("CLIENT_CREATION_FAILED")
    /// The client was closed before the call.
    public static let closed = Self("CLIENT_CLOSED")
    /// Another thread is inside a call that allows one thread at a time.
    public static let busy = Self("CLIENT_BUSY")
    /// A call's argument cannot be used.
    public static let invalidArgument = Self("CLIENT_INVALID_ARGUMENT")

    /// No broker of the cluster can be reached.
    public static let allBrokersDown = Self("_ALL_BROKERS_DOWN")
    /// An established connection to a broker has ended; what answers next may be another broker.
    public static let connectionLost = Self("CLIENT_CONNECTION_LOST")
    /// The connection broke.
    public static let transport = Self("_TRANSPORT")
    /// Host name resolution failed.
    public static let resolve = Self("_RESOLVE")
    /// The broker refused the credentials.
    public static let authentication = Self("_AUTHENTICATION")
    /// The TLS handshake or a certificate failed.
    public static let tls = Self("_SSL")
    /// The broker's certificate has expired, or is not valid yet.
    public static let certificateExpired = Self("CLIENT_TLS_CERTIFICATE_EXPIRED")
    /// The broker's certificate is for another host name or address.
    public static let certificateName = Self("CLIENT_TLS_CERTIFICATE_NAME")
    /// The broker's certificate is of no authority that is trusted.
    public static let certificateUntrusted = Self("CLIENT_TLS_CERTIFICATE_UNTRUSTED")
    /// The broker asks for a certificate of the client, and got none.
    public static let certificateRequired = Self("CLIENT_TLS_CERTIFICATE_REQUIRED")
    /// The listener wants TLS, and the client speaks without.
    public static let tlsExpected = Self("CLIENT_TLS_EXPECTED")
    /// The listener is without TLS, and the client speaks TLS.
    public static let tlsNotExpected = Self("CLIENT_TLS_NOT_EXPECTED")
    /// The call did not finish in time.
    public static let timedOut = Self("_TIMED_OUT")
    /// The record was not delivered within `message.timeout.ms`.
    public static let messageTimedOut = Self("_MSG_TIMED_OUT")
    /// The producer's queue is full.
    public static let queueFull = Self("_QUEUE_FULL")
    /// The record was dropped from the producer's queue.
    public static let purgedFromQueue = Self("_PURGE_QUEUE")
    /// The record was dropped while on its way: it may have been written.
    public static let purgedInFlight = Self("_PURGE_INFLIGHT")
    /// The reader reached the end of a partition.
    public static let partitionEnd = Self("_PARTITION_EOF")
    /// There is no valid offset to start from and `auto.offset.reset` is `error`.
    public static let autoOffsetReset = Self("_AUTO_OFFSET_RESET")
    /// The offset is not in the partition's range.
    public static let offsetOutOfRange = Self("OFFSET_OUT_OF_RANGE")
    /// `poll` was not called within `max.poll.interval.ms`.
    public static let maximumPollIntervalExceeded = Self("_MAX_POLL_EXCEEDED")
    /// The client's state does not allow the call now.
    public static let wrongState = Self("_STATE")
    /// Something later overtook the call, which had no effect.
    public static let outdated = Self("_OUTDATED")
    /// The client met an error that it cannot recover from.
    public static let fatal = Self("_FATAL")
    /// The client does not know the topic.
    public static let unknownTopic = Self("_UNKNOWN_TOPIC")
    /// The client does not know the partition.
    public static let unknownPartition = Self("_UNKNOWN_PARTITION")
    /// The broker does not have the topic or partition.
    public static let unknownTopicOrPartition = Self("UNKNOWN_TOPIC_OR_PART")
    /// A topic of this name is already there.
    public static let topicAlreadyExists = Self("TOPIC_ALREADY_EXISTS")
    /// The record is larger than the client or the broker allows.
    public static let messageTooLarge = Self("MSG_SIZE_TOO_LARGE")
    /// The broker is not the partition's leader any more.
    public static let notLeaderForPartition = Self("NOT_LEADER_FOR_PARTITION")
    /// The group went on to a newer generation.
    public static let illegalGeneration = Self("ILLEGAL_GENERATION")
    /// The group is rebalancing.
    public static let rebalanceInProgress = Self("REBALANCE_IN_PROGRESS")
    /// The group does not know this member.
    public static let unknownMember = Self("UNKNOWN_MEMBER_ID")
    /// Too few replicas are in sync.
    public static let notEnoughReplicas = Self("NOT_ENOUGH_REPLICAS")
    /// The request took too long on the broker.
    public static let requestTimedOut = Self("REQUEST_TIMED_OUT")
    /// The group's coordinator cannot be reached now.
    public static let coordinatorNotAvailable = Self("COORDINATOR_NOT_AVAILABLE")
}
