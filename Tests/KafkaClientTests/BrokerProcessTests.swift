import Foundation
import TestSupport
import Testing

@testable import KafkaClient

/// Against a broker that is a process of its own and shares no code with librdkafka.
@Suite struct BrokerProcessTests {
    private let zero = TopicPartition("t", 0)
    /// Young enough for the broker's retention, which takes what is a week old within a second.
    private let base = Int64(Date.now.timeIntervalSince1970) * 1_000 - 3_600_000

    private func configuration(_ broker: BrokerProcess, _ properties: [String: String] = [:]) -> KafkaConfiguration {
        KafkaConfiguration(["bootstrap.servers": broker.bootstrapServers].merging(properties) { $1 })
    }

    /// Writes a record for each timestamp, in milliseconds after ``base``.
    private func fill(_ broker: BrokerProcess, timestamps: [Int64]) throws {
        let producer = try Producer(configuration: configuration(broker))
        for (number, timestamp) in timestamps.enumerated() {
            try producer.enqueue(
                ProducerRecord(
                    topic: "t", partition: 0, key: bytes("k\(number)"), value: bytes("\(number)"),
                    timestampMilliseconds: base + timestamp))
            try producer.flush(timeoutMilliseconds: patientMilliseconds)
        }
        try producer.close()
    }

    @Test func `topics are created listed and deleted`() throws {
        let broker = try BrokerProcess(.noida)
        let admin = try Admin(configuration: configuration(broker))
        try admin.createTopic(NewTopic("t", partitions: 3, configuration: ["cleanup.policy": "compact"]))
        let error = #expect(throws: KafkaError.self) { try admin.createTopic(NewTopic("t", partitions: 3)) }
        #expect(error?.code == .topicAlreadyExists)
        #expect(error?.message.contains("\"t\"") == true)
        #expect(try admin.metadata().topics["t"]?.count == 3)
        try admin.deleteTopic("t")
        #expect(codeOf { try admin.deleteTopic("t") } == .unknownTopicOrPartition)
    }

    @Test func `offsets are found by timestamp`() throws {
        let broker = try BrokerProcess(.noida)
        let admin = try Admin(configuration: configuration(broker))
        try admin.createTopic(NewTopic("t"))
        try fill(broker, timestamps: [0, 1_000, 2_000])
        #expect(try admin.offsets(atTimestampsMilliseconds: [zero: base + 500]) == [zero: 1])
        #expect(try admin.offsets(atTimestampsMilliseconds: [zero: base + 2_000]) == [zero: 2])
        #expect(try admin.watermarks(zero) == Watermarks(low: 0, high: 3))
    }

    @Test func `an offset out of range is an error and no jump`() throws {
        let broker = try BrokerProcess(.noida)
        try Admin(configuration: configuration(broker)).createTopic(NewTopic("t"))
        try fill(broker, timestamps: [1, 2, 3])
        let consumer = try Consumer(
            configuration: configuration(broker, ["group.id": "g", "session.timeout.ms": "6000"]), topics: ["t"]
        ) { _, _ in [TopicPartition("t", 0): 1_000] }
        var events: [ConsumerEvent] = []
        try wait(for: "the error event", everyMilliseconds: 0) {
            let batch = try consumer.poll(maxRecords: 10, timeoutMilliseconds: 100)
            #expect(batch.isEmpty)
            events += batch.errors
            return !events.isEmpty
        }
        #expect(events.first?.error.code == .autoOffsetReset)
        #expect(events.first?.topicPartition == zero)
        try consumer.seek(zero, to: 2)
        #expect(try consumer.read(1).map(\.offset) == [2])
        try consumer.commit([zero: 3])
        let admin = try Admin(configuration: configuration(broker))
        #expect(try admin.committedOffsets(group: "g") == [zero: 3])
        try consumer.close()
    }

