import Foundation
import InMemoryTracing
import IngestCore
import Logging
import MetricsTestKit
import ObjectGraph
import Operations
import Testing

@testable import RecordFiles

/// A program runs a worker with the public interface alone.
@Suite(.timeLimit(.minutes(60))) struct EmbeddedWorkerTests {
    @Test func `a program's worker has spans and metrics, and ends cleanly where its task is cancelled`() async throws {
        let harness = try WorkerHarness()
        harness.configuration.model = WorkerHarness.root.appending(path: "config/models/chat.yaml").path
        try harness.send((0..<5).map { WorkerHarness.message("m\($0)") })
        let (tracer, metrics) = (InMemoryTracer(), TestMetrics())
        harness.configuration.http.enabled = false
        let configuration = harness.configuration
        let task = Task { try await importEvents(configuration, tracer: tracer, metrics: metrics) }
        try await harness.wait(for: "a chunk's span and one of notifications") {
            Set(tracer.finishedSpans.map(\.operationName)).isSuperset(of: ["ingest chunk", "ingest notifications"])
        }
        try await harness.wait(for: "a gauge of the checks") {
            let checks = metrics.meters.filter { $0.label == "ingest_check_failed" }
            return !checks.isEmpty && checks.allSatisfy { $0.lastValue != nil }
        }
        task.cancel()
        try await task.value
        #expect(try metrics.expectCounter("ingest_records_total").totalValue == 5)
        #expect(tracer.activeSpans.isEmpty)
        #expect(try harness.read { try $0.count(FetchRequest("Message")) } == 5)
        // The lease is free.
        try WriterContext(store: Store.open(path: harness.storePath, model: WorkerHarness.model)).close()
    }

    @Test func `a program replays a file, and each record takes effect once`() throws {
        let harness = try WorkerHarness()
        let file = URL(fileURLWithPath: harness.storePath).deletingLastPathComponent().appending(path: "events.jsonl")
        let lines = (0..<5).map { WorkerHarness.message("m\($0)") } + ["{\"type\": \"no.such\"}"]
        try lines.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
        let (configuration, model) = (harness.configuration, WorkerHarness.model)
        func replay(restarts: Bool = false) throws -> [Int] {
            let counts = try configuration.replay(
                files: [file.path], model: model, restarts: restarts, logger: Logger(label: "test"))
            return [counts.records, counts.applied, counts.deadLetters]
        }
        harness.configuration.model = WorkerHarness.root.appending(path: "config/models/chat.yaml").path
        #expect(try replayFile(file.path, into: harness.configuration) == "5 applied; dead letters: 1")
        #expect(try replay() == [0, 0, 0])
        #expect(try replay(restarts: true) == [6, 5, 1])
        #expect(try harness.read { try $0.count(FetchRequest("Message")) } == 5)
        #expect(throws: RecordFileError.self) {
            try configuration.replay(files: ["/none"], model: model, logger: Logger(label: "test"))
        }
        // The lease is free after a failure, too.
        try WriterContext(store: Store.open(path: harness.storePath, model: model)).close()
    }

    @Test(arguments: ["TracedWorkerExample", "ReplayExample"])
    func `the page shows the program as it is`(_ name: String) throws {
        let source = WorkerHarness.root.appending(path: "Tests/IngestCoreTests/Worker/\(name).swift")
        let page = try String(
            contentsOf: WorkerHarness.root.appending(path: "docs/how-to/embedding.md"), encoding: .utf8)
        #expect(page.contains("```swift\n\(try String(contentsOf: source, encoding: .utf8))```"))
    }
}
