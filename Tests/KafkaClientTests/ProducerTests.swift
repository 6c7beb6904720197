import Synchronization
import TestSupport
import Testing

@testable import KafkaClient

@Suite struct ProducerTests {
    @Test func `records arrive as they were sent`() async throws {
        let broker = try EmbeddedBroker()
        try broker.createTopic("t", partitions: 2)
        let producer = try Producer(configuration: broker.configuration())
        let headers = [RecordHeader("a", bytes("1")), RecordHeader("a", nil), RecordHeader("b", [])]
        let report = try await producer.send(
            topic: "t", partition: 1, key: bytes("k"), value: bytes("v"), headers: headers,
            timestampMilliseconds: 1_700_000_000_123)
        #expect(report.topicPartition == TopicPartition("t", 1))
        #expect(report.offset == 0)
        #expect(report.timestampMilliseconds != nil)
        _ = try await producer.send(topic: "t", partition: 1, key: bytes("k"), value: nil)
        _ = try await producer.send(topic: "t", partition: 1, key: nil, value: [])

        let consumer = try broker.consumer(["t"])
        var batches: [RecordBatch] = []
        try wait(for: "3 records", everyMilliseconds: 0) {
            batches.append(try consumer.poll(maxRecords: 10, timeoutMilliseconds: 100))
            return batches.reduce(0) { $0 + $1.count } >= 3
        }
        let records = batches.flatMap { Array($0) }
        #expect(records.map(\.offset) == [0, 1, 2])
        #expect(records[0].timestampMilliseconds == 1_700_000_000_123)
        #expect(records[0].headers == headers)
        #expect(records[0].headers == headers, "a second reading gives the same")
        #expect(records[1].value == nil)
        #expect(records[1].headers.isEmpty)
        #expect(records[1].key.map { Array($0) } == bytes("k"))
        #expect(records[2].key == nil)
        #expect(records[2].value?.count == 0)
        try consumer.close()
    }

    @Test func `a batch that the broker has already is delivered at offsets that nobody tells`() throws {
        let broker = try EmbeddedBroker()
        try broker.createTopic("t", partitions: 1)
        let offsets = Mutex<[Int64]>([])
        let producer = try Producer(configuration: broker.configuration(["linger.ms": "60000"])) { _, offset in
            offsets.withLock { $0.append(offset) }
        }
        let record = ProducerRecord(topic: "t", partition: 0, value: bytes("v"))
        for batch in 0..<3 {
            if batch == 1 { try broker.failNext(.produce, with: [KafkaError.Code("DUPLICATE_SEQUENCE_NUMBER")]) }
            for _ in 0..<3 { try producer.enqueue(record) }
            try producer.flush(timeoutMilliseconds: patientMilliseconds)
        }
        // The embedded broker refuses the second batch and does not have it: the third one follows the first.
        #expect(offsets.withLock { $0 } == [0, 1, 2, -1, -1, -1, 3, 4, 5])
        try producer.close()
    }

    @Test func `a full queue is a retriable error`() throws {
        let broker = try EmbeddedBroker()
        try broker.createTopic("t", partitions: 1)
        let producer = try Producer(
            configuration: broker.configuration(["queue.buffering.max.messages": "10", "linger.ms": "60000"]))
        let record = ProducerRecord(topic: "t", partition: 0, value: bytes("v"))
        for _ in 0..<10 { try producer.enqueue(record) }
        #expect(producer.queuedCount == 10)
        #expect(throws: KafkaError.self) { try producer.enqueue(record) }
        let error = #expect(throws: KafkaError.self) { try producer.enqueue(record) }
        #expect(error?.code == .queueFull)
        #expect(error?.isRetriable == true)
        try producer.flush(timeoutMilliseconds: patientMilliseconds)
        try producer.enqueue(record)
        try producer.close()
    }

    @Test func `send waits for room`() async throws {
        let broker = try EmbeddedBroker()
        try broker.createTopic("t", partitions: 1)
        let producer = try Producer(configuration: broker.configuration(["queue.buffering.max.messages": "5"]))
        let offsets = try await withThrowingTaskGroup(of: Int64.self) { group in
            for _ in 0..<50 {
                group.addTask { try await producer.send(topic: "t", partition: 0, value: bytes("v")).offset }
            }
            return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
        }
        #expect(offsets == Set(0..<50))
    }

