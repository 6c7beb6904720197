import Foundation
import ObjectGraph
import TestSupport
import Testing

@testable import IngestCore
@testable import KafkaClient
@testable import RecordDecoding

/// The worker against a broker inside the process: bad input, positions, rebalances.
@Suite(.serialized, .timeLimit(.minutes(60))) struct WorkerRuntimeTests {
    // MARK: Bad input

    /// A record that cannot be applied, and the code of its dead letter.
    private static let poison: [(code: String, value: [UInt8]?)] = [
        ("json.truncated", [UInt8](#"{"specversion":"1.0","type":"message.upserted","data":{"id":"x""#.utf8)),
        (
            "json.utf8",
            [UInt8](#"{"specversion":"1.0","type":"message.upserted","data":{"id":""#.utf8) + [0xff, 0xfe]
                + [UInt8](#""}}"#.utf8)
        ),
        ("decode.type", event("message.upserted", #"{"id":"x","chat":"c","seq":"many"}"#)),
        ("decode.unknown_entity", event("massage.upserted", #"{"id":"x"}"#)),
        ("decode.unknown_property", event("message.upserted", #"{"id":"x","colour":"red"}"#)),
        ("decode.missing_identity", event("message.upserted", #"{"body":"x"}"#)),
        ("decode.identity", event("message.upserted", #"{"id":"x","chat":7}"#)),
        ("decode.relationship", event("message.upserted", #"{"id":"x","chat":["c"]}"#)),
        ("json.depth", [UInt8](String(repeating: "[", count: 10_000).utf8)),
        (
            "decode.too_large",
            event("message.upserted", #"{"id":"x","body":""# + String(repeating: "x", count: 20_000_000) + #""}"#)
        ),
        ("decode.null", nil),
        ("validation.1570", event("message.upserted", #"{"id":"x"}"#)),
        (
            "validation.1660",
            event(
                "message.upserted",
                #"{"id":"x","chat":"c","body":""# + String(repeating: "x", count: 10_001) + #""}"#)
        ),
    ]

    private static func event(_ type: String, _ data: String) -> [UInt8] {
        [UInt8](#"{"specversion":"1.0","id":"1","source":"/test","type":"\#(type)","data":\#(data)}"#.utf8)
    }

    @Test func `poison is put aside with its place and its neighbours are saved`() async throws {
        let harness = try WorkerHarness()
        var values: [[UInt8]?] = []
        for (index, poison) in Self.poison.enumerated() {
            values.append([UInt8](WorkerHarness.message("good-\(index)").utf8))
            values.append(poison.value)
        }
        values.append([UInt8](WorkerHarness.message("last").utf8))
        try harness.send(values)
        try harness.start()
        try await harness.waitForPosition(Int64(values.count))
        try await harness.stop()

        let letters = try harness.read { try $0.deadLetters() }
        #expect(letters.map(\.code) == Self.poison.map(\.code))
        #expect(letters.map(\.offset) == Self.poison.indices.map { Int64($0) * 2 + 1 })
        for (letter, poison) in zip(letters, Self.poison) {
            #expect(letter.topic == harness.topic && letter.partition == 0)
            #expect(!letter.reason.isEmpty)
            #expect(letter.valueBytes == poison.value?.count ?? 0)
            if letter.code == "decode.too_large" {
                #expect(letter.value == Array((poison.value ?? []).prefix(64 << 10)))
            } else {
                #expect(letter.value == poison.value)
            }
        }
        let count = try harness.read {
            try $0.count(FetchRequest("Message", where: "id BEGINSWITH 'good' OR id = 'last'"))
        }
        #expect(count == Self.poison.count + 1)
    }

    @Test func `tolerance none stops at the first bad record`() async throws {
        let harness = try WorkerHarness()
        harness.configuration.errors.tolerance = .none
        try harness.send([WorkerHarness.message("a"), "{", WorkerHarness.message("b")])
        try harness.start()
        try await harness.wait(for: "the end") { harness.runtime?.isStopping ?? true }
        await #expect(throws: IngestPipeline.Halt.self) { try await harness.stop() }
        let failing = harness.runtime?.health.readiness().first { $0.name == "halted" }
        #expect(failing?.reason?.contains("\(harness.topic)/0 offset 1") == true)
        #expect(try harness.read { try $0.deadLetterCount() } == 0)
    }

    // MARK: Positions

    @Test func `a lost position halts the partition and says so`() async throws {
        let harness = try WorkerHarness(partitions: 2)
        try harness.send((0..<10).map { WorkerHarness.message("m\($0)") })
        try harness.start()
        try await harness.waitForPosition(10)
        try await harness.stop()
        // As if the broker had lost its tail: the store waits for an offset that is not there.
        try setPosition(500, harness)
        try harness.start()
        try await harness.wait(for: "the halt") {
            harness.runtime?.health.readiness().contains { $0.name == "partitions" && !$0.isOK } ?? false
        }
        try harness.send([WorkerHarness.message("late")])
        // The other partition goes on.
        try harness.send([WorkerHarness.message("other")], partition: 1)
        try await harness.waitForPosition(1, partition: 1)
        #expect(try harness.position() == 500)
        try await harness.stop()
        #expect(try harness.read { try $0.count(FetchRequest("Message", where: "id = 'late'")) } == 0)
    }

    @Test func `a lost position is passed only when somebody says so`() async throws {
        let harness = try WorkerHarness()
        try harness.send((0..<10).map { WorkerHarness.message("m\($0)") })
        try harness.start()
        try await harness.waitForPosition(10)
        try await harness.stop()
        try setPosition(500, harness)
        harness.configuration.kafka.onPositionLost = .earliest
        try harness.send([WorkerHarness.message("late")])
        try harness.start()
        try await harness.wait(for: "the late message") {
            try harness.runtime?.store.read { try $0.count(FetchRequest("Message", where: "id = 'late'")) } == 1
        }
        try await harness.stop()
    }

    @Test func `another record in the last one's place halts the partition`() async throws {
        let harness = try WorkerHarness()
        try harness.send((0..<10).map { WorkerHarness.message("m\($0)") })
        try harness.start()
        try await harness.waitForPosition(10)
        try await harness.stop()
        // As if the topic had been made anew and filled beyond the store's position.
        try setPosition(4, harness, detail: "1700000000000-abc")
        try harness.start()
        try await harness.wait(for: "the halt") {
            harness.runtime?.health.readiness().contains { $0.name == "partitions" && !$0.isOK } ?? false
        }
        #expect(try harness.position() == 4)
        try await harness.stop()
        harness.configuration.kafka.onPositionLost = .earliest
        try harness.start()
        try await harness.waitForPosition(10)
        try await harness.stop()
    }

    /// The embedded broker makes topics that are asked for, so the event is the client's here.
    @Test func `a missing topic is reported until it is there`() throws {
        let health = HealthMonitor(rules: HealthRules())
        let worker = try ConsumerWorker.bare(health: health)
        func reason() -> String? { health.readiness().first { $0.name == "partitions" }?.reason }
        let event = ConsumerEvent(
            topicPartition: TopicPartition("later", -1), offset: nil,
            error: KafkaError(KafkaError.Code("UNKNOWN_TOPIC_OR_PART"), "no such topic", isRetriable: true))
        #expect(worker.take(event))
        #expect(reason()?.contains("later") == true)
        // It was made: a partition of it is assigned.
        #expect(try worker.begin([TopicPartition("later", 0)]) == [TopicPartition("later", 0): -2])
        #expect(reason() == nil)
    }

    private func setPosition(_ offset: Int64, _ harness: WorkerHarness, detail: String? = nil) throws {
        let store = try Store.open(path: harness.storePath, model: WorkerHarness.model)
        let writer = try WriterContext(store: store)
        _ = try writer.apply(
            WriterContext.Chunk(
                events: [],
                positions: [
                    SourcePosition(topic: harness.topic, partition: 0, nextOffset: offset, detail: detail)
                ]))
        try writer.close()
        try store.close()
    }

    // MARK: Rebalances

    @Test func `a second member that comes and goes loses nothing`() async throws {
        let harness = try WorkerHarness(partitions: 4)
        try harness.start()
        try await harness.wait(for: "readiness") { harness.isReady() }
        for partition in 0..<4 { try send(50, round: 0, partition, harness) }
        var other: Consumer? = try Consumer(
            configuration: [
                "bootstrap.servers": harness.broker.bootstrapServers, "group.id": "group",
                "session.timeout.ms": "6000", "auto.offset.reset": "latest",
            ], topics: [harness.topic])
        try await harness.wait(for: "the other member's partitions") {
            _ = try other?.poll(maxRecords: 1, timeoutMilliseconds: 50)
            return try other?.assignment.isEmpty == false
        }
        for partition in 0..<4 { try send(50, round: 1, partition, harness) }
        try other?.close()
        other = nil
        for partition in 0..<4 { try await harness.waitForPosition(100, partition: Int32(partition)) }
        try await harness.stop()
        #expect(try harness.read { try $0.count(FetchRequest("Message")) } == 400)
        #expect(try harness.read { try $0.deadLetterCount() } == 0)
    }

    func send(_ count: Int, round: Int, _ partition: Int, _ harness: WorkerHarness) throws {
        let values = (0..<count).map { WorkerHarness.message("\(round)-\(partition)-\($0)", chat: "c\(partition)") }
        try harness.send(values, partition: Int32(partition))
    }

    /// The history that waits for the publisher is held from the first moment, before anything was delivered.
    @Test func `the publisher's cursor stands before its first delivery`() async throws {
        let harness = try WorkerHarness()
        try harness.broker.setDown()
        try harness.start()
        let cursors = try harness.runtime?.store.read { try $0.cursors() }
        #expect(cursors == ["notifications:changes": 0])
        try await harness.wait(for: "the start") {
            harness.runtime?.health.readiness().contains { $0.name == "startup" && $0.isOK } ?? false
        }
        try await harness.stop()
    }

    // MARK: Refusals

    @Test func `refuses properties that break its promises`() throws {
        let harness = try WorkerHarness()
        harness.configuration.kafka.properties["enable.auto.commit"] = "true"
        #expect(throws: RouteError.self) { try harness.start() }
        harness.configuration.kafka.properties["enable.auto.commit"] = nil
        harness.configuration.kafka.properties["auto.offset.reset"] = "latest"
        #expect(throws: RouteError.self) { try harness.start() }
    }

    // MARK: The dead-letter topic

    @Test func `a dead letter topic that fails stops reading at the limit only`() async throws {
        let harness = try WorkerHarness()
        try harness.broker.createTopic("dead", partitions: 1)
        harness.configuration.notifications.topic = nil
        (harness.configuration.deadLetters.topic, harness.configuration.deadLetters.maxUnsent) = ("dead", 10)
        // Every dead letter is larger than what the client sends, also without its value.
        harness.configuration.author = String(repeating: "a", count: 1000)
        harness.configuration.kafka.properties["message.max.bytes"] = "1000"
        let bad = "{\"bad\":\"\(String(repeating: "x", count: 2000))\"}"
        try harness.start()
        try harness.send([bad, WorkerHarness.message("a")])
        try await harness.waitForPosition(2)
        try await harness.wait(for: "the failure in health") { failure(harness) != nil }
        // Below the limit reading goes on.
        try harness.send([WorkerHarness.message("b")])
        try await harness.waitForPosition(3)
        try harness.send(Array(repeating: bad, count: 12))
        try await harness.wait(for: "the limit") { failure(harness)?.contains("reading waits") == true }
        try await harness.wait(for: "the check of the limit") {
            failure(harness, of: "deadLetterOutbox")?.contains("nothing is consumed") == true
        }
        try harness.send([WorkerHarness.message("c")])
        try await Task.sleep(for: .seconds(2))
        // Those that were fetched with the one that reached the limit are saved too.
        #expect(try (12...15).contains(harness.position()))
        #expect(harness.runtime?.health.liveness().allSatisfy { $0.isOK } == true)
        try await harness.stop()

        harness.configuration.kafka.properties["message.max.bytes"] = nil
        try harness.start()
        try await harness.waitForPosition(16)
        try await harness.wait(for: "readiness") { harness.isReady() }
        try await harness.stop()
        #expect(try harness.read { try $0.sentDeadLetter(topic: "dead") } == 13)
        #expect(try harness.read { try $0.count(FetchRequest("Message")) } == 3)
    }

    private func failure(_ harness: WorkerHarness, of check: String = "deadLetters") -> String? {
        harness.runtime?.health.readiness().first { $0.name == check }?.reason
    }
}
