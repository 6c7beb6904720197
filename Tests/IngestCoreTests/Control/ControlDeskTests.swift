import Foundation
import Logging
import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import IngestCore
@testable import KafkaClient
@testable import RecordDecoding
@testable import SQLiteStorage

/// The worker's thread carries requests out between its chunks; the parts are called by hand.
@Suite struct ControlDeskTests {
    private let worker: ConsumerWorker
    private let desk: ControlDesk
    private let partition = TopicPartition("events", 0)
    private let configuration: WorkerConfiguration

    /// A worker with three dead letters, two letters a step.
    init() throws {
        var configuration = WorkerConfiguration()
        configuration.topics = [TopicConfiguration(name: "events")]
        configuration.chunk.maxOperations = 2
        self.configuration = configuration
        worker = try ConsumerWorker.bare(configuration)
        desk = try ControlDesk(configuration: configuration, store: worker.store, logger: .silent)
        worker.control = desk
        let letters = (0..<3).map { offset in
            DeadLetter(
                time: 0, topic: "events", partition: 0, offset: Int64(offset), stage: "decode", code: "decode.type",
                reason: "r", key: nil, value: [UInt8](Events.message("m\(offset)").utf8), valueBytes: 1)
        }
        _ = try worker.pipeline.writer.apply(WriterContext.Chunk(events: [], deadLetters: letters))
        try worker.pipeline.writer.commit()
    }

    private func ask(
        _ request: ControlRequest, store: String? = nil, mark: String? = nil
    ) throws -> ControlTicket {
        let envelope = ControlEnvelope(
            store: try store ?? worker.store.identity(),
            configuration: mark ?? configuration.decodingMark(worker.store.model), request: request)
        let ticket = ControlTicket(envelope, from: "user 0, process 1") {}
        desk.submit(ticket)
        return ticket
    }

    private func turn() throws { try worker.serveRequests() }

    private func answers(_ ticket: ControlTicket) throws -> [ControlAnswer] {
        try ticket.takeAnswers().answers.map {
            try ControlAnswer(line: $0.line.dropLast(), to: ticket.envelope.request)
        }
    }

    private func code(_ ticket: ControlTicket) throws -> String? {
        guard case .failure(let error) = try answers(ticket).last else { return nil }
        return error.code
    }

    private func letters() throws -> [Int64] { try worker.store.read { try $0.deadLetters() }.map(\.id) }
    private func messages() throws -> Int { try worker.store.read { try $0.count(FetchRequest("Message")) } }

    @Test func `a long request takes a step a turn, and each step stays`() throws {
        let ticket = try ask(.retryDeadLetters(DeadLetterSelection()))
        #expect(try answers(ticket) == [.waiting])
        try turn()
        #expect(try messages() == 2 && letters().count == 1)
        #expect(try answers(ticket).isEmpty && desk.hasWork)
        try turn()
        var summary = DeadLetterRetry.Summary()
        (summary.tried, summary.applied) = (3, 3)
        #expect(try answers(ticket) == [.result(.retried(summary))])
        #expect(try messages() == 3 && letters().isEmpty && !desk.hasWork)
    }

    @Test func `the open chunk is saved before a request, with its position`() throws {
        let place = RecordPlace(topic: "events", partition: 0, offset: 0)
        worker.pipeline.begin(topic: "events", partition: 0, at: nil)
        try worker.pipeline.add(SourceRecord(place: place, key: nil, value: nil), nextOffset: 1) {
            _ throws(DecodeError) in ChangeSet([])
        }
        #expect(worker.pipeline.deadline != nil)
        _ = try ask(.dropDeadLetters(DeadLetterSelection()))
        try turn()
        #expect(worker.pipeline.deadline == nil)
        #expect(try worker.store.read { try $0.positions() }.map(\.nextOffset) == [1])
    }