    @Test func `too large a record is refused by name`() async throws {
        let broker = try EmbeddedBroker()
        let producer = try Producer(configuration: broker.configuration())
        let value = [UInt8](repeating: 1, count: 2_000_000)
        let error = await #expect(throws: KafkaError.self) {
            _ = try await producer.send(topic: "t", partition: 0, value: value)
        }
        #expect(error?.code == .messageTooLarge)
        #expect(error?.isRetriable == false)
        #expect(error?.topicPartition == TopicPartition("t", 0))
    }

    @Test func `transient failures are retried without a repeat`() async throws {
        let broker = try EmbeddedBroker()
        try broker.createTopic("t", partitions: 1)
        let producer = try Producer(configuration: broker.configuration(["retry.backoff.ms": "20"]))
        try broker.failNext(.produce, with: [.notLeaderForPartition, .transport, .notEnoughReplicas, .requestTimedOut])
        for number in 0..<20 {
            let report = try await producer.send(topic: "t", partition: 0, value: bytes("\(number)"))
            #expect(report.offset == Int64(number))
        }
        let admin = try Admin(configuration: broker.configuration())
        #expect(try admin.watermarks(TopicPartition("t", 0)) == Watermarks(low: 0, high: 20))
    }

    @Test func `flush throws the first failed delivery`() throws {
        let broker = try EmbeddedBroker()
        try broker.createTopic("t", partitions: 1)
        let producer = try Producer(configuration: broker.configuration(["enable.idempotence": "false"]))
        try producer.enqueue(ProducerRecord(topic: "t", partition: 0, value: bytes("good")))
        try producer.flush(timeoutMilliseconds: patientMilliseconds)
        try broker.failNext(.produce, with: [.messageTooLarge])
        try producer.enqueue(ProducerRecord(topic: "t", partition: 0, value: bytes("bad")))
        let error = #expect(throws: KafkaError.self) { try producer.flush(timeoutMilliseconds: patientMilliseconds) }
        #expect(error?.code == .messageTooLarge)
        #expect(error?.topicPartition == TopicPartition("t", 0))
        try producer.flush(timeoutMilliseconds: patientMilliseconds)
    }

    @Test func `an undeliverable record fails in time`() async throws {
        let broker = try EmbeddedBroker()
        try broker.createTopic("t", partitions: 1)
        let events = Collected<KafkaError>()
        var configuration = broker.configuration(["message.timeout.ms": "5000"])
        configuration.onError = { events.append($0) }
        let producer = try Producer(configuration: configuration)
        _ = try await producer.send(topic: "t", partition: 0, value: bytes("v"))
        try broker.setDown()
        let error = await #expect(throws: KafkaError.self) {
            _ = try await producer.send(topic: "t", partition: 0, value: bytes("v"))
        }
        #expect(error?.code == .messageTimedOut || error?.isFatal == true)
        try wait(for: "_ALL_BROKERS_DOWN") { events.values.contains { $0.code == .allBrokersDown } }
    }

    @Test func `closing fails what was not delivered`() throws {
        let broker = try EmbeddedBroker()
        try broker.setDown()
        let producer = try Producer(configuration: broker.configuration())
        let outcomes = Collected<Result<DeliveryReport, KafkaError>>()
        try producer.enqueue(ProducerRecord(topic: "t", partition: 0, value: bytes("v"))) { outcomes.append($0) }
        #expect(codeOf { try producer.close(timeoutMilliseconds: 100) } == .timedOut)
        #expect(outcomes.values.count == 1)
        let error = #expect(throws: KafkaError.self) { _ = try outcomes.values.first?.get() }
        #expect(error?.code == .purgedFromQueue || error?.code == .purgedInFlight)
    }

    @Test func `a closed producer says so`() async throws {
        let broker = try EmbeddedBroker()
        let producer = try Producer(configuration: broker.configuration())
        try producer.close()
        try producer.close()
        #expect(producer.isClosed)
        #expect(codeOf { try producer.enqueue(ProducerRecord(topic: "t", value: [])) } == .closed)
        #expect(codeOf { try producer.flush(timeoutMilliseconds: 1) } == .closed)
        await #expect(throws: KafkaError.self) { _ = try await producer.send(topic: "t", value: []) }
    }

    @Test func `deliveries are reported on one thread`() throws {
        let broker = try EmbeddedBroker()
        try broker.createTopic("t", partitions: 4)
        let producer = try Producer(configuration: broker.configuration())
        let threads = Collected<UInt>()
        for number in 0..<100 {
            try producer.enqueue(ProducerRecord(topic: "t", partition: Int32(number % 4), value: [])) { _ in
                threads.append(DedicatedThread.current)
            }
        }
        try producer.flush(timeoutMilliseconds: patientMilliseconds)
        #expect(threads.values.count == 100)
        #expect(Set(threads.values).count == 1)
        #expect(Set(threads.values) != [DedicatedThread.current])
    }
}
