import Dispatch
import Foundation
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import IngestCore
@testable import Operations

/// A worker whose store has to be verified before it is written: who asks meanwhile gets an answer.
@Suite(.timeLimit(.minutes(60))) struct SuspectStoreTests {
    /// A store of the harness, whose disk failed.
    private func makeSuspectStore(_ harness: WorkerHarness) throws {
        let store = try Store.open(path: harness.storePath, model: WorkerHarness.model)
        try WriterContext(store: store).close()
        try store.close()
        #expect(FileManager.default.createFile(atPath: harness.storePath + "-suspect", contents: nil))
    }

    @Test func `probes and status answer during the verification, and then the worker has the port`() async throws {
        let harness = try WorkerHarness()
        try makeSuspectStore(harness)
        harness.configuration.http.enabled = true
        let reserved = try ReservedPort()
        let port = reserved.number
        harness.configuration.http.port = port
        let bound = Atomic<Int>(0)
        let mayEnd = DispatchSemaphore(value: 0)
        defer { mayEnd.signal() }
        var hooks = WorkerRuntime.Hooks()
        hooks.onHTTPBound = { _ in bound.add(1, ordering: .relaxed) }
        let held = Mutex(false)
        hooks.onVerification = { _ in
            let isFirst = held.withLock { held in
                defer { held = true }
                return !held
            }
            if isFirst { mayEnd.wait() }
        }
        let (configuration, logger, watched) = (harness.configuration, harness.logger, hooks)
        let opening = Task {
            try await WorkerRuntime.open(
                configuration: configuration, model: WorkerHarness.model, logger: logger, hooks: watched)
        }
        try await harness.wait(for: "the verification") { held.withLock { $0 } }
        #expect(await RawAnswer.get("/livez", port: port)?.status == 200)
        let ready = try #require(await RawAnswer.get("/readyz", port: port))
        #expect(ready.status == 503 && ready.body.contains("[-]startup failed: verifying the store"), "\(ready.body)")
        let status = try #require(await RawAnswer.get("/status", port: port))
        let report = try StatusReport(worker: "w", status: Array(status.body.utf8))
        #expect(report.verdict?.state == .starting && report.work?.kind == .verification)
        #expect(report.sentence.hasPrefix("Starting: verifying the store"))
        // A page that is open keeps its connection.
        let open = try #require(RawConnection(port: port))
        open.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(FileManager.default.fileExists(atPath: harness.storePath + "-suspect"))
        mayEnd.signal()
        let verified = try await opening.value
        #expect(RawConnection(port: port) == nil)
        #expect(!FileManager.default.fileExists(atPath: harness.storePath + "-suspect"))
        let worker = Task { try await verified.run(signals: []) }
        try await harness.wait(for: "the worker's own server") { bound.load(ordering: .relaxed) == 2 }
        #expect(await RawAnswer.get("/livez", port: port)?.status == 200)
        await verified.requestStop()
        try await worker.value
        withExtendedLifetime((open, reserved)) {}
    }
}
