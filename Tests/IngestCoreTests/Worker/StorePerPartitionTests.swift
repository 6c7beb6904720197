import Foundation
import GraphCore
import KafkaClient
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import IngestCore
@testable import Operations

/// Processes with a store for each partition, against a broker inside the process.
extension WorkerRuntimeTests {
    @Suite(.serialized, .timeLimit(.minutes(60))) struct StorePerPartitionTests {
        /// A process that runs beside others.
        private final class Process {
            let supervisor: PartitionSupervisor
            private let task: Task<Void, any Error>

            init(_ harness: WorkerHarness, hooks: WorkerRuntime.Hooks = WorkerRuntime.Hooks()) throws {
                let supervisor = try PartitionSupervisor(
                    configuration: harness.configuration, model: WorkerHarness.model, logger: harness.logger,
                    hooks: hooks)
                self.supervisor = supervisor
                task = Task { try await supervisor.run(signals: []) }
            }

            var stores: [Int32] { supervisor.stores.map(\.partition) }

            func reason(_ check: String) -> String? {
                supervisor.readiness().first { $0.name == check }?.reason
            }

            func stop() async throws {
                await supervisor.requestStop()
                try await task.value
            }
        }

        private func harness(partitions: Int = 3) throws -> WorkerHarness {
            let harness = try WorkerHarness(partitions: partitions)
            harness.configuration.store.path = harness.folder.appending(path: "store-{partition}.sqlite").path
            return harness
        }

        private func fill(_ harness: WorkerHarness, partitions: Int = 3, count: Int = 20, round: Int = 0) throws {
            for partition in 0..<partitions {
                try harness.send(
                    (0..<count).map { WorkerHarness.message("\(round)-\(partition)-\($0)", chat: "c\(partition)") },
                    partition: Int32(partition))
            }
        }

        private func read<Result>(
            _ harness: WorkerHarness, _ partition: Int32, _ body: (ReadContext) throws -> Result
        ) throws -> Result {
            let path = harness.configuration.ofPartition(partition).store.path
            let store = try Store.openForReading(path: path, model: WorkerHarness.model)
            defer { try? store.close() }
            return try store.read(body)
        }

        private func positions(_ harness: WorkerHarness, _ partition: Int32) -> [TopicPartition: Int64] {
            let positions = try? read(harness, partition) { try $0.positions() }
            return Dictionary(
                uniqueKeysWithValues: (positions ?? []).map { (TopicPartition($0.topic, $0.partition), $0.nextOffset) })
        }

        private func waitForPositions(
            _ harness: WorkerHarness, _ offset: Int64, partitions: Range<Int32> = 0..<3
        ) async throws {
            for partition in partitions {
                try await harness.wait(for: "offset \(offset) of partition \(partition)") {
                    positions(harness, partition)[TopicPartition("events", partition)] ?? 0 >= offset
                }
            }
        }

        @Test func `each partition has a store of its own, and the group its offsets`() async throws {
            let harness = try harness()
            try fill(harness)
            let process = try Process(harness)
            try await waitForPositions(harness, 20)
            try await harness.wait(for: "readiness") { process.supervisor.readiness().allSatisfy(\.isOK) }
            #expect(process.supervisor.readiness().contains { $0.name == "2.store" })
            try await process.stop()
            for partition in Int32(0)..<3 {
                #expect(try read(harness, partition) { try $0.count(FetchRequest("Message")) } == 20)
                #expect(try read(harness, partition) { try $0.count(FetchRequest("Chat")) } == 1)
            }
            let admin = try Admin(configuration: ["bootstrap.servers": harness.broker.bootstrapServers])
            let all = (Int32(0)..<3).map { TopicPartition("events", $0) }
            #expect(
                try admin.committedOffsets(group: "group", partitions: all)
                    == Dictionary(uniqueKeysWithValues: all.map { ($0, 20) }))
        }

