import TestSupport
import Testing

@testable import KafkaClient

@Suite struct EmbeddedBrokerTests {
    @Test func `metadata lists brokers and partitions`() throws {
        let broker = try EmbeddedBroker(brokers: 3)
        try broker.createTopic("t", partitions: 2, replicationFactor: 3)
        try broker.setLeader(of: TopicPartition("t", 0), broker: 2)
        let admin = try Admin(configuration: broker.configuration())
        let metadata = try admin.metadata(topic: "t")
        #expect(Set(metadata.brokers.map(\.id)) == [1, 2, 3])
        #expect(metadata.topics["t"]?.map(\.number).sorted() == [0, 1])
        #expect(metadata.topics["t"]?.first { $0.number == 0 }?.leader == 2)
        #expect(try admin.metadata().topics.keys.sorted() == ["t"])
    }

    @Test func `bad arguments are errors`() throws {
        #expect(codeOf { _ = try EmbeddedBroker(brokers: 0) } == .invalidArgument)
        let broker = try EmbeddedBroker()
        try broker.createTopic("t", partitions: 1)
        #expect(codeOf { try broker.createTopic("t", partitions: 1) } == .topicAlreadyExists)
        #expect(codeOf { try broker.failNext(.produce, with: [.closed]) } == .invalidArgument)
    }

    @Test func `a broker goes down and comes back`() async throws {
        let broker = try EmbeddedBroker()
        try broker.createTopic("t", partitions: 1)
        let producer = try Producer(configuration: broker.configuration(["reconnect.backoff.max.ms": "200"]))
        _ = try await producer.send(topic: "t", partition: 0, value: bytes("1"))
        try broker.setDown()
        try producer.enqueue(ProducerRecord(topic: "t", partition: 0, value: bytes("2")))
        #expect(codeOf { try producer.flush(timeoutMilliseconds: 300) } == .timedOut)
        try broker.setUp()
        try producer.flush(timeoutMilliseconds: patientMilliseconds)
        try producer.close()
        let consumer = try broker.consumer(["t"])
        #expect(try consumer.read(2).map(\.value) == ["1", "2"])
        try consumer.close()
    }

    @Test func `an unreachable broker is an error`() throws {
        let configuration: KafkaConfiguration = ["bootstrap.servers": "127.0.0.1:1"]
        let admin = try Admin(configuration: configuration)
        let error = #expect(throws: KafkaError.self) { _ = try admin.metadata(timeoutMilliseconds: 500) }
        #expect(error?.isRetriable == true)
    }
}
