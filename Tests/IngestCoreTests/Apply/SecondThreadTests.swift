import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import IngestCore
@testable import SQLiteStorage

/// Chunks that one thread saves while another decodes.
@Suite struct SecondThreadTests {
    private func fixture(
        threads: Int, _ change: (inout WorkerConfiguration) -> Void = { _ in }
    ) throws -> PipelineFixture {
        var options = WriterContext.Options()
        options.now = { 1_000_000 }
        return try PipelineFixture(options: options) {
            $0.chunk.threads = threads
            ($0.chunk.maxOperations, $0.chunk.maxBacklogOperations) = (5, 160)
            change(&$0)
        }
    }

    private func history(_ fixture: PipelineFixture) throws -> [String] {
        try fixture.store.read { try $0.history(after: 0, limit: 100_000) }.map { "\($0)" }
    }

    @Test(arguments: [160, 1]) func `two threads make the chunks, the history and the store of one`(
        backlogOperations: Int
    ) throws {
        var stream = ChatStream(SeededRandom.forTest("two threads make the chunks of one"))
        let records = Events.records(stream.events(900))
        let fixtures = try [1, 2].map { threads in
            let fixture = try fixture(threads: threads) { $0.chunk.maxBacklogOperations = backlogOperations }
            // Some records end the backlog.
            for (index, record) in records.enumerated() { try fixture.add(record, hasBacklog: index % 251 != 250) }
            try fixture.pipeline.finish()
            return fixture
        }
        #expect(fixtures[0].commits == fixtures[1].commits)
        #expect(fixtures[0].commits.count > 10)
        #expect(try history(fixtures[0]) == history(fixtures[1]))
        #expect(try fixtures[0].dump() == fixtures[1].dump())
        let summaries = fixtures.map {
            ($0.pipeline.summary.applied, $0.pipeline.summary.stale, $0.pipeline.summary.deadLetters)
        }
        #expect(summaries[0] == summaries[1] && summaries[0].2 > 0)
    }

    @Test func `records are decoded while a chunk is saved`() throws {
        let fixture = try fixture(threads: 2)
        let records = Events.records((0..<14).map { Events.message("m\($0)") })
        try fixture.writer.exclusively {
            // The save waits for this thread, which holds the writer.
            for record in records[..<9] { try fixture.add(record) }
            #expect(fixture.pipeline.summary.records == 9 && fixture.commits.isEmpty)
            #expect(fixture.pipeline.deadline == 0)
        }
        for record in records[9...] { try fixture.add(record) }
        try fixture.pipeline.finish()
        #expect(fixture.commits.map { $0.map(\.nextOffset) } == [[5], [14]])
        #expect(fixture.pipeline.deadline == nil)
    }

    @Test func `a chunk that cannot be saved takes the open one with it`() throws {
        let fixture = try fixture(threads: 2)
        let records = Events.records((0..<9).map { Events.message("m\($0)") })
        try fixture.writer.write("break the store") { try $0.run("ALTER TABLE Message RENAME TO Gone") }
        for record in records { try fixture.add(record) }
        #expect(caught(StoreError.self) { try fixture.pipeline.settle() }?.code == .database)
        #expect(fixture.pipeline.deadline == nil)
        try fixture.pipeline.finish()
        #expect(fixture.commits.isEmpty)
        try fixture.writer.write("mend the store") { try $0.run("ALTER TABLE Gone RENAME TO Message") }
        try fixture.feed(records)
        #expect(try fixture.identities("Message").count == 9)
    }

    @Test func `a pipeline that is discarded keeps what was being saved`() throws {
        let fixture = try fixture(threads: 2)
        for record in Events.records((0..<9).map({ Events.message("m\($0)") })) { try fixture.add(record) }
        try fixture.pipeline.discard()
        #expect(fixture.commits.map { $0.map(\.nextOffset) } == [[5]])
        #expect(try fixture.identities("Message").count == 5)
    }

    @Test func `where a bad record stops the worker, no record behind its chunk is decoded`() throws {
        let fixture = try fixture(threads: 2) { $0.errors.tolerance = .none }
        var events = (0..<9).map { Events.message("m\($0)") }
        // It decodes, and breaks a rule when it is applied.
        events[2] = Events.event("member.created", "{\"id\":\"u1\",\"email\":\"x\"}")
        let halt = caught(IngestPipeline.Halt.self) {
            for record in Events.records(events) { try fixture.add(record) }
        }
        #expect(halt?.location?.contains("offset 2") == true, "\(String(describing: halt))")
        #expect(fixture.pipeline.summary.records == 5)
        #expect(try fixture.identities("Message").isEmpty)
    }
}
