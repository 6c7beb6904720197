import Testing

@testable import IngestCore
@testable import KafkaClient

/// Which errors of the client stop the reading of a partition, and which halt it.
@Suite struct ReadFailureTests {
    private func failure(_ code: String, partition: Int32 = 3, offset: Int64? = nil) -> ReadFailure? {
        let place = TopicPartition("t", partition)
        return ReadFailure(
            ConsumerEvent(
                topicPartition: place, offset: offset,
                error: KafkaError(KafkaError.Code(code), "what the library says", topicPartition: place)))
    }

    @Test(arguments: ["TOPIC_AUTHORIZATION_FAILED", "INVALID_MSG", "MSG_SIZE_TOO_LARGE", "UNKNOWN_TOPIC_OR_PART"])
    func `a partition that is read again by itself waits`(code: String) {
        for partition: Int32 in [-1, 3] {
            guard case .waits(let reason, let remedy) = failure(code, partition: partition) else {
                Issue.record("\(code) was not told")
                continue
            }
            #expect(!reason.isEmpty && !remedy.isEmpty)
        }
    }

    @Test(arguments: ["_BAD_MSG", "_BAD_COMPRESSION", "_NOT_IMPLEMENTED"])
    func `records that cannot be read are damaged and named`(code: String) {
        guard case .damaged(let reason, let remedy) = failure(code, offset: 42) else {
            Issue.record("\(code) did not halt the partition")
            return
        }
        #expect(reason.contains("offset 42") && reason.contains(code))
        #expect(remedy.contains("onPositionLost"))
        #expect(failure(code, partition: -1) == nil)
    }

    @Test func `a transient error is no read failure`() {
        for code in ["_TRANSPORT", "_PARTITION_EOF", "NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE"] {
            #expect(failure(code) == nil)
        }
    }
}
