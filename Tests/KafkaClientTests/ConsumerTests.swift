import TestSupport
import Testing

@testable import KafkaClient

@Suite struct ConsumerTests {
    private let zero = TopicPartition("t", 0)

    private func brokerWithRecords(_ count: Int, partitions: Int = 1) throws -> EmbeddedBroker {
        let broker = try EmbeddedBroker()
        try broker.createTopic("t", partitions: partitions)
        for partition in 0..<partitions { try broker.fill("t", partition: Int32(partition), count: count) }
        return broker
    }

    @Test func `without a group it reads what the caller chooses`() throws {
        let broker = try EmbeddedBroker()
        try broker.createTopic("t", partitions: 3)
        for partition in 0..<3 { try broker.fill("t", partition: Int32(partition), count: 10) }
        let consumer = try Consumer(withoutGroup: broker.configuration(["group.id": "free"]))
        try consumer.assign(adding: [TopicPartition("t", 0): -2])
        #expect(try consumer.read(10).map(\.offset) == Array(0..<10))
        try consumer.assign(adding: [TopicPartition("t", 2): 7])
        let more = try consumer.read(3)
        #expect(more.map(\.topicPartition.partition) == [2, 2, 2] && more.map(\.offset) == [7, 8, 9])
        #expect(try consumer.assignment == [TopicPartition("t", 0), TopicPartition("t", 2)])
        try consumer.seek(TopicPartition("t", 0), to: 9)
        #expect(try consumer.read(1).map(\.offset) == [9])
        try consumer.commit([TopicPartition("t", 0): 10])
        let admin = try Admin(configuration: broker.configuration())
        #expect(
            try admin.committedOffsets(group: "free", partitions: [TopicPartition("t", 0)]) == [
                TopicPartition("t", 0): 10
            ])
        try consumer.close()
        let member = try broker.consumer(["t"])
        #expect(codeOf { try member.assign(adding: [TopicPartition("t", 1): 0]) } == .invalidArgument)
        try member.close()
    }

    @Test func `records come in order and positions follow`() throws {
        let broker = try brokerWithRecords(300)
        let consumer = try broker.consumer(["t"])
        let records = try consumer.read(300)
        #expect(records.map(\.value) == (0..<300).map { "\($0)" })
        #expect(records.map(\.offset) == (0..<300).map { Int64($0) })
        #expect(try consumer.position([zero]) == [zero: 300])
        #expect(try consumer.assignment == [zero])
        #expect(try consumer.memberID != nil)
        #expect(try consumer.rebalanceProtocol == "EAGER")
        try consumer.close()
    }

    @Test func `batches stay within their limit`() throws {
        let broker = try brokerWithRecords(100)
        let consumer = try broker.consumer(["t"])
        var total = 0
        try wait(for: "100 records", everyMilliseconds: 0) {
            let batch = try consumer.poll(maxRecords: 7, timeoutMilliseconds: 100)
            #expect(batch.count <= 7)
            total += batch.count
            return total == 100
        }
        #expect(codeOf { _ = try consumer.poll(maxRecords: 0, timeoutMilliseconds: 0) } == .invalidArgument)
        try consumer.close()
    }

    @Test func `paused partitions are silent and resume without a gap`() throws {
        let broker = try brokerWithRecords(50, partitions: 2)
        let one = TopicPartition("t", 1)
        let consumer = try broker.consumer(["t"])
        var records = try consumer.read(1)
        try consumer.pause([zero])
        records += try consumer.readFor(milliseconds: 300)
        let seenBefore = records.filter { $0.topicPartition == zero }.count
        try broker.fill("t", partition: 0, count: 25, from: 50)
        try broker.fill("t", partition: 1, count: 25, from: 50)
        let whilePaused = try consumer.readFor(milliseconds: 1_500)
        #expect(whilePaused.allSatisfy { $0.topicPartition == one })
        records += whilePaused
        try consumer.resume([zero])
        try wait(for: "150 records", everyMilliseconds: 0) {
            records += try consumer.poll(maxRecords: 100, timeoutMilliseconds: 100).map(ReadRecord.init)
            return records.count >= 150
        }
        #expect(seenBefore <= 50)
        for partition in [zero, one] {
            let offsets = records.filter { $0.topicPartition == partition }.map(\.offset)
            #expect(offsets == (0..<75).map { Int64($0) })
        }
        try consumer.close()
    }

    @Test func `seek goes back`() throws {
        let broker = try brokerWithRecords(20)
        let consumer = try broker.consumer(["t"])
        _ = try consumer.read(20)
        try consumer.seek(zero, to: 5)
        #expect(try consumer.read(15).map(\.offset) == (5..<20).map { Int64($0) })
        #expect(codeOf { try consumer.seek(TopicPartition("t", 9), to: 0, timeoutMilliseconds: 2_000) } != nil)
        try consumer.close()
    }

    /// Another thread of the library does something with the partition between the seek's begin and its turn, as at a
    /// rebalance: the library drops the seek.
    @Test func `seek is not overtaken`() throws {
        let broker = try brokerWithRecords(20)
        let consumer = try Consumer(withoutGroup: broker.configuration(["group.id": "free"]))
        try consumer.assign(adding: [zero: 0])
        let isOver = Collected<Bool>()
        let ends = Collected<KafkaError.Code?>()
        try DedicatedThread.start { [zero] in
            ends.append(
                codeOf {
                    while isOver.values.isEmpty {
                        try consumer.pause([zero])
                        try consumer.resume([zero])
                    }
                })
        }
        for number in 0..<20_000 { try consumer.seek(zero, to: Int64(number % 20)) }
        isOver.append(true)
        try wait(for: "the other thread") { !ends.values.isEmpty }
        #expect(ends.values == [nil])
        try consumer.seek(zero, to: 17)
        #expect(try consumer.read(3).map(\.offset) == [17, 18, 19])
        try consumer.close()
    }

    /// A worker takes the end that it is told for as far as it has read.
    @Test func `the end of a partition is reported again after a seek back`() throws {
        let broker = try brokerWithRecords(20)
        let consumer = try broker.consumer(["t"], ["enable.partition.eof": "true"])
        for _ in 0..<3 {
            var offsets: [Int64] = []
            var ends: [Int64?] = []
            try wait(for: "the records and the end") {
                let batch = try consumer.poll(maxRecords: 50, timeoutMilliseconds: 100)
                offsets += batch.map(\.offset)
                ends += batch.errors.filter { $0.error.code == .partitionEnd }.map(\.offset)
                return offsets.last == 19 && !ends.isEmpty
            }
            #expect(ends == [20])
            try consumer.seek(zero, to: 19)
        }
        try consumer.close()
    }

    /// A partition that stopped is assigned anew, and in an eager group the others with it, from where they are.
    @Test func `going on from a stopped partition leaves the others where they are`() throws {
        let broker = try brokerWithRecords(20, partitions: 3)
        let (one, two) = (TopicPartition("t", 1), TopicPartition("t", 2))
        let consumer = try broker.consumer(["t"], ["auto.offset.reset": "error"]) { event, _ in
            if case .assigned(let partitions) = event { return Dictionary(partitions.map { ($0, -2) }) { $1 } }
            return [:]
        }
        _ = try consumer.read(60)
        try consumer.pause([two])
        try consumer.seek(one, to: 15)
        _ = try consumer.read(5)
        for _ in 0..<2 {
            try consumer.seek(zero, to: 99)
            try wait(for: "the stop") {
                try consumer.poll(maxRecords: 50, timeoutMilliseconds: 100).errors.contains {
                    $0.topicPartition == zero
                }
            }
            try consumer.seek(zero, to: 18)
            let again = try consumer.read(2)
            #expect(again.map(\.topicPartition) == [zero, zero] && again.map(\.offset) == [18, 19])
        }
        for partition in 0...2 { try broker.fill("t", partition: Int32(partition), count: 1, from: 20) }
        let new = try consumer.read(2).sorted { $0.topicPartition < $1.topicPartition }
        #expect(new.map(\.topicPartition) == [zero, one] && new.map(\.offset) == [20, 20])
        #expect(try consumer.readFor(milliseconds: 1_000).isEmpty)
        try consumer.resume([two])
        #expect(try consumer.read(1).map(\.offset) == [20])
        try consumer.close()
    }

    @Test func `ends are asked for together`() throws {
        let broker = try brokerWithRecords(20, partitions: 2)
        try broker.fill("t", partition: 1, count: 3, from: 20)
        let admin = try Admin(configuration: broker.configuration())
        let one = TopicPartition("t", 1)
        #expect(try admin.ends(of: [zero, one]) == [zero: 20, one: 23])
        #expect(try admin.ends(of: []).isEmpty)
        // What nobody has does not hide the others.
        #expect(try admin.ends(of: [zero, TopicPartition("t", 9)], timeoutMilliseconds: 2_000)[zero] == 20)
    }

    @Test func `watermarks are cached and queried`() throws {
        let broker = try brokerWithRecords(20)
        let consumer = try broker.consumer(["t"])
        #expect(try consumer.watermarks(zero) == nil)
        #expect(try consumer.queryWatermarks(zero) == Watermarks(low: 0, high: 20))
        _ = try consumer.read(20)
        #expect(try consumer.watermarks(zero)?.high == 20)
        try consumer.close()
    }

    @Test func `the next member goes on at the committed offset`() throws {
        let broker = try brokerWithRecords(20)
        let first = try broker.consumer(["t"])
        _ = try first.read(20)
        #expect(try first.committed([zero]).isEmpty)
        try first.commit([zero: 12])
        #expect(try first.committed([zero]) == [zero: 12])
        try first.close()
        let second = try broker.consumer(["t"])
        #expect(try second.read(8).map(\.offset) == (12..<20).map { Int64($0) })
        try second.commit([zero: 20], asynchronously: true)
        try wait(for: "the asynchronous commit") { try second.committed([zero]) == [zero: 20] }
        try second.close()
        let admin = try Admin(configuration: broker.configuration())
        #expect(try admin.committedOffsets(group: "group", partitions: [zero]) == [zero: 20])
    }

    @Test func `nothing is committed unasked`() throws {
        let broker = try brokerWithRecords(5)
        let consumer = try broker.consumer(["t"])
        _ = try consumer.read(5)
        try consumer.close()
        let admin = try Admin(configuration: broker.configuration())
        #expect(try admin.committedOffsets(group: "group", partitions: [zero]).isEmpty)
    }

    @Test func `partition ends are events and not records`() throws {
        let broker = try brokerWithRecords(5)
        let consumer = try broker.consumer(["t"], ["enable.partition.eof": "true"])
        var records = 0
        var ends: [ConsumerEvent] = []
        try wait(for: "the end of the partition", everyMilliseconds: 0) {
            let batch = try consumer.poll(maxRecords: 100, timeoutMilliseconds: 100)
            records += batch.count
            ends += batch.errors
            return !ends.isEmpty
        }
        #expect(records == 5)
        #expect(ends.first?.error.code == .partitionEnd)
        #expect(ends.first?.topicPartition == zero)
        #expect(ends.first?.offset == 5)
        try consumer.close()
    }

    @Test func `a batch outlives its consumer`() throws {
        let broker = try brokerWithRecords(10)
        var consumer: Consumer? = try broker.consumer(["t"])
        var batch = try consumer?.poll(maxRecords: 10, timeoutMilliseconds: 0)
        try wait(for: "a batch", everyMilliseconds: 0) {
            batch = try consumer?.poll(maxRecords: 10, timeoutMilliseconds: 100)
            return batch?.isEmpty == false
        }
        try consumer?.close()
        consumer = nil
        let values = try #require(batch).map { record in record.value.map { String(decoding: $0, as: UTF8.self) } }
        #expect(values.first == "0")
        #expect(batch?[0].topicPartition == zero)
        batch = nil
    }

    @Test func `a batch can hold several topics`() throws {
        let broker = try EmbeddedBroker()
        for topic in ["a", "b"] {
            try broker.createTopic(topic, partitions: 1)
            try broker.fill(topic, count: 10)
        }
        let consumer = try broker.consumer(["a", "b"])
        let records = try consumer.read(20)
        for topic in ["a", "b"] {
            let values = records.filter { $0.topicPartition.topic == topic }.map(\.value)
            #expect(values == (0..<10).map { "\($0)" })
        }
        try consumer.close()
    }

    @Test func `a closed consumer says so`() throws {
        let broker = try brokerWithRecords(1)
        let consumer = try broker.consumer(["t"])
        _ = try consumer.read(1)
        try consumer.close()
        try consumer.close()
        #expect(consumer.isClosed)
        consumer.wake()
        let calls: [() throws -> Void] = [
            { _ = try consumer.poll(maxRecords: 1, timeoutMilliseconds: 0) },
            { try consumer.pause([self.zero]) },
            { try consumer.resume([self.zero]) },
            { try consumer.seek(self.zero, to: 0) },
            { try consumer.commit([self.zero: 0]) },
            { try consumer.commit([self.zero: 0], asynchronously: true) },
            { _ = try consumer.committed([self.zero]) },
            { _ = try consumer.position([self.zero]) },
            { _ = try consumer.watermarks(self.zero) },
            { _ = try consumer.queryWatermarks(self.zero) },
            { _ = try consumer.assignment },
            { _ = try consumer.memberID },
        ]
        for call in calls { #expect(codeOf(call) == .closed) }
    }

    @Test func `an abandoned consumer asks nothing of the broker`() throws {
        let broker = try brokerWithRecords(1)
        let events = Collected<String>()
        let consumer = try broker.consumer(["t"]) { event, _ in
            events.append("\(event)")
            return [:]
        }
        _ = try consumer.read(1)
        try broker.setDown()
        let before = events.values
        try consumer.abandon()
        try consumer.abandon()
        try consumer.close()
        #expect(consumer.isClosed && events.values == before)
        #expect(codeOf { _ = try consumer.poll(maxRecords: 1, timeoutMilliseconds: 0) } == .closed)
    }

    @Test func `close interrupts a poll on another thread`() async throws {
        let broker = try brokerWithRecords(0)
        let consumer = try broker.consumer(["t"])
        let code = Collected<KafkaError.Code?>()
        try DedicatedThread.start {
            var last = KafkaError.Code?.none
            // The two threads may meet before this one waits.
            repeat {
                last = codeOf { while true { _ = try consumer.poll(maxRecords: 1, timeoutMilliseconds: 60_000) } }
            } while last == .busy
            code.append(last)
        }
        while codeOf({ _ = try consumer.poll(maxRecords: 1, timeoutMilliseconds: 0) }) != .busy {
            try await Task.sleep(for: .milliseconds(5))
        }
        try consumer.close()
        while code.values.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        #expect(code.values == [.closed])
    }

    @Test func `statistics and logs reach their handlers`() throws {
        let broker = try brokerWithRecords(1)
        let documents = Collected<[UInt8]>()
        let lines = Collected<String>()
        var configuration = broker.configuration([
            "group.id": "g", "statistics.interval.ms": "100", "debug": "conf", "auto.offset.reset": "earliest",
        ])
        configuration.onStatistics = { documents.append(Array($0)) }
        configuration.onLog = { _, facility, _ in lines.append(facility) }
        let consumer = try Consumer(configuration: configuration, topics: ["t"])
        try wait(for: "statistics", everyMilliseconds: 0) {
            _ = try consumer.poll(maxRecords: 1, timeoutMilliseconds: 50)
            return !documents.values.isEmpty
        }
        #expect(documents.values.first?.first == UInt8(ascii: "{"))
        #expect(documents.values.first?.last == UInt8(ascii: "}"))
        #expect(lines.values.contains("CONF"))
        try consumer.close()
    }
}
