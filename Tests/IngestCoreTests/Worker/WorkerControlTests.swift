import Foundation
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import IngestCore
@testable import KafkaClient
@testable import Operations
@testable import RecordDecoding
@testable import SQLiteStorage

/// A worker that reads while people ask it to write: no downtime, each effect once.
@Suite(.serialized, .timeLimit(.minutes(60))) struct WorkerControlTests {
    private let harness: WorkerHarness

    init() throws { harness = try WorkerHarness() }

    private func ask(_ request: ControlRequest) async throws -> ControlResult {
        try await Self.ask(request, harness.configuration)
    }

    private static func ask(
        _ request: ControlRequest, _ configuration: WorkerConfiguration, patienceSeconds: Double = 60
    ) async throws -> ControlResult {
        try await DispatchQueue(label: "client").run {
            try StoreRequests(configuration: configuration, model: WorkerHarness.model)
                .carryOut(request, patienceSeconds: patienceSeconds)
        }
    }

    /// A message whose text has a name that only the mended route knows.
    private static func misnamed(_ id: Int) -> String {
        WorkerHarness.message("late-\(id)").replacing("\"body\"", with: "\"text\"")
    }

    /// Runs a worker until it has put these letters aside.
    private func makeLetters(_ values: [String]) async throws {
        try harness.send(values)
        try harness.start()
        try await harness.waitForPosition(Int64(values.count))
        try await harness.stop()
        #expect(try harness.read { try $0.deadLetterCount() } == values.count)
    }

    private func mendRoute() {
        var route = RouteConfiguration(entity: "Message")
        route.type = "message.upserted"
        route.aliases = ["text": "body"]
        harness.configuration.topics[0].routes = [route]
        // Many steps.
        harness.configuration.chunk.maxOperations = 3
    }

    @Test func `letters are retried and dropped while it reads`() async throws {
        try await makeLetters((0..<40).map(Self.misnamed) + Array(repeating: "{", count: 20))
        mendRoute()
        try harness.start()
        try harness.send((0..<1_000).map { WorkerHarness.message("m\($0)") })
        var mended = DeadLetterSelection()
        mended.code = "decode.unknown_property"
        var summary = DeadLetterRetry.Summary()
        (summary.tried, summary.applied) = (40, 40)
        #expect(try await ask(.retryDeadLetters(mended)) == .retried(summary))
        // Asked again, there is nothing left to do.
        #expect(try await ask(.retryDeadLetters(mended)) == .retried(DeadLetterRetry.Summary()))
        try harness.send((1_000..<2_000).map { WorkerHarness.message("m\($0)") })
        #expect(try await ask(.dropDeadLetters(DeadLetterSelection())) == .dropped(20))
        try await harness.waitForPosition(60 + 2_000)
        try await harness.stop()

        let (messages, late, inserts, letters) = try harness.read { store in
            (
                try store.count(FetchRequest("Message")),
                try store.count(FetchRequest("Message", where: "id BEGINSWITH 'late' AND body = 'text'")),
                try Self.insertions(store), try store.deadLetterCount()
            )
        }
        #expect((messages, late, letters) == (2_040, 40, 0))
        #expect(inserts.count == 2_040 && inserts.values.allSatisfy { $0 == 1 })
        #expect(!FileManager.default.fileExists(atPath: harness.storePath + ".control"))
        try verify()
    }

    /// How often each message was made, by its identity.
    private static func insertions(_ store: ReadContext) throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for change in try store.history(after: 0, limit: 100_000).flatMap(\.changes)
        where change.entity == "Message" && change.kind == .insert {
            counts["\(change.identity)", default: 0] += 1
        }
        return counts
    }

    private func verify() throws {
        let store = try Store.openForReading(path: harness.storePath, model: WorkerHarness.model)
        #expect(try store.verify().isSound)
        try store.close()
    }

    @Test func `history is purged and cursors are set while it reads`() async throws {
        harness.configuration.chunk.maxOperations = 10
        harness.configuration.commit.maxRows = 1
        try harness.send((0..<200).map { WorkerHarness.message("m\($0)") })
        try harness.start()
        try await harness.waitForPosition(200)
        let worker = try #require(harness.runtime)
        let last = try worker.store.read { try $0.lastToken() }
        // The publisher's own cursor holds what is not notified.
        try await harness.wait(for: "the notifications") {
            try worker.store.read { try $0.cursors() }["notifications:changes"] == last
        }
        #expect(try await ask(.putCursor("feed", token: 3)) == .cursorPut)
        var purge = HistoryPurge(before: .token(last))
        guard case .purged(let held) = try await ask(.purgeHistory(purge)) else {
            Issue.record("another result")
            return
        }
        #expect(held.transactionCount == 3 && held.holdingCursors["feed"] == 3)
        #expect(try await ask(.removeCursor("feed")) == .cursorRemoved(true))
        #expect(try await ask(.removeCursor("feed")) == .cursorRemoved(false))
        guard case .purged(let rest) = try await ask(.purgeHistory(purge)) else {
            Issue.record("another result")
            return
        }
        #expect(rest.transactionCount == Int(last) - 4)
        // What the worker itself moves, nobody else does.
        await #expect(throws: ControlError.self) { try await ask(.removeCursor("notifications:changes")) }
        await #expect(throws: ControlError.self) { try await ask(.putCursor("feed", token: last + 1_000)) }
        purge.bound = .time(0)
        #expect(try await ask(.purgeHistory(purge)) == .purged(PurgeResult()))
        try harness.send((200..<300).map { WorkerHarness.message("m\($0)") })
        try await harness.waitForPosition(300)
        try await harness.stop()
        #expect(try harness.read { try $0.count(FetchRequest("Message")) } == 300)
        try verify()
    }

    @Test func `retried letters are notified`() async throws {
        try await makeLetters([Self.misnamed(1)])
        mendRoute()
        try harness.start()
        #expect(try await ask(.retryDeadLetters(DeadLetterSelection())) != .retried(DeadLetterRetry.Summary()))
        let worker = try #require(harness.runtime)
        try await harness.wait(for: "the notification") {
            try worker.deliveredToken == worker.store.read { try $0.lastToken() }
        }
        #expect(worker.deliveredToken == 1)
        try await harness.stop()
    }

    @Test func `a partition that never had a record lacks none`() async throws {
        let harness = try WorkerHarness(partitions: 2)
        try harness.send([WorkerHarness.message("a")])
        try harness.start()
        try await harness.waitForPosition(1)
        let runtime = try #require(harness.runtime)
        try await harness.wait(for: "no lag of both partitions") { runtime.metrics.lag == 0 }
        try await harness.stop()
    }

    /// A stranger holds the write lock for longer than the worker waits for it.
    @Test func `a busy store is verified, refuses writes at once, and shows its lag`() async throws {
        harness.configuration.store.busyTimeoutMilliseconds = 50
        try harness.send((0..<5).map { WorkerHarness.message("m\($0)") })
        try harness.start()
        try await harness.waitForPosition(5)
        let lock = try HeldLock(harness.storePath)
        try harness.send((5..<12).map { WorkerHarness.message("m\($0)") })
        let runtime = try #require(harness.runtime)
        try await harness.wait(for: "the lag of the store") { runtime.metrics.lag == 7 }
        #expect(runtime.metrics.records.value == 5)
        await #expect {
            _ = try await ask(.dropDeadLetters(DeadLetterSelection()))
        } throws: {
            ($0 as? ControlError)?.code == "store.busy"
        }
        guard case .verified(let report) = try await ask(.verify) else {
            Issue.record("no verification")
            return
        }
        #expect(report.isSound, "\(report.text)")
        lock.release()
        try await harness.waitForPosition(12)
        try await harness.wait(for: "no lag") { runtime.metrics.lag == 0 }
        #expect(try await ask(.dropDeadLetters(DeadLetterSelection())) == .dropped(0))
        #expect(runtime.metrics.records.value == 12)
        try await harness.stop()
    }

    private func change(_ statement: String) throws {
        let store = try Store.open(path: harness.storePath, model: WorkerHarness.model)
        defer { try? store.close() }
        try store.sqlite().database.unsafeReentrantWrite { try $0.execute(sql: statement) }
    }

    @Test func `problems that a verification finds are in the log and in readiness`() async throws {
        let log = LogLines(from: .error)
        harness.logger = log.logger
        try harness.send([WorkerHarness.message("m0")])
        try harness.start()
        try await harness.waitForPosition(1)
        try change("UPDATE Chat SET messagesCount = 7")
        guard case .verified(let report) = try await ask(.verify) else {
            Issue.record("no verification")
            return
        }
        #expect(!report.isSound)
        func failure() -> HealthCheck? {
            harness.runtime?.health.readiness().first { $0.name == "verification" }
        }
        try await harness.wait(for: "the check") { failure()?.isOK == false }
        #expect(failure()?.reason == "a verification has found \(report.problemNumber)")
        #expect(log.all.contains { $0.contains("a verification has found problems") && $0.contains("verify --repair") })
        try change("UPDATE Chat SET messagesCount = 1")
        _ = try await ask(.verify)
        try await harness.wait(for: "a sound store") { failure() == nil }
        // An object that only breaks a limit of the model is no damage.
        try change("UPDATE Message SET seq = -1")
        guard case .verified(let broken) = try await ask(.verify) else {
            Issue.record("no verification")
            return
        }
        #expect(broken.problemCount == 1 && failure() == nil)
        try await harness.stop()
    }

    /// A reader, or a command beside the worker, leaves the mark.
    @Test func `a store that is found damaged ends the worker`() async throws {
        try harness.start()
        try await harness.wait(for: "readiness") { harness.isReady() }
        #expect(FileManager.default.createFile(atPath: harness.storePath + "-suspect", contents: nil))
        try await harness.wait(for: "the end") { harness.runtime?.isStopping == true }
        let reasons = harness.runtime?.health.readiness().compactMap(\.reason) ?? []
        #expect(reasons.contains { $0.contains(StoreError.damageRemedy) }, "\(reasons)")
        await #expect {
            try await harness.stop()
        } throws: {
            ($0 as? StoreError)?.code == .corrupt
        }
    }

    @Test func `a worker that cannot have its socket reads on without`() async throws {
        let socket = harness.storePath + ".control"
        try Data("somebody's".utf8).write(to: URL(filePath: socket))
        try harness.send([WorkerHarness.message("m0")])
        try harness.start()
        try await harness.waitForPosition(1)
        await #expect {
            _ = try await Self.ask(.removeCursor("feed"), harness.configuration, patienceSeconds: 0)
        } throws: {
            ($0 as? ControlError)?.code == "store.leased"
        }
        try await harness.stop()
        #expect(try String(contentsOfFile: socket, encoding: .utf8) == "somebody's")
    }

    /// A worker that ends answers, or leaves the store to who asks: nobody is left without an answer.
    @Test func `requests while it ends are carried out by somebody`() async throws {
        try harness.start()
        try await harness.wait(for: "the group") { harness.isReady() }
        let started = Flag()
        let configuration = harness.configuration
        let asking = Task {
            for number in 0..<100 {
                let result = try await Self.ask(.putCursor("c\(number)", token: 0), configuration)
                #expect(result == .cursorPut)
                if number == 5 { started.isSet.store(true, ordering: .releasing) }
            }
        }
        try await harness.wait(for: "requests") { started.isSet.load(ordering: .acquiring) }
        try await harness.stop()
        try await asking.value
        #expect(try harness.read { try $0.cursors() }.filter { $0.key.hasPrefix("c") }.count == 100)
    }
}

/// Whether something has happened.
private final class Flag: Sendable {
    let isSet = Atomic<Bool>(false)
}
