import Testing

@testable import KafkaClient

/// Which events of a poll are for this consumer.
@Suite struct MessageSorterTests {
    private func event(_ place: TopicPartition?, isFatal: Bool = false) -> ConsumerEvent {
        ConsumerEvent(
            topicPartition: place, offset: nil,
            error: KafkaError(.offsetOutOfRange, topicPartition: place, isFatal: isFatal))
    }

    @Test func `events of partitions that are gone are not`() {
        let sorter = MessageSorter(assigned: [TopicPartition("t", 1)])
        #expect(sorter.isForHere(event(TopicPartition("t", 1))))
        #expect(!sorter.isForHere(event(TopicPartition("t", 2))))
        #expect(!sorter.isForHere(event(TopicPartition("other", 1))))
    }

    @Test func `events of whole topics of the client and of its end are`() {
        let sorter = MessageSorter(assigned: [])
        #expect(sorter.isForHere(event(nil)))
        #expect(sorter.isForHere(event(TopicPartition("t", -1))))
        #expect(sorter.isForHere(event(TopicPartition("t", 1), isFatal: true)))
    }
}
