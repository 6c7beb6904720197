import Foundation
import KafkaClient
import ObjectGraph
import TestSupport
import Testing

@testable import IngestCore
@testable import Operations

/// The lines of a whole worker's log about outages, against a broker that is killed and started again.
@Suite(.timeLimit(.minutes(60))) struct OutageLinesTests {
    private static let outage = ["no broker answers", "a broker answers again", "librdkafka", "cannot be reached"]

    private func lines(_ log: LogLines) -> [String] {
        log.all.filter { line in Self.outage.contains { line.contains($0) } }.map {
            String($0.split(separator: " code=")[0].split(separator: " failures=")[0].dropFirst(31))
        }
    }

    @Test func `a broker that is killed and comes back has a line at each end, and one a minute`() async throws {
        let broker = try BrokerProcess(.noida)
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        for topic in ["events", "changes"] { try admin.createTopic(NewTopic(topic)) }
        let harness = try WorkerHarness()
        let (log, clock) = (LogLines(), HandClock())
        harness.logger = log.logger
        harness.configuration.kafka.properties = KafkaProperties([
            "bootstrap.servers": broker.bootstrapServers, "group.id": "group",
        ])
        harness.configuration.kafka.partitions = .all
        var hooks = WorkerRuntime.Hooks()
        hooks.outageClock = clock.now
        try harness.start(hooks: hooks)
        try await harness.wait(for: "readiness") { harness.isReady() }
        #expect(log.all.contains { $0.contains("connected to the brokers") && $0.contains("127.0.0.1") })
        #expect(lines(log).isEmpty)
        for round in 1...2 {
            let before = lines(log).count
            broker.stop()
            try await harness.wait(for: "the beginning") { lines(log).count > before }
            for minute in 1...2 {
                clock.advance(by: 61)
                try await harness.wait(for: "minute \(minute) of round \(round)") {
                    lines(log).count > before + minute
                }
            }
            try broker.start()
            try await harness.wait(for: "the end") { log.all.filter { $0.contains("answers again") }.count == round }
            try await harness.wait(for: "readiness") { harness.isReady() }
        }
        try await harness.stop()
        let round = [
            "no broker answers, trying again", "still no broker answers", "still no broker answers",
            "a broker answers again",
        ]
        #expect(lines(log) == round + round)
        #expect(log.all.contains { $0.contains("a broker answers again") && $0.contains("seconds=122") })
    }

    @Test func `a store that refuses for minutes has a line a minute`() async throws {
        let harness = try WorkerHarness()
        let (log, clock) = (LogLines(), HandClock())
        harness.logger = log.logger
        harness.configuration.store.busyTimeoutMilliseconds = 20
        var hooks = WorkerRuntime.Hooks()
        hooks.outageClock = clock.now
        try harness.start(hooks: hooks)
        try await harness.wait(for: "readiness") { harness.isReady() }
        let lock = try HeldLock(harness.storePath)
        try harness.send([WorkerHarness.message("m")])
        func ofStore() -> [String] { log.all.filter { $0.contains("the store ") } }
        try await harness.wait(for: "the refusal") { !ofStore().isEmpty }
        for minute in 1...2 {
            clock.advance(by: 61)
            try await harness.wait(for: "minute \(minute)") { ofStore().count > minute }
        }
        lock.release()
        try await harness.waitForPosition(1)
        try await harness.stop()
        let lines = ofStore()
        #expect(lines.count == 4)
        #expect(lines[0].contains("the store refused, trying again code=store.busy"))
        #expect(lines[1].contains("the store still refuses") && lines[1].contains("seconds=61"))
        #expect(lines[3].contains("the store takes writes again") && lines[3].contains("seconds=122"))
    }

    @Test func `a running worker writes summaries`() async throws {
        let harness = try WorkerHarness()
        let log = LogLines()
        harness.logger = log.logger
        harness.configuration.log.summarySeconds = 1
        try harness.start()
        try harness.send([WorkerHarness.message("m1"), "no JSON"])
        try await harness.waitForPosition(2)
        try await harness.wait(for: "a summary of the records") {
            log.all.contains {
                $0.contains(" summary ") && $0.contains("deadLettersTotal=1") && $0.contains("recordsTotal=2")
                    && $0.contains("state=")
            }
        }
        try await harness.stop()
    }
}
