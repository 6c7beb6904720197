import Foundation
import ObjectGraph
import TestSupport
import Testing

@testable import IngestCore
@testable import KafkaClient
@testable import Operations

/// Failures of store and broker.
extension WorkerRuntimeTests {
    @Test func `a store that is locked for a while loses nothing`() async throws {
        let harness = try WorkerHarness()
        let log = LogLines()
        harness.logger = log.logger
        harness.configuration.store.busyTimeoutMilliseconds = 50
        try harness.start()
        try await harness.wait(for: "readiness") { harness.isReady() }
        // A stranger holds the write lock for longer than the worker waits for it.
        let lock = try HeldLock(harness.storePath)
        try harness.send((0..<300).map { WorkerHarness.message("m\($0)") })
        try await harness.wait(for: "the failure in health") {
            harness.runtime?.health.readiness().contains { $0.name == "store" && !$0.isOK } ?? false
        }
        lock.release()
        try await harness.waitForPosition(300)
        try await harness.wait(for: "readiness") { harness.isReady() }
        try await harness.stop()
        #expect(try harness.read { try $0.count(FetchRequest("Message")) } == 300)
        #expect(try harness.read { try $0.count(FetchRequest("Chat", where: "messagesCount = 300")) } == 1)
        // The last line about the store says that it is well again.
        let lines = log.all.filter { $0.contains("the store ") }
        #expect(lines.first?.contains("the store refused, trying again") == true)
        #expect(lines.last?.contains("the store takes writes again") == true)
    }

    @Test func `a store that is locked for longer than the budget ends the worker`() async throws {
        let harness = try WorkerHarness()
        harness.configuration.store.busyTimeoutMilliseconds = 50
        // The broker's first answer counts too.
        harness.configuration.errors.retryTimeoutSeconds = 5
        try harness.start()
        try await harness.wait(for: "readiness") { harness.isReady() }
        let lock = try HeldLock(harness.storePath)
        try harness.send((0..<300).map { WorkerHarness.message("m\($0)") })
        try await harness.wait(for: "the end") { harness.runtime?.isStopping ?? true }
        lock.release()
        let spent = await #expect(throws: RetryBudget.Spent.self) { try await harness.stop() }
        #expect(spent?.check == "store")
        // The next start goes on where the store is.
        harness.configuration.errors.retryTimeoutSeconds = 0
        // A worker that ends before the stranger lets go cannot give its lease up.
        try await harness.wait(for: "the end of the lease") {
            do {
                try harness.start()
                return true
            } catch let error as StoreError where error.code == .leased {
                return false
            }
        }
        try await harness.waitForPosition(300)
        try await harness.stop()
        #expect(try harness.read { try $0.count(FetchRequest("Message")) } == 300)
    }

    @Test func `a store that cannot be read leaves the status its last figures`() async throws {
        let harness = try WorkerHarness()
        try harness.start()
        try harness.send([WorkerHarness.message("m1")])
        try await harness.waitForPosition(1)
        let runtime = try #require(harness.runtime)
        #expect(String(decoding: runtime.statusReport(), as: UTF8.self).contains(#""nextOffset":1"#))
        try await harness.stop()
        #expect(throws: StoreError.self) { try runtime.store.read { try $0.positions() } }
        #expect(String(decoding: runtime.statusReport(), as: UTF8.self).contains(#""nextOffset":1"#))
    }

