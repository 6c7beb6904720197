import KafkaClient
import TestSupport
import Testing

@testable import IngestCore

/// The delivery of records to a topic through failures of the broker and of the producer.
@Suite(.serialized, .timeLimit(.minutes(60))) struct RecordSinkTests {
    private let broker: EmbeddedBroker

    init() throws {
        broker = try EmbeddedBroker()
        try broker.createTopic("out", partitions: 1)
    }

    private func sink(_ properties: [String: String] = [:]) throws -> KafkaRecordSink {
        try KafkaRecordSink(
            configuration: KafkaConfiguration(
                properties.merging(["bootstrap.servers": broker.bootstrapServers]) { own, _ in own }),
            timeoutMilliseconds: 500)
    }

    private func records(_ numbers: ClosedRange<Int>) -> [ProducerRecord] {
        numbers.map { ProducerRecord(topic: "out", partition: 0, value: Array("\($0)".utf8)) }
    }

    /// Half a second may be too short for a connection.
    private func deliver(_ numbers: ClosedRange<Int>, _ sink: KafkaRecordSink) throws {
        try wait(for: "the delivery") { (try? sink.deliver(records(numbers))) != nil }
    }

    private func delivered() throws -> [Int] {
        let consumer = try Consumer(withoutGroup: [
            "bootstrap.servers": broker.bootstrapServers, "group.id": "reader", "enable.partition.eof": "true",
        ])
        defer { try? consumer.close() }
        try consumer.assign(adding: [TopicPartition("out", 0): PartitionProgress.beginning])
        var numbers: [Int] = []
        try wait(for: "the end of the topic", everyMilliseconds: 0) {
            let batch = try consumer.poll(maxRecords: 100, timeoutMilliseconds: 200)
            numbers += batch.map(ReadRecord.init).compactMap { $0.value.flatMap { Int($0) } }
            return batch.errors.contains { $0.error.code == .partitionEnd }
        }
        return numbers
    }

    @Test func `the sink waits for records in flight and sends none again`() throws {
        let sink = try sink()
        try deliver(1...2, sink)
        try broker.setDown()
        for _ in 0..<3 {
            #expect(throws: KafkaError.self) { try sink.deliver(records(3...5)) }
        }
        try broker.setUp()
        // More may have come to the outbox meanwhile.
        try deliver(3...9, sink)
        sink.close()
        #expect(try delivered() == Array(1...9))
    }

    @Test func `a record that the broker finds too large ends a delivery, and the next one goes on`() throws {
        let sink = try sink(["batch.num.messages": "1"])
        try deliver(1...1, sink)
        try broker.failNext(.produce, with: [.messageTooLarge])
        let refusal = #expect(throws: KafkaError.self) { try sink.deliver(records(2...2)) }
        #expect(refusal?.code == .messageTooLarge && refusal?.isRetriable == false)
        try deliver(2...3, sink)
        sink.close()
        #expect(try delivered() == [1, 2, 3])
    }

    @Test func `the next delivery goes on after an error that the producer cannot recover from`() throws {
        let sink = try sink()
        let initialiseProducer = EmbeddedBroker.Request(key: 22)
        try broker.failNext(initialiseProducer, with: [KafkaError.Code("CLUSTER_AUTHORIZATION_FAILED")])
        var denial: KafkaError?
        try wait(for: "the denial") {
            do {
                try sink.deliver(records(1...2))
                return true
            } catch let error as KafkaError {
                denial = error
                return error.code != .timedOut
            }
        }
        #expect(denial?.isFatal == true)
        #expect(denial?.code.name == "CLUSTER_AUTHORIZATION_FAILED")
        #expect(denial?.remedy.contains("IdempotentWrite") == true)
        try deliver(1...2, sink)
        sink.close()
        #expect(try delivered() == [1, 2])
    }
}
