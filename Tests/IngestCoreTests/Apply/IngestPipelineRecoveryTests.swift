import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import IngestCore
@testable import SQLiteStorage

@Suite struct IngestPipelineRecoveryTests {
    /// How a store is made to refuse, and how it is mended.
    struct Fault: CustomTestStringConvertible {
        let testDescription: String
        let breaking: String
        let mending: String
        let code: StoreError.Code
    }

    private static let faults = [
        Fault(
            testDescription: "a table is gone", breaking: "ALTER TABLE Message RENAME TO Gone",
            mending: "ALTER TABLE Gone RENAME TO Message", code: .database),
        Fault(
            testDescription: "a position is refused",
            breaking: "CREATE TRIGGER refusal BEFORE UPDATE ON _position BEGIN SELECT RAISE(ABORT, 'refused'); END",
            mending: "DROP TRIGGER refusal", code: .constraint),
    ]

    @Test(arguments: faults, [1, 2])
    func `feeding again after a failure gives the same store`(fault: Fault, threads: Int) throws {
        var stream = ChatStream(SeededRandom.forTest("feedingAgainAfterAFailureGivesTheSameStore"))
        let records = Events.records(stream.events(300))
        let undisturbed = try PipelineFixture { $0.chunk.maxOperations = 20 }
        try undisturbed.feed(records)

        let fixture = try PipelineFixture {
            $0.chunk.maxOperations = 20
            $0.chunk.threads = threads
        }
        for record in records[..<100] { try fixture.add(record) }
        try fixture.pipeline.finish()
        let committed = try fixture.dump()
        try fixture.writer.write("break the store") { try $0.run(fault.breaking) }
        let failure = caught(StoreError.self) {
            for record in records[100...] { try fixture.add(record) }
            try fixture.pipeline.finish()
        }
        #expect(failure?.code == fault.code)
        try fixture.pipeline.discard()
        #expect(fixture.pipeline.deadline == nil)
        try fixture.writer.write("mend the store") { try $0.run(fault.mending) }
        #expect(try fixture.dump() == committed, "nothing of what failed was kept")
        try fixture.feed(records)
        #expect(try fixture.dump() == undisturbed.dump())
        #expect(try fixture.store.verify().isSound)
    }

    @Test(arguments: [1, 2]) func `the metrics count the records of a refused chunk once`(threads: Int) throws {
        let metrics = WorkerMetrics(version: "1", librdkafka: "2", sqlite: "3")
        let fixture = try PipelineFixture(metrics: metrics) { $0.chunk.threads = threads }
        let events = [
            Events.message("m1"), "broken", Events.message("m2"), Events.event("chat.deleted", "{\"id\":\"c9\"}"),
        ]
        func feed() throws {
            for record in Events.records(events) { try fixture.add(record) }
            try TestRecord("filtered", offset: 4).deliver { record in
                try fixture.pipeline.add(record, nextOffset: 5) { _ in ChangeSet([]) }
            }
            // An event that the store refuses, for its identity is empty: it is decoded, and its operation is not applied.
            try fixture.add(TestRecord(Events.event("message.created", "{\"id\":\"\"}"), offset: 5))
            try fixture.pipeline.finish()
        }
        func counts() -> [Int] {
            [
                metrics.records.value, metrics.filtered.value, metrics.deadLetters.with("decode").value,
                metrics.operations.with("Message", "upsert").value, metrics.operations.with("Chat", "delete").value,
                fixture.pipeline.summary.filtered, fixture.pipeline.summary.deadLetters,
            ]
        }
        try fixture.writer.write("break the store") { try $0.run(Self.faults[0].breaking) }
        for _ in 0..<2 {
            #expect(throws: StoreError.self) { try feed() }
            try fixture.pipeline.discard()
        }
        #expect(counts() == [0, 0, 0, 0, 0, 0, 0])
        try fixture.writer.write("mend the store") { try $0.run(Self.faults[0].mending) }
        try feed()
        #expect(counts() == [6, 1, 1, 2, 1, 1, 2])
    }