    @Test func `the console shows what the status has`() async throws {
        let harness = try WorkerHarness()
        try harness.start()
        try harness.send([WorkerHarness.message("m1")])
        try await harness.waitForPosition(1)
        let bytes = try #require(harness.runtime?.statusReport())
        let status = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? NSDictionary)
        let script = String(decoding: PackageResources.console_js, as: UTF8.self)
        let paths = Set(
            script.matches(of: /"((?:counts|history)\.[A-Za-z]+)"/).map { String($0.1) }
                + script.matches(of: /status\.((?:version|startedAt|store|verdict)(?:\.[A-Za-z]+)*)/).map {
                    String($0.1).replacing(/\.(map|filter|length)$/, with: "")
                })
        #expect(paths.count > 12)
        for path in paths {
            let found = path.split(separator: ".").reduce(status as Any?) { ($0 as? NSDictionary)?[String($1)] }
            #expect(found != nil, "\(path)")
        }
        let position = try #require((status["positions"] as? [NSDictionary])?.first)
        let keys = Set(script.matches(of: /position\.([A-Za-z]+)/).map { String($0.1) })
        #expect(keys.count > 4)
        for key in keys { #expect(position[key] != nil, "\(key)") }
        try await harness.stop()
    }

    @Test func `a program saves beside the worker`() async throws {
        let harness = try WorkerHarness()
        try harness.start()
        try harness.send([WorkerHarness.message("one")])
        try await harness.waitForPosition(1)
        let writer = try #require(harness.runtime?.writer)
        let context = try EditingContext(writer)
        let message = try context.insert("Message", identity: "mine", ["body": "by hand"])
        try message.setObject("chat", try context.object("Chat", identity: "c"))
        try context.save()
        try harness.send([WorkerHarness.message("two")])
        try await harness.waitForPosition(2)
        try await harness.stop()
        let messages = try harness.read { try $0.fetch(FetchRequest("Message")) }
        #expect(messages.compactMap { $0["id"]?.text } == ["one", "mine", "two"])
    }

    @Test func `readiness tells of the broker's end and return`() async throws {
        let harness = try WorkerHarness()
        try harness.start()
        try await harness.wait(for: "readiness") { harness.isReady() }
        try harness.broker.setDown()
        try await harness.wait(for: "the loss of readiness") { !harness.isReady() }
        #expect(harness.runtime?.health.liveness().allSatisfy { $0.isOK } == true)
        try harness.broker.setUp()
        try await harness.wait(for: "readiness again") { harness.isReady() }
        try harness.send([WorkerHarness.message("after")])
        try await harness.waitForPosition(1)
        try await harness.stop()
    }

    /// Ingestion goes on beside notifications that are refused, up to the outbox's limit; then it says so and rests, and
    /// goes on by itself.
    @Test func `a notification topic that refuses stops consuming only at the limit`() async throws {
        let harness = try WorkerHarness(partitions: 2)
        harness.configuration.chunk.maxOperations = 1
        harness.configuration.commit.maxMilliseconds = 0
        harness.configuration.notifications.maxOutboxTransactions = 20
        let refusal = KafkaError.Code("TOPIC_AUTHORIZATION_FAILED")
        for partition in 0..<2 { try send(55, round: 0, partition, harness) }
        try harness.broker.failNext(.produce, with: Array(repeating: refusal, count: 10_000))
        try harness.start()
        try await harness.wait(for: "the full outbox") {
            harness.runtime?.health.readiness().contains { $0.name == "outbox" && !$0.isOK } ?? false
        }
        let metrics = try #require(harness.runtime?.metrics)
        #expect(metrics.outboxFull.value == 1 && metrics.outboxTransactions.value >= 20)
        #expect(harness.runtime?.health.liveness().allSatisfy { $0.isOK } == true)
        #expect(harness.runtime?.deliveredToken == 0)
        // The rest waits on the broker.
        let positions = try [harness.position(0), harness.position(1)]
        try await Task.sleep(for: .seconds(1))
        #expect(try [harness.position(0), harness.position(1)] == positions)
        #expect(positions.reduce(0, +) < 110)
        harness.broker.clearFailures(.produce)
        for partition in 0..<2 { try await harness.waitForPosition(55, partition: Int32(partition)) }
        try await harness.wait(for: "readiness") { harness.isReady() }
        try await harness.stop()
        #expect(metrics.outboxFull.value == 0)
        #expect(try harness.read { try $0.count(FetchRequest("Message")) } == 110)
    }
}
