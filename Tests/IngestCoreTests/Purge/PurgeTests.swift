import ObjectGraph
import Synchronization
import Testing

@testable import GraphCore
@testable import IngestCore
@testable import KafkaClient

/// The worker's own purges by age: when they are due, what they remove, what holds them, and what is said of that.
@Suite struct PurgeTests {
    private static let day: Int64 = 86_400_000_000
    private let log = LogLines(from: .info)
    private let worker: ConsumerWorker
    private let clock = ManualClock()
    private var writer: WriterContext { worker.pipeline.writer }
    private var warnings: [String] { log.all.filter { !$0.contains("old records were purged") } }

    /// A worker whose history has three transactions, of now.
    init() throws {
        worker = try ConsumerWorker.bare(logger: log.logger, clock: clock.clock)
        try save(1...3)
    }

    private func save(_ numbers: ClosedRange<Int>) throws {
        for number in numbers {
            let context = try EditingContext(worker.pipeline.writer)
            try context.insert("Chat", identity: "c\(number)")
            try context.save()
        }
    }

    private func tokens() throws -> [Int64] {
        try worker.store.read { try $0.history(HistoryRequest()).transactions.map(\.token) }
    }

    private func audit() throws -> [AuditEntry] { try worker.store.read { try $0.auditEntries() } }

    private func held() throws -> HeldPurges? { try worker.store.read { try HeldPurges($0) } }

    /// Lets the worker's loop go round until a purge has ended, with the clock so many days ahead of the commits.
    private func purge(at seconds: Double, clockAhead days: Int64, _ worker: ConsumerWorker? = nil) throws {
        let worker = worker ?? self.worker
        repeat {
            clock.set(seconds: seconds, microseconds: WriterContext.systemTime() + days * Self.day)
            try worker.purging.advance(
                worker.pipeline, worker.configuration, clock.clock, worker.metrics, worker.logger)
        } while worker.purging.step != nil
    }

    /// Lets days pass, in which the worker looks at each.
    private func pass(days: ClosedRange<Int64>) throws {
        for day in days { try purge(at: Double(day) * 86_400, clockAhead: day) }
    }

    @Test func `history goes at its age, by the time that has passed`() throws {
        try pass(days: 0...6)
        #expect(try tokens() == [1, 2, 3])
        try pass(days: 8...8)
        #expect(try tokens().isEmpty)
        #expect(try worker.store.read { try $0.lastToken() } == 3)
        #expect(warnings.isEmpty)
        #expect(log.all.count == 1 && log.all[0].contains("history=3"), "\(log.all)")
        let entry = try #require(try audit().first)
        #expect(entry.action == "purge" && entry.actor == "the worker")
        #expect(entry.result?.contains(#""result":{"history":3,"tombstones":0,"audit":0}"#) == true)
        #expect(worker.metrics.purged.with("history").value == 3)
    }

    @Test func `a purge is due once an hour by the worker's clock`() throws {
        try pass(days: 0...6)
        worker.configuration.history.keepDays = 1
        try purge(at: 6 * 86_400 + 3_599, clockAhead: 6)
        #expect(try tokens() == [1, 2, 3])
        try purge(at: 6 * 86_400 + 3_600, clockAhead: 6)
        #expect(try tokens().isEmpty)
    }

    @Test(arguments: [30, 60] as [Int64])
    func `a start with the clock ahead, or after a long rest, removes nothing before an operator confirms`(
        _ days: Int64
    ) throws {
        try purge(at: 0, clockAhead: days)
        try purge(at: 7_200, clockAhead: days)
        #expect(try tokens() == [1, 2, 3])
        let hold = try #require(try held())
        #expect(hold.due[.history] == 3 && hold.due[.audit] == 0)
        #expect(warnings.count == 2 && warnings.allSatisfy { $0.contains("purges by age are held") }, "\(warnings)")
        #expect(warnings[0].contains("3 transactions") && warnings[0].contains("history confirm"), "\(warnings)")
        #expect(try audit().map(\.action) == ["purge.held"])
        #expect(worker.metrics.purgesHeld.value == 1)

        let work = try ControlWork(
            .confirmPurges, actor: "a test", writer: writer, configuration: worker.configuration)
        #expect(try work.finish() == .purgesConfirmed(hold))
        #expect(try held() == nil)
        try purge(at: 7_260, clockAhead: days)
        #expect(try tokens().isEmpty)
        #expect(worker.metrics.purgesHeld.value == 0)
        #expect(try audit().map(\.action) == ["purge", "history.confirm", "purge.held"])
    }

    @Test func `a clock that was back, and is right again, removes nothing before an operator confirms`() throws {
        try purge(at: 0, clockAhead: -30)
        #expect(try held()?.due[.history] == 0)
        try purge(at: 3_600, clockAhead: 0)
        try purge(at: 7_200, clockAhead: 0)
        #expect(try tokens() == [1, 2, 3])
        #expect(try held() != nil)
    }