    @Test func `requests are carried out one after the other`() throws {
        var first = DeadLetterSelection()
        first.ids = [try letters()[0]]
        let tickets = [
            try ask(.dropDeadLetters(first)), try ask(.dropDeadLetters(DeadLetterSelection())),
            try ask(.putCursor("feed", token: 0)), try ask(.removeCursor("feed")), try ask(.removeCursor("feed")),
        ]
        for _ in tickets { try turn() }
        let ends = try tickets.map { try answers($0).last }
        #expect(
            ends == [
                .result(.dropped(1)), .result(.dropped(2)), .result(.cursorPut), .result(.cursorRemoved(true)),
                .result(.cursorRemoved(false)),
            ])
    }

    @Test func `a retry names the dead letters that stay, and counts their attempts`() throws {
        try worker.pipeline.writer.removeDeadLetters(try letters())
        let bad = DeadLetter(
            time: 0, topic: "events", partition: 0, offset: 9, stage: "decode", code: "old", reason: "r", key: nil,
            value: [0x7B], valueBytes: 1)
        _ = try worker.pipeline.writer.apply(WriterContext.Chunk(events: [], deadLetters: [bad]))
        try worker.pipeline.writer.commit()
        let ticket = try ask(.retryDeadLetters(DeadLetterSelection()))
        try turn()
        let told = try answers(ticket)
        let letter = try #require(try worker.store.read { try $0.deadLetters() }.first)
        #expect(letter.attempts == 2 && letter.code == "json.truncated")
        #expect(told.count == 3 && told[1] == .note(letter.summary))
    }

    @Test func `a client that goes away ends its request after the step`() throws {
        let ticket = try ask(.retryDeadLetters(DeadLetterSelection()))
        let next = try ask(.removeCursor("none"))
        try turn()
        ticket.abandon()
        try turn()
        try turn()
        #expect(try messages() == 2 && letters().count == 1)
        #expect(try answers(next).last == .result(.cursorRemoved(false)))
        #expect(!desk.hasWork)
    }

    @Test func `a client that takes no answers delays only other requests`() throws {
        let ticket = try ask(.retryDeadLetters(DeadLetterSelection()))
        ticket.tell(.note(String(repeating: "x", count: ControlTicket.maximumWaitingBytes)))
        #expect(!desk.hasWork)
        try turn()
        #expect(try letters().count == 3)
        _ = ticket.takeAnswers()
        try turn()
        #expect(try letters().count == 1)
    }

    @Test func `waiting and later clients learn of the worker's end`() throws {
        let underway = try ask(.retryDeadLetters(DeadLetterSelection()))
        let waiting = try ask(.removeCursor("a"))
        try turn()
        desk.close()
        #expect(try code(underway) == "control.interrupted")
        #expect(try code(waiting) == "control.ending")
        #expect(try code(ask(.removeCursor("a"))) == "control.ending")
        try turn()
        #expect(try letters().count == 1)
    }

    @Test func `a worker that ends in a verification says so, and leaves its entry unfinished`() throws {
        let ticket = try ask(.verify)
        try turn()
        desk.close()
        #expect(try code(ticket) == "control.interrupted")
        let entry = try #require(try worker.store.read { try $0.auditEntries() }.first)
        #expect(entry.action == "verify" && entry.summary.contains("unfinished"), "\(entry)")
    }

    @Test func `refused tokens are noted between chunks, once an interval`() throws {
        let clock = ManualClock()
        let desk = try ControlDesk(
            configuration: configuration, store: worker.store, logger: .silent, clock: clock.clock)
        worker.control = desk
        func entries() throws -> [String] { try worker.store.read { try $0.auditEntries() }.map(\.request) }
        for _ in 0..<100 { desk.refused(from: "10.0.0.1") }
        #expect(desk.hasWork)
        try turn()
        #expect(try entries() == [#"{"10.0.0.1":100}"#])
        for _ in 0..<50 { desk.refused(from: "10.0.0.2") }
        #expect(!desk.hasWork)
        try turn()
        #expect(try entries().count == 1)
        clock.pass(seconds: RefusedTokens.intervalSeconds)
        try turn()
        #expect(try entries() == [#"{"10.0.0.2":50}"#, #"{"10.0.0.1":100}"#])
    }

    @Test func `a faulty request gets an answer, and the worker goes on`() throws {
        let refused = [
            try ask(.removeCursor("a"), store: "another"), try ask(.putCursor("a", token: 1)),
            try ask(.putCursor("a", token: -1)), try ask(.retryDeadLetters(DeadLetterSelection()), mark: "other"),
            try ask(.putCursor("notifications:ingest.changes", token: 0)),
            try ask(.removeCursor("notifications:ingest.changes")),
        ]
        for _ in refused { try turn() }
        #expect(
            try refused.map(code) == [
                "control.other_store", "control.token", "control.token", "control.configuration",
                "control.cursor_in_use", "control.cursor_in_use",
            ])
        #expect(try letters().count == 3)
        #expect(try worker.store.read { try $0.cursors() }.isEmpty)
        // Only what applies records depends on their settings.
        let drop = try ask(.dropDeadLetters(DeadLetterSelection()), mark: "other")
        for _ in 0..<2 { try turn() }
        #expect(try answers(drop).last == .result(.dropped(3)))
    }

    @Test func `a store whose disk failed takes no request`() throws {
        let mark = try worker.store.sqlite().suspicionPath
        #expect(FileManager.default.createFile(atPath: mark, contents: nil))
        defer { try? FileManager.default.removeItem(atPath: mark) }
        let ticket = try ask(.dropDeadLetters(DeadLetterSelection()))
        try turn()
        #expect(try code(ticket) == "control.suspect")
        #expect(try letters().count == 3)
    }

    @Test func `a store that has left its place takes no request`() throws {
        unlink(worker.store.storage.path)
        let ticket = try ask(.putCursor("reader", token: 0))
        try? turn()
        #expect(try code(ticket) == "control.suspect")
    }

    @Test func `while the store refuses, requests that wait and that come are refused with its reason`() throws {
        let waiting = try ask(.dropDeadLetters(DeadLetterSelection()))
        desk.refuse(because: StoreError(.full, "The disk is full", remedy: "Free space"))
        #expect(try code(waiting) == "store.full")
        #expect(try code(ask(.purgeHistory(HistoryPurge(before: .time(0))))) == "store.full")
        #expect(!desk.hasWork)
        worker.storeAnswers()
        let later = try ask(.dropDeadLetters(DeadLetterSelection()))
        for _ in 0..<2 { try turn() }
        #expect(try answers(later).last == .result(.dropped(3)))
    }

    @Test func `a writer that was fenced ends the worker, and says so`() throws {
        try worker.store.sqlite().onWriter { handle in
            try SQLiteWriterSession(handle, model: WorkerHarness.model).runOnce("UPDATE _lease SET epoch = epoch + 1")
        }
        let ticket = try ask(.dropDeadLetters(DeadLetterSelection()))
        #expect {
            try turn()
        } throws: {
            ($0 as? StoreError)?.code == .fenced
        }
        #expect(try code(ticket) == "store.fenced")
        #expect(try letters().count == 3)
    }

    @Test func `settings that decide what becomes of a record make another mark`() throws {
        let model = worker.store.model
        var other = configuration
        other.http.port += 1
        other.store.path = "elsewhere"
        #expect(other.decodingMark(model) == configuration.decodingMark(model))
        #expect(other.contentMark == configuration.contentMark)
        other.topics[0].format = .json
        #expect(other.contentMark != configuration.contentMark)
        #expect(other.decodingMark(model) != configuration.decodingMark(model))
        other = configuration
        other.routes = [RouteConfiguration(entity: "Message")]
        #expect(other.decodingMark(model) != configuration.decodingMark(model))
        #expect(other.contentMark != configuration.contentMark)
        #expect(try configuration.decodingMark(TestModels.kinds()) != configuration.decodingMark(model))
    }
}
