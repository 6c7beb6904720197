import TestSupport
import Testing

@testable import KafkaClient

@Suite struct RebalanceTests {
    private let partitions = (0..<4).map { TopicPartition("t", Int32($0)) }

    private func brokerWithRecords() throws -> EmbeddedBroker {
        let broker = try EmbeddedBroker()
        try broker.createTopic("t", partitions: 4)
        for partition in 0..<4 { try broker.fill("t", partition: Int32(partition), count: 10) }
        return broker
    }

    @Test func `the handler chooses start offsets`() throws {
        let broker = try brokerWithRecords()
        let events = Collected<RebalanceEvent>()
        let consumer = try broker.consumer(["t"]) { event, _ in
            events.append(event)
            return [TopicPartition("t", 0): 7, TopicPartition("t", 1): 10]
        }
        let records = try consumer.read(23)
        #expect(records.filter { $0.topicPartition.partition == 0 }.map(\.offset) == [7, 8, 9])
        #expect(records.filter { $0.topicPartition.partition == 1 }.isEmpty)
        #expect(records.filter { $0.topicPartition.partition == 2 }.map(\.offset) == Array(0..<10))
        #expect(events.values.map { sorted($0) } == [.assigned(partitions)])
        try consumer.close()
        #expect(events.values.map { sorted($0) } == [.assigned(partitions), .revoked(partitions)])
    }

    @Test func `the handler may commit in revoked`() throws {
        let broker = try brokerWithRecords()
        let codes = Collected<KafkaError.Code?>()
        let consumer = try broker.consumer(["t"]) { event, consumer in
            if case .revoked = event {
                codes.append(codeOf { try consumer.commit([TopicPartition("t", 0): 4]) })
            }
            return [:]
        }
        _ = try consumer.read(40)
        try consumer.close()
        #expect(codes.values == [nil])
        let admin = try Admin(configuration: broker.configuration())
        #expect(try admin.committedOffsets(group: "group", partitions: partitions) == [TopicPartition("t", 0): 4])
    }

    @Test func `two members share eagerly`() throws {
        try shareBetweenTwoMembers(strategy: "range", protocolName: "EAGER")
    }

    @Test(.enabled(if: cooperativeIsSafe))
    func `two members share cooperatively`() throws {
        try shareBetweenTwoMembers(strategy: "cooperative-sticky", protocolName: "COOPERATIVE")
    }

    /// Two members read in turn; each record must come to the owner of its partition only.
    private func shareBetweenTwoMembers(strategy: String, protocolName: String) throws {
        let broker = try brokerWithRecords()
        let properties = ["partition.assignment.strategy": strategy]
        let events = Collected<RebalanceEvent>()
        let first = try broker.consumer(["t"], properties) { event, _ in
            events.append(event)
            return [:]
        }
        _ = try first.read(40)
        #expect(try first.rebalanceProtocol == protocolName)
        try first.commit(Dictionary(uniqueKeysWithValues: partitions.map { ($0, 10) }))

        let second = try broker.consumer(["t"], properties)
        try wait(for: "two partitions each", everyMilliseconds: 0) {
            _ = try first.poll(maxRecords: 10, timeoutMilliseconds: 20)
            _ = try second.poll(maxRecords: 10, timeoutMilliseconds: 20)
            return try first.assignment.count == 2 && second.assignment.count == 2
        }
        let (firstOwns, secondOwns) = (try first.assignment, try second.assignment)
        #expect(Set(firstOwns + secondOwns) == Set(partitions))
        for partition in 0..<4 { try broker.fill("t", partition: Int32(partition), count: 5, from: 10) }
        let (mine, theirs) = (try first.read(10), try second.read(10))
        #expect(Set(mine.map(\.topicPartition)) == Set(firstOwns))
        #expect(Set(theirs.map(\.topicPartition)) == Set(secondOwns))
        #expect((mine + theirs).allSatisfy { $0.offset >= 10 })
        let revoked = events.values.filter { if case .revoked = $0 { true } else { false } }
        #expect(revoked.first?.partitions.count == (protocolName == "EAGER" ? 4 : 2))

        try second.close()
        try wait(for: "all partitions again", everyMilliseconds: 0) {
            _ = try first.poll(maxRecords: 10, timeoutMilliseconds: 20)
            return try first.assignment.count == 4
        }
        try first.close()
    }

