import ObjectGraph
import Testing

@testable import GraphCore
@testable import IngestCore
@testable import KafkaClient

/// The worker's own purge of the history: when it is due, what it removes, and what it says of those it waits for.
@Suite struct PurgeTests {
    private static let day: Int64 = 86_400_000_000
    private let log = LogLines(from: .warning)
    private let worker: ConsumerWorker
    private var writer: WriterContext { worker.pipeline.writer }

    /// A worker whose history has three transactions, of now.
    init() throws {
        worker = try ConsumerWorker.bare(logger: log.logger)
        for number in 1...3 {
            let context = try EditingContext(worker.pipeline.writer)
            try context.insert("Chat", identity: "c\(number)")
            try context.save()
        }
    }

    private func tokens() throws -> [Int64] {
        try worker.store.read { try $0.history(HistoryRequest()).transactions.map(\.token) }
    }

    private func purge(at seconds: Double, daysLater days: Int64) throws {
        try worker.purge(writer, at: seconds, systemTime: WriterContext.systemTime() + days * Self.day)
    }

    @Test func `a purge is due once an hour by the worker's clock`() throws {
        #expect(try tokens() == [1, 2, 3])
        // The first turn of the loop purges; nothing is old enough.
        try purge(at: 100, daysLater: 6)
        #expect(try tokens() == [1, 2, 3])
        try purge(at: 100 + 3_599, daysLater: 8)
        #expect(try tokens() == [1, 2, 3])
        try purge(at: 100 + 3_600, daysLater: 8)
        #expect(try tokens().isEmpty)
        #expect(try worker.store.read { try $0.lastToken() } == 3)
        #expect(log.all.isEmpty)
    }

    @Test func `the audit is purged after a year, or never where that is the setting`() throws {
        let now = WriterContext.systemTime()
        for days in [400, 364, 0] {
            let time = now - Int64(days) * Self.day
            _ = try writer.put(AuditEntry(time: time, actor: "a test", action: "verify", request: "{}"))
        }
        try writer.commit()
        func ages() throws -> [Int64] {
            try worker.store.read { try $0.auditEntries() }.map { (now - $0.time) / Self.day }
        }
        var forever = worker.configuration
        forever.audit.keepDays = 0
        for (configuration, left) in [(forever, [0, 364, 400]), (worker.configuration, [0, 364])] as [(_, [Int64])] {
            var step = PurgeStep(configuration)
            while try step.purgeBatch(writer, now: now, log.logger) {}
            #expect(try ages() == left)
        }
    }

    @Test func `a purge keeps the history that a cursor has not read, and the log names the cursor`() throws {
        try writer.putCursors(["notifications:changes": 1])
        try writer.commit()
        try purge(at: 0, daysLater: 8)
        #expect(try tokens() == [2, 3])
        #expect(log.all.count == 1)
        let line = try #require(log.all.first)
        #expect(line.contains("a cursor holds old history"), "\(line)")
        #expect(line.contains("notifications:changes") && line.contains("token=1"), "\(line)")
        // It is said again with each purge, for as long as that is so.
        try purge(at: 3_600, daysLater: 9)
        #expect(try tokens() == [2, 3])
        #expect(log.all.count == 2)
        // When its reader has gone on, so does the purge.
        try writer.putCursors(["notifications:changes": 3])
        try writer.commit()
        try purge(at: 7_200, daysLater: 9)
        #expect(try tokens().isEmpty)
        #expect(log.all.count == 2)
        #expect(try worker.store.read { try $0.historyCursors() }.first?.isExpired == false)
    }
}
