import Testing

@testable import KafkaClient

@Suite struct KafkaErrorTests {
    @Test func `names of the codes are the library's names`() {
        let codes: [KafkaError.Code] = [
            .allBrokersDown, .transport, .resolve, .authentication, .tls, .timedOut, .messageTimedOut, .queueFull,
            .purgedFromQueue, .purgedInFlight, .partitionEnd, .autoOffsetReset, .offsetOutOfRange,
            .maximumPollIntervalExceeded, .wrongState, .fatal, .unknownTopic, .unknownPartition,
            .unknownTopicOrPartition, .topicAlreadyExists, .messageTooLarge, .notLeaderForPartition,
            .illegalGeneration, .rebalanceInProgress, .unknownMember, .notEnoughReplicas, .requestTimedOut,
            .coordinatorNotAvailable,
        ]
        for code in codes { #expect(code.number != nil, "\(code)") }
        #expect(Set(codes).count == codes.count)
        #expect(KafkaError.Code.closed.number == nil)
    }

    @Test func `a broker's answer differs from no answer`() {
        #expect(KafkaError.Code.unknownMember.isFromBroker && KafkaError.Code.rebalanceInProgress.isFromBroker)
        #expect(!KafkaError.Code.timedOut.isFromBroker && !KafkaError.Code.closed.isFromBroker)
    }

    @Test func `description says what where and what to do`() {
        let error = KafkaError(.messageTooLarge, topicPartition: TopicPartition("chat", 3))
        #expect(error.description.contains("MSG_SIZE_TOO_LARGE"))
        #expect(error.description.contains("chat/3"))
        #expect(error.description.contains("message.max.bytes"))
        #expect(!error.isRetriable)
    }

    @Test func `fatal errors are not retriable`() {
        #expect(KafkaError(.queueFull).isRetriable)
        #expect(!KafkaError(.queueFull, isFatal: true).isRetriable)
        #expect(KafkaError(.fatal).isFatal)
    }

    @Test func `every code has a remedy`() {
        #expect(KafkaError(KafkaError.Code("SOMETHING_NEW")).remedy.isEmpty == false)
        #expect(KafkaError(.coordinatorNotAvailable).remedy == "Try again.")
    }
}