    @Test func `a commit of another worker whose clock is wrong holds the purge`() throws {
        let ahead = Mutex<Int64>(0)
        var options = WriterContext.Options()
        options.now = { WriterContext.systemTime() + ahead.withLock { $0 } }
        let worker = try ConsumerWorker.bare(logger: log.logger, options: options, clock: clock.clock)
        try purge(at: 0, clockAhead: 0, worker)
        for days in [0, -40, 0] as [Int64] {
            ahead.withLock { $0 = days * Self.day }
            let context = try EditingContext(worker.pipeline.writer)
            try context.insert("Chat", identity: "c\(days)\(worker.pipeline.writer.committedToken ?? 0)")
            try context.save()
        }
        try purge(at: 3_600, clockAhead: 0, worker)
        #expect(try worker.store.read { try HeldPurges($0) } != nil)
        #expect(try worker.store.read { try $0.purgedToken() } == 0)
    }

    @Test func `a hold survives the worker, and a second one takes it over`() throws {
        try purge(at: 0, clockAhead: 30)
        let hold = try #require(try held())
        let next = try ConsumerWorker.bare(logger: log.logger, sharing: worker, clock: clock.clock)
        try purge(at: 0, clockAhead: 30, next)
        #expect(try tokens() == [1, 2, 3])
        #expect(try held()?.gap == hold.gap)
        let (first, second) = (
            try writer.inOneCommit { try writer.confirmPurges() }, try writer.inOneCommit { try writer.confirmPurges() }
        )
        #expect(first == hold && second == nil)
        try purge(at: 3_600, clockAhead: 30, next)
        #expect(try tokens().isEmpty)
    }

    @Test func `an operator may purge by hand while purges are held`() throws {
        try purge(at: 0, clockAhead: 30)
        let work = try ControlWork(
            .purgeHistory(HistoryPurge(before: .token(3))), actor: "a test", writer: writer,
            configuration: worker.configuration)
        _ = try work.finish()
        #expect(try tokens() == [3])
        #expect(try audit().map(\.action) == ["history.purge", "purge.held"])
    }

    @Test func `the timestamps of the broker's records let time pass after a short rest`() throws {
        let time = WriterContext.systemTime()
        try purge(at: 0, clockAhead: 6)
        #expect(worker.purging.trustedTime?.now(clock: .max, uptime: 0) ?? 0 < time + Self.day)
        var position = SourcePosition(topic: "t", partition: 0, nextOffset: 5)
        position.detail = "\((time + 6 * Self.day) / 1000)-0"
        _ = try writer.apply(WriterContext.Chunk(events: [], positions: [position]))
        try writer.commit()
        try purge(at: 60, clockAhead: 6)
        #expect(worker.purging.trustedTime?.now(clock: .max, uptime: 60) ?? 0 >= time + 5 * Self.day)
    }

    @Test func `a large purge takes a share an hour, and says the number that stays`() throws {
        try save(4...2_500)
        try pass(days: 0...6)
        var left: [Int] = []
        for hour in 0..<3 {
            try purge(at: 8 * 86_400 + Double(hour) * 3_600, clockAhead: 9)
            // Another look in the same hour takes nothing more.
            try purge(at: 8 * 86_400 + Double(hour) * 3_600 + 60, clockAhead: 9)
            left.append(try worker.store.read { Int(try $0.lastToken() - $0.purgedToken()) })
        }
        #expect(left == [1_500, 500, 0])
        #expect(log.all.contains { $0.contains("history=1000") && $0.contains("1500 transactions") }, "\(log.all)")
    }

    @Test func `the audit is purged after a year, or never where that is the setting`() throws {
        let now = WriterContext.systemTime()
        for days in [400, 364, 0] {
            let time = now - Int64(days) * Self.day
            _ = try writer.put(AuditEntry(time: time, actor: "a test", action: "verify", request: "{}"))
        }
        try writer.commit()
        func ages() throws -> [Int64] {
            try audit().filter { $0.action == "verify" }.map { (now - $0.time) / Self.day }
        }
        worker.configuration.audit.keepDays = 0
        try purge(at: 0, clockAhead: 0)
        #expect(try ages() == [0, 364, 400])
        worker.configuration.audit.keepDays = 365
        try purge(at: 3_600, clockAhead: 0)
        #expect(try ages() == [0, 364])
    }

    @Test func `a purge keeps the history that a cursor has not read, and the log names the cursor`() throws {
        try writer.putCursors(["notifications:changes": 1])
        try writer.commit()
        try pass(days: 0...6)
        try pass(days: 8...8)
        #expect(try tokens() == [2, 3])
        #expect(warnings.count == 1)
        let line = try #require(warnings.first)
        #expect(line.contains("a cursor holds old history"), "\(line)")
        #expect(line.contains("notifications:changes") && line.contains("token=1"), "\(line)")
        // It is said again with each purge, for as long as that is so.
        try pass(days: 9...9)
        #expect(try tokens() == [2, 3])
        #expect(warnings.count == 2)
        // When its reader has gone on, so does the purge.
        try writer.putCursors(["notifications:changes": 3])
        try writer.commit()
        try pass(days: 10...10)
        #expect(try tokens().isEmpty)
        #expect(warnings.count == 2)
        #expect(try worker.store.read { try $0.historyCursors() }.first?.isExpired == false)
    }
}
