import Foundation
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import GraphCore
@testable import IngestCore
@testable import KafkaClient
@testable import Operations
@testable import RecordDecoding
@testable import SQLiteStorage

/// What is in flight when the group takes partitions: saved or dropped before they are given up.
@Suite struct RevocationTests {
    private let zero = TopicPartition("t", 0)
    private let one = TopicPartition("t", 1)
    private let worker: ConsumerWorker
    private let consumer: Consumer

    /// A worker with a record of each of two partitions that is not saved.
    init() throws {
        worker = try ConsumerWorker.bare()
        consumer = try Consumer(withoutGroup: ["bootstrap.servers": "127.0.0.1:1", "group.id": "g"])
        _ = try worker.rebalance(.assigned([zero, one]), consumer)
        for partition in [zero, one] { try add(partition) }
        #expect(worker.pipeline.deadline != nil)
    }

    private func add(_ partition: TopicPartition, at offset: Int64 = 0) throws {
        let place = RecordPlace(topic: partition.topic, partition: partition.partition, offset: offset)
        try worker.pipeline.add(SourceRecord(place: place, key: nil, value: nil), nextOffset: offset + 1) {
            _ throws(DecodeError) in ChangeSet([])
        }
    }

    private func positions() throws -> [TopicPartition: Int64] {
        let all = try worker.store.read { try $0.positions() }
        return Dictionary(uniqueKeysWithValues: all.map { (TopicPartition($0.topic, $0.partition), $0.nextOffset) })
    }

    @Test func `the worker saves records of a revoked partition first`() throws {
        _ = try worker.rebalance(.revoked([zero]), consumer)
        #expect(try positions() == [zero: 1, one: 1])
        #expect(worker.pipeline.deadline == nil)
        #expect(worker.partitions.states.keys.map { $0 } == [one])
        #expect(!worker.isStoreRefusing)
        // The broker is told of no partition that is not the worker's any more.
        #expect(worker.partitions.offsetsToCommit.keys.allSatisfy { $0 == one })
    }

    @Test func `the worker drops records of a lost partition`() throws {
        _ = try worker.rebalance(.lost([zero, one]), consumer)
        #expect(try positions().isEmpty)
        #expect(worker.pipeline.deadline == nil)
        #expect(worker.partitions.states.isEmpty && worker.partitions.offsetsToCommit.isEmpty)
        // If they come back, they are read again.
        #expect(
            try worker.rebalance(.assigned([zero, one]), consumer)
                == [zero: PartitionProgress.beginning, one: PartitionProgress.beginning])
    }

    @Test func `a partition that comes back while the worker rests drops no record for good`() throws {
        worker.recover(from: StoreError(resultCode: 5, action: "write the store"))
        _ = try worker.rebalance(.lost([zero, one]), consumer)
        _ = try worker.rebalance(.assigned([zero, one]), consumer)
        // A record that comes now is dropped, so reading has to go back.
        #expect([zero, one].allSatisfy { worker.partitions[$0]?.condition == .paused(.store) })
        worker.failures.rest = nil
        try worker.discardIfRefused()
        #expect(worker.partitions.due(.compareLastRecord) == [zero, one])
    }

    /// Another worker reads those that the group gives it, as far as the store was known when it was away.
    @Test func `partitions that come back while the store is away are nobody else's`() throws {
        var configuration = WorkerConfiguration()
        configuration.topics = [TopicConfiguration(name: "t")]
        let worker = try ConsumerWorker.bare(configuration, sharing: self.worker)
        try self.worker.pipeline.finish()
        _ = try worker.rebalance(.assigned([zero]), consumer)
        #expect(worker.reading.unassigned == [one])
        worker.reading.readPositions = { throw StoreError(resultCode: 5, action: "read the store") }
        _ = try worker.rebalance(.revoked([zero]), consumer)
        _ = try worker.rebalance(.assigned([zero, one]), consumer)
        #expect(worker.reading.unassigned.isEmpty)
        _ = try worker.rebalance(.revoked([zero, one]), consumer)
        _ = try worker.rebalance(.assigned([one]), consumer)
        #expect(worker.reading.unassigned == [zero])
    }

    @Test func `a further partition is read after the open chunk is saved`() throws {
        let two = TopicPartition("t", 2)
        _ = try worker.rebalance(.assigned([two]), consumer)
        #expect(try positions() == [zero: 1, one: 1])
        #expect(Set(worker.partitions.states.keys) == [zero, one, two])
    }

    /// The group may have taken a partition without having said so yet: then a seek is refused.
    @Test func `a seek that is refused is tried again and repeats nothing`() throws {
        // The client knows the partition now, and does not read it.
        _ = try consumer.watermarks(zero)
        try worker.compareLastRecords(of: [zero], consumer)
        #expect(worker.partitions.due(.compareLastRecord) == [zero])
        try add(one, at: 1)
        try consumer.assign(adding: [zero: 0])
        try worker.carryOutDue(consumer)
        #expect(worker.partitions.due(.compareLastRecord).isEmpty && worker.pipeline.deadline == nil)
        #expect(try positions() == [zero: 1, one: 2])
        #expect(worker.partitions[zero]?.progress.next == 1)
    }

    @Test func `partitions are taken though the store does not tell its positions, and nothing of them before it does`()
        throws
    {
        let two = TopicPartition("t", 2)
        let readPositions = worker.reading.readPositions
        worker.reading.readPositions = { throw StoreError(resultCode: 5, action: "read the store") }
        let starts = try worker.rebalance(.assigned([two]), consumer)
        #expect(starts == [two: PartitionProgress.beginning])
        #expect([zero, one, two].allSatisfy { worker.partitions[$0]?.condition == .paused(.store) })
        try worker.discardIfRefused()
        #expect(throws: StoreError.self) { try worker.carryOutDue(consumer) }
        #expect(worker.partitions.due(.compareLastRecord) == [zero, one, two])
        worker.reading.readPositions = readPositions
        try consumer.assign(adding: [zero: 0, one: 0, two: 0])
        try worker.carryOutDue(consumer)
        #expect(worker.partitions.uncompared.isEmpty && worker.partitions[zero]?.progress.next == 1)
        // What nothing can help ends the worker.
        worker.reading.readPositions = { throw StoreError(resultCode: 11, action: "read the store") }
        #expect(throws: StoreError.self) { try worker.rebalance(.assigned([two]), consumer) }
    }

    @Test func `the worker drops a chunk that the store refuses and reads the rest again`() throws {
        let lock = try HeldLock(worker.store.path)
        defer { lock.release() }
        try worker.store.sqlite().onWriter { handle in
            try SQLiteWriterSession(handle, model: WorkerHarness.model).runOnce("PRAGMA busy_timeout = 10")
        }
        try wait(for: "the stranger's lock") {
            do {
                try worker.pipeline.writer.putCursors(["a": 0])
                try worker.pipeline.writer.commit()
                return false
            } catch let error as StoreError where error.code == .busy {
                return true
            }
        }
        _ = try worker.rebalance(.revoked([zero]), consumer)
        #expect(try positions().isEmpty)
        #expect(worker.pipeline.deadline == nil)
        #expect(worker.partitions[one]?.condition == .paused(.store))
    }
}