        @Test func `two processes share the partitions, and one has all when the other ends`() async throws {
            let harness = try harness(partitions: 4)
            try fill(harness, partitions: 4)
            let first = try Process(harness)
            try await waitForPositions(harness, 20, partitions: 0..<4)
            let second = try Process(harness)
            try await harness.wait(for: "a share for each") { first.stores.count == 2 && second.stores.count == 2 }
            #expect(Set(first.stores + second.stores) == [0, 1, 2, 3])
            try fill(harness, partitions: 4, round: 1)
            try await waitForPositions(harness, 40, partitions: 0..<4)
            try await first.stop()
            try await harness.wait(for: "all partitions") { second.stores == [0, 1, 2, 3] }
            try fill(harness, partitions: 4, round: 2)
            try await waitForPositions(harness, 60, partitions: 0..<4)
            try await second.stop()
            for partition in Int32(0)..<4 {
                #expect(try read(harness, partition) { try $0.count(FetchRequest("Message")) } == 60)
            }
        }

        @Test func `a broadcast topic stands whole in each store, and the group has no offsets of it`() async throws {
            let harness = try harness()
            try harness.broker.createTopic("members", partitions: 2)
            var members = TopicConfiguration(name: "members")
            members.broadcast = true
            harness.configuration.topics.append(members)
            let producer = try Producer(configuration: ["bootstrap.servers": harness.broker.bootstrapServers])
            for number in 0..<10 {
                let event = """
                    {"specversion":"1.0","id":"\(number)","source":"/test","type":"member.upserted",\
                    "data":{"id":"m\(number)","name":"Member \(number)"}}
                    """
                try producer.enqueue(
                    ProducerRecord(
                        topic: "members", partition: Int32(number % 2), key: nil, value: [UInt8](event.utf8)))
            }
            try producer.flush(timeoutMilliseconds: patientMilliseconds)
            try fill(harness)
            let process = try Process(harness)
            try await waitForPositions(harness, 20)
            for partition in Int32(0)..<3 {
                try await harness.wait(for: "the members in store \(partition)") {
                    try read(harness, partition) { try $0.count(FetchRequest("Member")) } == 10
                }
                #expect(positions(harness, partition)[TopicPartition("members", 1)] == 5)
            }
            try await process.stop()
            let admin = try Admin(configuration: ["bootstrap.servers": harness.broker.bootstrapServers])
            let place = TopicPartition("members", 0)
            #expect(try admin.committedOffsets(group: "group", partitions: [place])[place] == nil)
        }

        @Test func `a store that another writer has lets its partition wait, and the others go on`() async throws {
            let harness = try harness()
            try fill(harness)
            let path = harness.configuration.ofPartition(1).store.path
            let other = try WriterContext(store: Store.open(path: path, model: WorkerHarness.model))
            let process = try Process(harness)
            try await waitForPositions(harness, 20, partitions: 0..<1)
            try await waitForPositions(harness, 20, partitions: 2..<3)
            try await harness.wait(for: "the reason") {
                process.reason("1.store")?.contains("has a writer of the store already") == true
            }
            try other.close()
            try await waitForPositions(harness, 20)
            try await harness.wait(for: "readiness") { process.supervisor.readiness().allSatisfy(\.isOK) }
            try await process.stop()
        }

