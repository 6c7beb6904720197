import Foundation
import ObjectGraph
import Testing

@testable import GraphCore
@testable import IngestCore
@testable import SQLiteStorage

/// A request with a key is carried out once, whatever happens to the worker; each request leaves an entry.
@Suite struct RequestAuditTests {
    private let writer: WriterContext
    private var configuration = WorkerConfiguration()

    /// A store with five dead letters that can be applied, two letters a step.
    init() throws {
        configuration.topics = [TopicConfiguration(name: "events")]
        configuration.chunk.maxOperations = 2
        writer = try WriterContext(store: Store.inMemory(model: WorkerHarness.model))
        try add(0..<5)
    }

    private func add(_ numbers: Range<Int>) throws {
        let letters = numbers.map { offset in
            DeadLetter(
                time: 0, topic: "events", partition: 0, offset: Int64(offset), stage: "decode", code: "decode.type",
                reason: "r", key: nil, value: [UInt8](Events.message("m\(offset)").utf8), valueBytes: 1)
        }
        _ = try writer.apply(WriterContext.Chunk(events: [], deadLetters: letters))
        try writer.commit()
    }

    private func work(_ request: ControlRequest, key: String? = "key") throws -> ControlWork {
        try ControlWork(request, actor: "a test", key: key, writer: writer, configuration: configuration)
    }

    private func letters() throws -> [Int64] { try writer.store.read { try $0.deadLetters() }.map(\.id) }
    private func messages() throws -> Int { try writer.store.read { try $0.count(FetchRequest("Message")) } }
    private func entries() throws -> [AuditEntry] { try writer.store.read { try $0.auditEntries() } }

    @Test func `a repeated key gets the first answer, and nothing is done twice`() throws {
        let request = ControlRequest.dropDeadLetters(DeadLetterSelection())
        #expect(try work(request).finish() == .dropped(5))
        try add(5..<7)
        #expect(try work(request).finish() == .dropped(5))
        #expect(try letters().count == 2)
        #expect(try entries().count == 1)
        // Without a key it is another request.
        #expect(try work(request, key: nil).finish() == .dropped(2))
        #expect(try entries().map(\.action) == ["dead-letters.drop", "dead-letters.drop"])
    }

    @Test func `an entry says who asked for it, when, and what came of it`() throws {
        var selection = DeadLetterSelection()
        selection.code = "decode.type"
        let before = writer.now
        _ = try work(.dropDeadLetters(selection)).finish()
        let entry = try #require(try entries().first)
        #expect(entry.actor == "a test" && entry.action == "dead-letters.drop" && entry.idempotencyKey == "key")
        #expect(entry.request == #"{"code":"decode.type"}"#)
        #expect((before...writer.now).contains(entry.time))
        #expect(entry.summary.hasSuffix(#"done: {"count":5}"#))
        #expect(entry.json.contains(#""result":{"count":5}"#))
    }

    @Test func `a worker that ends in the middle of a drop: the rest goes, later letters stay, the count is whole`()
        throws
    {
        let request = ControlRequest.dropDeadLetters(DeadLetterSelection())
        #expect(try work(request).step() == nil)
        #expect(try letters().count == 3)
        #expect(try entries().first?.summary.hasSuffix(#"unfinished: {"count":2}"#) == true)
        try add(5..<7)
        #expect(try work(request).finish() == .dropped(5))
        #expect(try letters() == [6, 7])
        #expect(try entries().count == 1)
    }

    @Test func `a worker that ends in the middle of a retry: each record is applied once`() throws {
        let request = ControlRequest.retryDeadLetters(DeadLetterSelection())
        #expect(try work(request).step() == nil)
        #expect(try messages() == 2 && letters().count == 3)
        var summary = DeadLetterRetry.Summary()
        (summary.tried, summary.applied) = (5, 5)
        #expect(try work(request).finish() == .retried(summary))
        #expect(try work(request).finish() == .retried(summary))
        #expect(try messages() == 5 && letters().isEmpty)
        let inserted = try writer.store.read { try $0.history(HistoryRequest()).transactions }
            .flatMap(\.changes).filter { $0.entity == "Message" && $0.kind == .insert }
        #expect(inserted.count == 5)
    }

    @Test func `a step and its entry are one commit`() throws {
        try writer.store.sqlite().onWriter { handle in
            try SQLiteWriterSession(handle, model: WorkerHarness.model).runOnce(
                "CREATE TRIGGER refuse BEFORE INSERT ON _audit BEGIN SELECT RAISE(ABORT, 'no entry'); END")
        }
        #expect(throws: StoreError.self) { try work(.dropDeadLetters(DeadLetterSelection())).step() }
        #expect(try letters().count == 5)
    }

    @Test func `a key stands for one request only`() throws {
        _ = try work(.removeCursor("a")).finish()
        #expect(throws: ControlError.keyReused) { try work(.removeCursor("b")) }
        #expect(throws: ControlError.keyReused) { try work(.putCursor("a", token: 0)) }
    }

    @Test func `a failed request is noted, and its key tries it again`() throws {
        let request = ControlRequest.putCursor("feed", token: 9)
        #expect(throws: ControlError.self) { try work(request).finish() }
        #expect(try entries().first?.summary.contains("failed: control.token") == true)
        #expect(throws: ControlError.self) { try work(request).finish() }
        #expect(try entries().count == 1)
    }

    @Test func `results of a purge and of a cursor come back whole`() throws {
        for request in [
            ControlRequest.putCursor("feed", token: 0), .purgeHistory(HistoryPurge(before: .token(1))),
            .removeCursor("feed"), .dropConflicts(through: 3),
        ] {
            let first = try work(request, key: request.name).finish()
            #expect(try work(request, key: request.name).finish() == first, "\(request.name)")
        }
        #expect(try entries().count == 4)
    }
}