    @Test func `a handler that throws stops the reading`() throws {
        struct NoStore: Error {}
        let broker = try brokerWithRecords()
        let consumer = try broker.consumer(["t"]) { event, _ in
            if case .assigned = event { throw NoStore() }
            return [:]
        }
        #expect(throws: NoStore.self) { _ = try consumer.read(1) }
        #expect(try consumer.assignment.isEmpty)
        #expect(try consumer.readFor(milliseconds: 200).isEmpty)
        try consumer.close()
    }

    @Test func `close and poll inside the handler are refused`() throws {
        let broker = try brokerWithRecords()
        let codes = Collected<KafkaError.Code?>()
        let consumer = try broker.consumer(["t"]) { _, consumer in
            codes.append(codeOf { try consumer.close() })
            codes.append(codeOf { _ = try consumer.poll(maxRecords: 1, timeoutMilliseconds: 0) })
            return [:]
        }
        _ = try consumer.read(40)
        #expect(codes.values == [.busy, .busy])
        try consumer.close()
    }

    @Test func `a member that was thrown out loses its partitions`() throws {
        let broker = try brokerWithRecords()
        let events = Collected<RebalanceEvent>()
        let consumer = try broker.consumer(["t"], ["heartbeat.interval.ms": "200"]) { event, _ in
            events.append(event)
            return [:]
        }
        _ = try consumer.read(40)
        try broker.failNext(.heartbeat, with: [.unknownMember])
        try wait(for: "the loss", everyMilliseconds: 0) {
            _ = try consumer.poll(maxRecords: 10, timeoutMilliseconds: 50)
            return events.values.contains { sorted($0) == .lost(partitions) }
        }
        try wait(for: "another assignment", everyMilliseconds: 0) {
            _ = try consumer.poll(maxRecords: 10, timeoutMilliseconds: 50)
            return try consumer.assignment.count == 4
        }
        try consumer.close()
    }

    @Test(arguments: cooperativeIsSafe ? ["range", "cooperative-sticky"] : ["range"])
    func `seek restarts a stopped partition and leaves the others`(strategy: String) throws {
        let broker = try brokerWithRecords()
        let properties = ["partition.assignment.strategy": strategy, "auto.offset.reset": "error"]
        let stopped = TopicPartition("t", 0)
        let paused = TopicPartition("t", 3)
        let consumer = try broker.consumer(["t"], properties) { _, _ in
            [stopped: 1_000, TopicPartition("t", 1): 0, TopicPartition("t", 2): 4, paused: 0]
        }
        var records: [ReadRecord] = []
        var errors: [ConsumerEvent] = []
        try wait(for: "26 records and the error", everyMilliseconds: 0) {
            let batch = try consumer.poll(maxRecords: 100, timeoutMilliseconds: 100)
            records += batch.map(ReadRecord.init)
            errors += batch.errors
            return records.count == 26 && !errors.isEmpty
        }
        #expect(errors.first?.error.code == .autoOffsetReset)
        #expect(errors.first?.topicPartition == stopped)
        try consumer.pause([paused])
        try broker.fill("t", partition: 3, count: 5, from: 10)
        try consumer.seek(stopped, to: 8)
        #expect(try consumer.read(2).map(\.offset) == [8, 9])
        #expect(try consumer.readFor(milliseconds: 1_000).isEmpty)
        try consumer.resume([paused])
        let resumed = try consumer.read(5)
        #expect(resumed.map(\.offset) == [10, 11, 12, 13, 14])
        #expect(resumed.allSatisfy { $0.topicPartition == paused })
        try consumer.close()
    }

    private func sorted(_ event: RebalanceEvent) -> RebalanceEvent {
        switch event {
        case .assigned(let partitions): .assigned(partitions.sorted())
        case .revoked(let partitions): .revoked(partitions.sorted())
        case .lost(let partitions): .lost(partitions.sorted())
        }
    }
}