extension WorkerRuntimeTests {
    /// The same with a real group, whose protocol calls inside the poll.
    @Suite(.serialized, .timeLimit(.minutes(60))) struct GroupTests {
        private func member(_ harness: WorkerHarness) throws -> Consumer {
            try Consumer(
                configuration: [
                    "bootstrap.servers": harness.broker.bootstrapServers, "group.id": "group",
                    "session.timeout.ms": "6000", "auto.offset.reset": "latest",
                ], topics: [harness.topic])
        }

        private func send(_ count: Int, round: Int, _ harness: WorkerHarness, partitions: Int = 4) throws {
            for partition in 0..<partitions {
                try harness.send(
                    (0..<count).map { WorkerHarness.message("\(round)-\(partition)-\($0)", chat: "c\(partition)") },
                    partition: Int32(partition))
            }
        }

        @Test func `open records are saved before another member gets the partition`() async throws {
            let harness = try WorkerHarness(partitions: 4)
            // Behind the first record nothing is saved by itself.
            harness.configuration.chunk.maxOperations = 100_000
            harness.configuration.chunk.maxMilliseconds = 600_000
            try harness.start()
            try await harness.wait(for: "readiness") { harness.isReady() }
            try send(1, round: 1, harness, partitions: 1)
            try await harness.waitForPosition(1)
            try send(50, round: 0, harness)
            let consumer = try #require(harness.runtime?.worker.requests.source as? Consumer)
            let places = (Int32(0)..<4).map { TopicPartition(harness.topic, $0) }
            try await harness.wait(for: "the records") {
                try consumer.position(places) == [places[0]: 51, places[1]: 50, places[2]: 50, places[3]: 50]
            }
            #expect(try (Int32(0)..<4).map { try harness.position($0) } == [1, 0, 0, 0])
            let other = try member(harness)
            try await harness.wait(for: "the other member's partitions") {
                _ = try other.poll(maxRecords: 1, timeoutMilliseconds: 50)
                return try !other.assignment.isEmpty
            }
            #expect(try (Int32(0)..<4).map { try harness.position($0) } == [51, 50, 50, 50])
            let taken = try other.assignment
            #expect(try other.committed(taken).values.allSatisfy { $0 <= 51 })
            try other.close()
            try await harness.stop()
            #expect(try harness.read { try $0.count(FetchRequest("Message")) } == 201)
        }

        @Test func `a partition that the store has read and another member gets degrades the verdict`() async throws {
            let harness = try WorkerHarness(partitions: 4)
            try harness.start()
            try await harness.wait(for: "readiness") { harness.isReady() }
            try send(10, round: 0, harness)
            for partition in Int32(0)..<4 { try await harness.waitForPosition(10, partition: partition) }
            #expect(harness.isReady())
            let other = try member(harness)
            func reason() -> String? { harness.runtime?.health.readiness().first { $0.name == "members" }?.reason }
            try await harness.wait(for: "the loss") {
                _ = try other.poll(maxRecords: 1, timeoutMilliseconds: 50)
                return reason() != nil
            }
            #expect(reason()?.contains("the store has records of \(harness.topic)/") == true)
            let verdict = WorkerVerdict(harness.runtime?.health.readiness() ?? [], WorkerVerdict.Figures())
            #expect(verdict.state == .degraded && verdict.attention.first?.remedy.contains("kafka.partitions") == true)
            try other.close()
            try await harness.wait(for: "the partitions") { reason() == nil && harness.isReady() }
            try await harness.stop()
        }

        /// A commit that takes longer than `max.poll.interval.ms`: the client leaves the group by itself.
        @Test func `a worker that stood still for longer than the group waits returns and repeats nothing`()
            async throws
        {
            let harness = try WorkerHarness(partitions: 4)
            harness.configuration.kafka.properties["max.poll.interval.ms"] = "6000"
            harness.configuration.store.busyTimeoutMilliseconds = 60_000
            try send(50, round: 0, harness)
            try harness.start()
            for partition in Int32(0)..<4 { try await harness.waitForPosition(50, partition: partition) }
            try await harness.wait(for: "readiness") { harness.isReady() }

            let lock = try HeldLock(harness.storePath)
            try send(50, round: 1, harness)
            try await harness.wait(for: "the silence in health") {
                harness.runtime?.health.readiness().contains { $0.name == "loop" && !$0.isOK } ?? false
            }
            // It is a member no more: another one that joins has all partitions, though this one stands still.
            let other = try member(harness)
            try await harness.wait(for: "all partitions with the other member") {
                _ = try other.poll(maxRecords: 1, timeoutMilliseconds: 50)
                return try other.assignment.count == 4
            }
            for partition in Int32(0)..<4 { #expect(try harness.position(partition) == 50) }
            lock.release()
            // It joins again, and has what is its own; the rest when the other one leaves.
            try await harness.wait(for: "the way back") {
                _ = try other.poll(maxRecords: 1, timeoutMilliseconds: 50)
                // The check of members says that the other one has partitions of this store.
                let checks = harness.runtime?.health.readiness() ?? []
                let isBack = !checks.isEmpty && checks.allSatisfy { $0.isOK || $0.name == "members" }
                return try other.assignment.count == 2 && isBack
            }
            try other.close()
            try send(50, round: 2, harness)
            for partition in Int32(0)..<4 { try await harness.waitForPosition(150, partition: partition) }
            // The store was its own all the while.
            #expect(throws: StoreError.self) {
                try WriterContext(store: Store.open(path: harness.storePath, model: WorkerHarness.model))
            }
            try await harness.stop()
            #expect(try harness.read { try $0.count(FetchRequest("Message")) } == 600)
            #expect(try harness.read { try $0.count(FetchRequest("Chat", where: "messagesCount = 150")) } == 4)
            #expect(try harness.read { try $0.deadLetterCount() } == 0)
            // No event had its effect twice: each message has one change in the history.
            let changes = try harness.read { try messageChanges($0) }
            #expect(changes == 600)
        }

        /// The store is busy while the group hands partitions out, or while the worker takes those it was given, and for
        /// some attempts more.
        @Test(arguments: [nil, PartitionSelection.share(index: 0, count: 1)])
        func `a store that does not tell its positions for a moment ends nothing`(_ partitions: PartitionSelection?)
            async throws
        {
            let harness = try WorkerHarness(partitions: 2)
            harness.configuration.kafka.partitions = partitions
            try send(10, round: 0, harness, partitions: 2)
            try harness.start()
            for partition in Int32(0)..<2 { try await harness.waitForPosition(10, partition: partition) }
            try await harness.stop()
            try send(10, round: 1, harness, partitions: 2)
            let refusals = Mutex(4)
            try harness.start { worker in
                let readPositions = worker.reading.readPositions
                worker.reading.readPositions = {
                    let isRefused = refusals.withLock { count in
                        count -= 1
                        return count >= 0
                    }
                    if isRefused { throw StoreError(resultCode: 5, action: "read the store") }
                    return try readPositions()
                }
            }
            for partition in Int32(0)..<2 { try await harness.waitForPosition(20, partition: partition) }
            try await harness.wait(for: "readiness") { harness.isReady() }
            #expect(refusals.withLock { $0 } < 0)
            #expect(harness.runtime?.metrics.records.value == 20, "the first ten of each are not taken again")
            try await harness.stop()
            #expect(try harness.read { try messageChanges($0) } == 40)
        }

        private func messageChanges(_ reader: ReadContext) throws -> Int {
            var request = HistoryRequest()
            request.entity = "Message"
            return try reader.historyCount(request)
        }
    }
}