        @Test func `a missing store of a partition that the group has read is refused, or made again`() async throws {
            let harness = try harness()
            try fill(harness)
            let first = try Process(harness)
            try await waitForPositions(harness, 20)
            try await first.stop()
            for end in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: harness.configuration.ofPartition(1).store.path + end)
            }
            let second = try Process(harness)
            try await harness.wait(for: "the reason") { process(second, says: "up to offset 20") }
            #expect(process(second, says: "store.missing: rebuild"))
            try await harness.wait(for: "the others") { second.stores == [0, 2] }
            #expect(!FileManager.default.fileExists(atPath: harness.configuration.ofPartition(1).store.path))
            try await second.stop()

            harness.configuration.store.missing = .rebuild
            let third = try Process(harness)
            try await waitForPositions(harness, 20)
            try await third.stop()
            #expect(try read(harness, 1) { try $0.count(FetchRequest("Message")) } == 20)
        }

        private func process(_ process: Process, says text: String) -> Bool {
            process.reason("1.store")?.contains(text) == true
        }

        @Test func `topics of different numbers of partitions are refused with the remedy`() throws {
            let harness = try harness()
            try harness.broker.createTopic("orders", partitions: 5)
            harness.configuration.topics.append(TopicConfiguration(name: "orders"))
            let error = #expect(throws: PartitionError.self) { try Process(harness) }
            #expect(error?.code == .counts)
            #expect(error?.description.contains("events has 3 partitions and orders has 5") == true)
            #expect(error?.remedy.contains("broadcast: true") == true)
        }

        @Test func `a topic that comes later with other partitions fails a check, and its partitions are read`()
            async throws
        {
            let harness = try harness()
            harness.configuration.topics.append(TopicConfiguration(name: "orders"))
            try fill(harness)
            let process = try Process(harness)
            try await waitForPositions(harness, 20)
            try harness.broker.createTopic("orders", partitions: 5)
            try await harness.wait(for: "the reason") {
                process.reason("partitions")?.contains("orders has 5") == true
            }
            try await harness.wait(for: "the topic in each store") {
                process.stores.allSatisfy { process.reason("\($0).partitions") == nil }
            }
            try await process.stop()
        }

        @Test func `one server shows all stores, and each below its own path`() async throws {
            let harness = try harness()
            harness.configuration.http.enabled = true
            harness.configuration.http.port = 0
            try fill(harness)
            let port = Mutex(0)
            var hooks = WorkerRuntime.Hooks()
            hooks.onHTTPBound = { number in port.withLock { $0 = number } }
            let process = try Process(harness, hooks: hooks)
            try await waitForPositions(harness, 20)
            try await harness.wait(for: "readiness") { process.supervisor.readiness().allSatisfy(\.isOK) }
            harness.configuration.http.port = port.withLock { $0 }
            let get = HTTPGet(harness.configuration.http)
            func text(_ path: String) -> String? {
                get.answer(path).map { "\($0.code) " + String(decoding: $0.body, as: UTF8.self) }
            }
            #expect(text("/readyz") == "200 ok\n")
            #expect(text("/readyz?verbose")?.contains("[+]2.publisher ok") == true)
            #expect(text("/livez") == "200 ok\n")
            let metrics = try #require(text("/metrics"))
            #expect(metrics.contains(#"ingest_records_total{store="1"} 20"#))
            #expect(metrics.contains(#"ingest_position{store="2",topic="events",partition="2"} 20"#))
            #expect(metrics.components(separatedBy: "# TYPE ingest_records_total counter").count == 2)
            #expect(metrics.contains("\nprocess_resident_memory_bytes "))
            #expect(text("/stores/1/readyz") == "200 ok\n")
            #expect(text("/stores/1/status")?.contains("store-1.sqlite") == true)
            #expect(text("/status")?.contains(#""stores":{"0":{"#) == true)
            #expect(text("/")?.contains(#"href="stores/2/""#) == true)
            #expect(text("/stores/1/")?.contains("console/console.js") == true)
            #expect(text("/changes?wait=0")?.hasPrefix(#"200 [{"specversion":"1.0""#) == true)
            #expect(text("/stores/7/readyz")?.hasPrefix("404") == true)
            #expect(text("/nothing")?.hasPrefix("404") == true)
            // The command finds the store's worker behind the one server.
            let report = try StatusSource(
                configuration: harness.configuration.ofPartition(1), model: WorkerHarness.model
            ).report()
            #expect(report.ready == true)
            try await process.stop()
        }
    }
}