    @Test func `a commit gives up in time where the broker stands still`() throws {
        let broker = try BrokerProcess(.noida)
        try Admin(configuration: configuration(broker)).createTopic(NewTopic("t"))
        try fill(broker, timestamps: [1, 2])
        let consumer = try Consumer(
            configuration: configuration(broker, ["group.id": "g", "session.timeout.ms": "6000"]), topics: ["t"]
        ) { _, _ in [TopicPartition("t", 0): 0] }
        #expect(try consumer.read(2).count == 2)
        broker.suspend()
        // A process of several threads stops a moment after the signal.
        usleep(500_000)
        #expect(codeOf { try consumer.commit([zero: 2], timeoutMilliseconds: 300) } == .timedOut)
        broker.resume()
        try consumer.commit([zero: 2])
        // Seeks are answered by the client itself, and take more than the few milliseconds that some versions allow.
        for offset: Int64 in [0, 1, 0] { try consumer.seek(zero, to: offset) }
        try consumer.close()
    }

    @Test func `the broker's size limit fails the delivery`() async throws {
        let broker = try BrokerProcess(.noida)
        try Admin(configuration: configuration(broker)).createTopic(NewTopic("t"))
        let producer = try Producer(configuration: configuration(broker, ["message.max.bytes": "20000000"]))
        let value = [UInt8](repeating: 7, count: 9_000_000)
        let error = await #expect(throws: KafkaError.self) {
            _ = try await producer.send(topic: "t", partition: 0, value: value)
        }
        #expect(error?.code == .messageTooLarge)
        #expect(error?.topicPartition == zero)
    }

    @Test func `kcat reads what we write`() async throws {
        let broker = try BrokerProcess(.noida)
        try Admin(configuration: configuration(broker)).createTopic(NewTopic("t"))
        let producer = try Producer(configuration: configuration(broker))
        _ = try await producer.send(
            topic: "t", partition: 0, key: bytes("key"), value: bytes("välue"), headers: [RecordHeader("h", bytes("x"))]
        )
        _ = try await producer.send(topic: "t", partition: 0, key: bytes("gone"), value: nil)
        let output = try Kcat.run([
            "-C", "-b", broker.bootstrapServers, "-t", "t", "-o", "beginning", "-e", "-q", "-Z", "-f", "%k|%s|%S|%h\\n",
        ])
        #expect(output == "key|välue|6|h=x\ngone|NULL|-1|\n")
    }

    @Test func `we read what kcat writes`() throws {
        let broker = try BrokerProcess(.noida)
        try Admin(configuration: configuration(broker)).createTopic(NewTopic("t"))
        _ = try Kcat.run(
            ["-P", "-b", broker.bootstrapServers, "-t", "t", "-p", "0", "-K", ":", "-H", "h=x"], input: "a:1\nb:2\n")
        let consumer = try Consumer(
            configuration: configuration(
                broker, ["group.id": "g", "auto.offset.reset": "earliest", "session.timeout.ms": "6000"]),
            topics: ["t"])
        let records = try consumer.read(2)
        #expect(records.map(\.key) == ["a", "b"])
        #expect(records.map(\.value) == ["1", "2"])
        #expect(records.map(\.headers) == [[RecordHeader("h", bytes("x"))], [RecordHeader("h", bytes("x"))]])
        try consumer.close()
    }

    // MARK: Compression

    private static let codecs = ["gzip", "snappy", "lz4", "zstd"]
    private static let line = String(repeating: "x", count: 1000)

    @Test(arguments: codecs) func `records of each codec are read`(codec: String) throws {
        let broker = try BrokerProcess(.noida)
        try Admin(configuration: configuration(broker)).createTopic(NewTopic("t"))
        let lines = (0..<50).map { "\($0) \(Self.line)\n" }
        _ = try Kcat.run(
            ["-P", "-b", broker.bootstrapServers, "-t", "t", "-p", "0", "-z", codec], input: lines.joined())
        let consumer = try Consumer(
            configuration: configuration(
                broker, ["group.id": "g", "auto.offset.reset": "earliest", "session.timeout.ms": "6000"]),
            topics: ["t"])
        #expect(try consumer.read(50).map { ($0.value ?? "") + "\n" } == lines)
        try consumer.close()
    }

    @Test(arguments: codecs) func `records are written with each codec`(codec: String) throws {
        let broker = try BrokerProcess(.noida)
        let admin = try Admin(configuration: configuration(broker))
        for topic in ["plain", "t", "marker"] { try admin.createTopic(NewTopic(topic)) }
        // The broker keeps batches as they come, a moment later, in this file.
        func size() throws -> Int {
            let path = broker.dataDirectory.appending(path: "kafka.json").path
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            return (attributes?[.size] as? NSNumber)?.intValue ?? 0
        }
        func write(_ topic: String, _ codec: String) throws {
            let producer = try Producer(
                configuration: configuration(broker, ["compression.codec": codec, "linger.ms": "50"]))
            for _ in 0..<300 {
                try producer.enqueue(ProducerRecord(topic: topic, partition: 0, value: bytes(Self.line)))
            }
            try producer.close(timeoutMilliseconds: patientMilliseconds)
        }
        try write("plain", "none")
        // All of them, and the whole file: it stays as it is for longer than the broker takes between two.
        var (plain, looks) = (0, 0)
        try wait(for: "the plain records", everyMilliseconds: 250) {
            let now = try size()
            looks = now == plain ? looks + 1 : 0
            plain = now
            return plain > 300_000 && looks >= 8
        }
        try write("t", codec)
        try write("marker", "none")
        try wait(for: "the marker") { try size() >= 2 * plain - 20_000 }
        #expect(try size() < 2 * plain + plain / 4)
        let text = try Kcat.run(["-C", "-b", broker.bootstrapServers, "-t", "t", "-o", "beginning", "-e", "-q"])
        #expect(text == String(repeating: Self.line + "\n", count: 300))
    }

    @Test func `a stopped broker is reported and returns with its data`() throws {
        let broker = try BrokerProcess(.noida)
        try Admin(configuration: configuration(broker)).createTopic(NewTopic("t"))
        let events = Collected<KafkaError>()
        var settings = configuration(
            broker, ["group.id": "g", "auto.offset.reset": "earliest", "reconnect.backoff.max.ms": "200"])
        settings.onError = { events.append($0) }
        let consumer = try Consumer(configuration: settings, topics: ["t"])
        try fill(broker, timestamps: [1, 2])
        _ = try consumer.read(2)
        // The broker writes its data a moment later.
        let file = broker.dataDirectory.appending(path: "kafka.json")
        try wait(for: "the broker's file") {
            _ = try consumer.poll(maxRecords: 10, timeoutMilliseconds: 50)
            let text = try? String(contentsOf: file, encoding: .utf8)
            return text?.firstMatch(of: /"high_watermark": *2\b/) != nil
        }
        broker.stop()
        #expect(broker.processID == 0)
        try wait(for: "_ALL_BROKERS_DOWN", everyMilliseconds: 0) {
            _ = try consumer.poll(maxRecords: 10, timeoutMilliseconds: 50)
            return events.values.contains { $0.code == .allBrokersDown }
        }
        try broker.start()
        let admin = try Admin(configuration: configuration(broker))
        #expect(try admin.watermarks(zero) == Watermarks(low: 0, high: 2))
        try fill(broker, timestamps: [3])
        var again: [ReadRecord] = []
        try wait(for: "the record after the restart", everyMilliseconds: 0) {
            again += try consumer.poll(maxRecords: 10, timeoutMilliseconds: 100).map(ReadRecord.init)
            return again.contains { $0.offset == 2 }
        }
        #expect(again.last { $0.offset == 2 }?.value == "0")
        try consumer.close()
    }

    @Test(.enabled(if: BrokerProcess.tansuIsReadable))
    func `a group survives the restart of its member`() throws {
        let broker = try BrokerProcess(.tansu)
        try Admin(configuration: configuration(broker)).createTopic(NewTopic("t"))
        try fill(broker, timestamps: [1, 2, 3])
        let settings = configuration(
            broker, ["group.id": "g", "auto.offset.reset": "earliest", "session.timeout.ms": "6000"])
        let first = try Consumer(configuration: settings, topics: ["t"])
        #expect(try first.read(3).map(\.key) == ["k0", "k1", "k2"])
        try first.commit([zero: 2])
        try first.close()
        let second = try Consumer(configuration: settings, topics: ["t"])
        #expect(try second.read(1).map(\.offset) == [2])
        try second.close()
    }
}