    @Test func `a move is saved with what is open and may go back`() throws {
        let fixture = try PipelineFixture()
        fixture.pipeline.begin(topic: "events", partition: 0, at: nil)
        try fixture.add(Events.records([Events.message("m1")])[0])
        try fixture.pipeline.move(to: [SourcePosition(topic: "events", partition: 0, nextOffset: 500)])
        #expect(try fixture.identities("Message") == ["m1"])
        #expect(try fixture.positions().map(\.nextOffset) == [500])
        #expect(try fixture.positions().map(\.detail) == [nil])
        try fixture.pipeline.move(to: [SourcePosition(topic: "events", partition: 0, nextOffset: 7)])
        #expect(try fixture.positions().map(\.nextOffset) == [7])
        #expect(fixture.commits.map { $0.map(\.nextOffset) } == [[500], [7]])
    }

    @Test func `the next writer gets uncommitted records again`() throws {
        var stream = ChatStream(SeededRandom.forTest("whatWasNotCommittedIsFedAgainByTheNextWriter"))
        let records = Events.records(stream.events(300))
        let undisturbed = try PipelineFixture()
        try undisturbed.feed(records)

        let store = try Store.inMemory(model: TestModels.chat())
        let first = try PipelineFixture(store: store) { $0.chunk.maxOperations = 10 }
        for record in records[..<120] { try first.add(record) }
        try first.pipeline.finish()
        // Another process takes the store over once the lease has run out.
        let second = try Store.open(path: store.path, model: store.model)
        var later = WriterContext.Options()
        later.now = { WriterContext.systemTime() + 60_000_000 }
        let next = try PipelineFixture(store: second, options: later) { $0.chunk.maxOperations = 33 }
        let failure = caught(StoreError.self) {
            for record in records[120...] { try first.add(record) }
            try first.pipeline.finish()
        }
        #expect(failure?.code == .fenced && failure?.isRetriable == false)
        try next.feed(records)
        #expect(try next.dump() == undisturbed.dump())
    }

    @Test func `a store that is busy may be tried again`() throws {
        var options = Store.Options()
        options.busyTimeoutMilliseconds = 20
        let store = try Store.inMemory(model: TestModels.chat(), options: options)
        let fixture = try PipelineFixture(store: store)
        try fixture.feed(Events.records([Events.message("m0")]))
        let other = try Store.open(path: store.path, model: store.model)
        let failure = try other.sqlite().database.unsafeReentrantWrite { database in
            try database.execute(sql: "BEGIN IMMEDIATE")
            defer { try? database.execute(sql: "ROLLBACK") }
            return caught(StoreError.self) {
                try fixture.add(TestRecord(Events.message("m1"), offset: 1))
                try fixture.pipeline.finish()
            }
        }
        #expect(failure?.code == .busy && failure?.isRetriable == true)
        try fixture.pipeline.discard()
        try fixture.feed(Events.records([Events.message("m0"), Events.message("m1")]))
        #expect(try fixture.identities("Message") == ["m0", "m1"])
    }

    /// The identities of the living objects, as the history tells of them from its beginning.
    private func living(_ fixture: PipelineFixture) throws -> [String: Set<String>] {
        var living: [String: Set<String>] = [:]
        for change in try fixture.store.read({ try $0.history(after: 0, limit: 100_000) }).flatMap(\.changes) {
            let identity = change.identity.text ?? ""
            let isKnown = living[change.entity, default: []].contains(identity)
            #expect(isKnown == (change.kind != .insert), "\(change.kind) of \(change.entity) \(identity)")
            if change.kind == .delete {
                living[change.entity]?.remove(identity)
            } else {
                living[change.entity, default: []].insert(identity)
            }
        }
        return living
    }

    @Test func `neither the store nor the fold of its history depends on the sizes of chunks`() throws {
        var stream = ChatStream(SeededRandom.forTest("neither the store nor the fold of its history"))
        let records = Events.records(stream.events(800))
        var chunkCounts: [Int] = []
        let dumps = try [(1, 1), (7, 1), (500, 1), (20, 160)].map { size, backlogSize in
            let fixture = try PipelineFixture {
                ($0.chunk.maxOperations, $0.chunk.maxBacklogOperations) = (size, backlogSize)
            }
            try fixture.feed(records)
            #expect(fixture.pipeline.summary.deadLetters > 0 && fixture.pipeline.summary.stale > 0)
            chunkCounts.append(fixture.pipeline.summary.chunks)
            for (entity, identities) in try living(fixture) {
                #expect(try fixture.identities(entity) == identities.sorted())
            }
            return try fixture.dump()
        }
        #expect(dumps.allSatisfy { $0 == dumps[0] })
        #expect(chunkCounts[3] < 30 && chunkCounts[1] > 100, "\(chunkCounts)")
    }
}
