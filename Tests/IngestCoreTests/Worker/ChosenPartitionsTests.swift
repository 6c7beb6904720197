import Foundation
import KafkaClient
import ObjectGraph
import TestSupport
import Testing

@testable import IngestCore

/// Workers that read the partitions of `kafka.partitions`, against a broker inside the process.
extension WorkerRuntimeTests {
    @Suite(.serialized, .timeLimit(.minutes(60))) struct ChosenPartitionsTests {
        private func fill(_ harness: WorkerHarness, partitions: Int, count: Int = 20, round: Int = 0) throws {
            for partition in 0..<partitions {
                try harness.send(
                    (0..<count).map { WorkerHarness.message("\(round)-\(partition)-\($0)", chat: "c\(partition)") },
                    partition: Int32(partition))
            }
        }

        private func partitions(_ harness: WorkerHarness) throws -> [Int32] {
            try harness.read { try $0.positions().map(\.partition).sorted() }
        }

        private func reason(_ harness: WorkerHarness, _ check: String = "partitions") -> String? {
            harness.runtime?.health.readiness().first { $0.name == check }?.reason
        }

        @Test func `a worker reads its share without a group and commits its offsets`() async throws {
            let harness = try WorkerHarness(partitions: 4)
            harness.configuration.kafka.partitions = .share(index: 1, count: 2)
            try fill(harness, partitions: 4)
            try harness.start()
            try await harness.waitForPosition(20, partition: 1)
            try await harness.waitForPosition(20, partition: 3)
            try await harness.wait(for: "readiness") { harness.isReady() }
            #expect(harness.runtime?.health.readiness().map(\.name).contains("assignment") == true)
            try await harness.stop()
            #expect(try partitions(harness) == [1, 3])
            #expect(try harness.read { try $0.count(FetchRequest("Message")) } == 40)
            let admin = try Admin(configuration: ["bootstrap.servers": harness.broker.bootstrapServers])
            let all = (Int32(0)..<4).map { TopicPartition("events", $0) }
            #expect(
                try admin.committedOffsets(group: "group", partitions: all)
                    == [TopicPartition("events", 1): 20, TopicPartition("events", 3): 20])

            // It goes on from the store's positions.
            try fill(harness, partitions: 4, count: 5, round: 1)
            try harness.start()
            try await harness.waitForPosition(25, partition: 1)
            try await harness.waitForPosition(25, partition: 3)
            try await harness.stop()
            #expect(try harness.read { try $0.count(FetchRequest("Message")) } == 50)
        }

        @Test func `a topic that comes later is taken without a restart`() async throws {
            let harness = try WorkerHarness(partitions: 1)
            harness.configuration.kafka.partitions = .share(index: 0, count: 2)
            harness.configuration.topics.append(TopicConfiguration(name: "later"))
            try fill(harness, partitions: 1)
            try harness.start()
            try await harness.waitForPosition(20)
            try await harness.wait(for: "the missing topic in health") {
                reason(harness)?.contains("later") == true
            }
            try harness.broker.createTopic("later", partitions: 3)
            let producer = try Producer(configuration: ["bootstrap.servers": harness.broker.bootstrapServers])
            try producer.enqueue(
                ProducerRecord(
                    topic: "later", partition: 2, key: nil, value: [UInt8](WorkerHarness.message("x").utf8)))
            try producer.flush(timeoutMilliseconds: patientMilliseconds)
            try await harness.wait(for: "readiness") { harness.isReady() }
            try await harness.wait(for: "the later record") {
                try harness.runtime?.store.read { try $0.positions() }.contains {
                    $0.topic == "later" && $0.partition == 2
                } == true
            }
            try await harness.stop()
        }

        @Test func `readiness reports missing partitions of a list`() async throws {
            let harness = try WorkerHarness(partitions: 2)
            harness.configuration.kafka.partitions = PartitionSelection("1,5")
            try fill(harness, partitions: 2)
            try harness.start()
            try await harness.waitForPosition(20, partition: 1)
            try await harness.wait(for: "the reason") { reason(harness) != nil }
            #expect(reason(harness)?.contains("events/5 halted: the topic has no partition 5, only 2") == true)
            try await harness.stop()
            #expect(try partitions(harness) == [1])
        }

        @Test func `a store of other partitions is refused`() async throws {
            let harness = try WorkerHarness(partitions: 4)
            try fill(harness, partitions: 4, count: 1)
            harness.configuration.kafka.partitions = PartitionSelection("0-2")
            try harness.start()
            for partition in Int32(0)..<3 { try await harness.waitForPosition(1, partition: partition) }
            try await harness.stop()

            harness.configuration.kafka.partitions = .share(index: 1, count: 2)
            let error = #expect(throws: PartitionError.self) { try harness.start() }
            #expect(error?.description.contains("holds records of events/0, events/2,") == true)
            #expect(error?.description.contains("{partition}") == true)
            // More partitions than before are the same store's.
            harness.configuration.kafka.partitions = PartitionSelection("0-3")
            try harness.start()
            try await harness.waitForPosition(1, partition: 3)
            try await harness.stop()
        }

        @Test func `a lost position halts a chosen partition too`() async throws {
            let harness = try WorkerHarness(partitions: 2)
            harness.configuration.kafka.partitions = .all
            try fill(harness, partitions: 2)
            try harness.start()
            for partition in Int32(0)..<2 { try await harness.waitForPosition(20, partition: partition) }
            try await harness.stop()
            let store = try Store.open(path: harness.storePath, model: WorkerHarness.model)
            let writer = try WriterContext(store: store)
            _ = try writer.apply(
                WriterContext.Chunk(
                    events: [], positions: [SourcePosition(topic: harness.topic, partition: 0, nextOffset: 500)]))
            try writer.close()
            try store.close()
            try harness.start()
            try await harness.wait(for: "the halt") { reason(harness)?.contains("events/0 halted") == true }
            try harness.send([WorkerHarness.message("other")], partition: 1)
            try await harness.waitForPosition(21, partition: 1)
            try await harness.stop()
            harness.configuration.kafka.onPositionLost = .earliest
            try harness.start()
            try await harness.wait(for: "readiness") { harness.isReady() }
            try harness.send([WorkerHarness.message("more")], partition: 0)
            try await harness.wait(for: "the record after the jump") {
                try harness.runtime?.store.read { try $0.count(FetchRequest("Message", where: "id = 'more'")) } == 1
            }
            try await harness.stop()
        }
    }
}
