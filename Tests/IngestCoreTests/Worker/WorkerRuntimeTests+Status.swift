import Foundation
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import IngestCore
@testable import Operations

extension WorkerRuntimeTests {
    /// Starts a worker with an HTTP server on a free port, and returns the port.
    private func start(_ harness: WorkerHarness) async throws -> Int {
        harness.configuration.http.enabled = true
        harness.configuration.http.port = 0
        let bound = Mutex(0)
        var hooks = WorkerRuntime.Hooks()
        hooks.onHTTPBound = { port in bound.withLock { $0 = port } }
        try harness.start(hooks: hooks)
        try await harness.wait(for: "the server") { bound.withLock { $0 } > 0 }
        return bound.withLock { $0 }
    }

    /// All of the store's connections are held, and more reports wait for one than there are threads for tasks.
    @Test func `probes answer while reports wait for the store`() async throws {
        let harness = try WorkerHarness()
        let port = try await start(harness)
        let store = try #require(harness.runtime).store

        let held = Atomic<Int>(0)
        let isReleased = Atomic<Bool>(false)
        let readers = Store.Options().maximumReaderCount
        for _ in 0..<readers {
            Thread {
                try? store.read { _ in
                    held.add(1, ordering: .relaxed)
                    // Not for good: where reports hold up the tasks, this test's own too.
                    var stillness = Stillness()
                    while !isReleased.load(ordering: .relaxed), !stillness.isTooLong() { usleep(10_000) }
                    isReleased.store(true, ordering: .relaxed)
                }
            }.start()
        }
        try await harness.wait(for: "the connections") { held.load(ordering: .relaxed) == readers }
        let reports = try (0..<ProcessInfo.processInfo.activeProcessorCount * 2 + 4).map { _ in
            let connection = try #require(RawConnection(port: port))
            connection.send("GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return connection
        }
        for _ in 0..<10 {
            let probe = try #require(RawConnection(port: port))
            probe.send("GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            #expect(await probe.readToEnd()?.hasPrefix("HTTP/1.1 200") == true)
            try await Task.sleep(for: .milliseconds(20))
        }
        let cameLate = isReleased.load(ordering: .relaxed)
        #expect(!cameLate, "the probes waited for the reports")
        isReleased.store(true, ordering: .relaxed)
        for report in reports { #expect(await report.readToEnd()?.hasPrefix("HTTP/1.1 200") == true) }
        try await harness.stop()
    }

    @Test(arguments: [true, false]) func `the console is there unless http.console is false`(_ isOn: Bool) async throws
    {
        let harness = try WorkerHarness()
        harness.configuration.http.console = isOn
        let port = try await start(harness)
        #expect(await RawAnswer.get("/", port: port)?.status == (isOn ? 200 : 404))
        #expect(await RawAnswer.get("/console/api/model", port: port)?.status == (isOn ? 200 : 404))
        #expect(await RawAnswer.get("/status", port: port)?.status == 200)
        try await harness.stop()
    }

    @Test func `a worker on loopback without a token shows nothing to a page of a foreign name`() async throws {
        let harness = try WorkerHarness()
        let port = try await start(harness)
        for path in [ChangeFeed.path, "/status", "/metrics", "/console/api/model"] {
            #expect(await RawAnswer.get(path, port: port, host: "attacker.example")?.status == 421, "\(path)")
        }
        #expect(await RawAnswer.get("/readyz", port: port, host: "attacker.example")?.status != 421)
        try await harness.stop()
    }
}
