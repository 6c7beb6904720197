import Foundation
import InMemoryTracing
import ObjectGraph
import Testing

/// A program runs a worker with the public interface alone.
@Suite(.timeLimit(.minutes(2))) struct EmbeddedWorkerTests {
    @Test func `a program's worker has spans, and ends cleanly where its task is cancelled`() async throws {
        let harness = try WorkerHarness()
        harness.configuration.model = WorkerHarness.root.appending(path: "config/models/chat.yaml").path
        try harness.send((0..<5).map { WorkerHarness.message("m\($0)") })
        let tracer = InMemoryTracer()
        let configuration = harness.configuration
        let task = Task { try await importEvents(configuration, tracer: tracer) }
        try await harness.wait(for: "a chunk's span and one of notifications") {
            Set(tracer.finishedSpans.map(\.operationName)).isSuperset(of: ["ingest chunk", "ingest notifications"])
        }
        task.cancel()
        try await task.value
        #expect(tracer.activeSpans.isEmpty)
        #expect(try harness.read { try $0.count(FetchRequest("Message")) } == 5)
        // The lease is free.
        try WriterContext(store: Store.open(path: harness.storePath, model: WorkerHarness.model)).close()
    }

    @Test func `the page shows the program as it is`() throws {
        let source = WorkerHarness.root.appending(path: "Tests/IngestCoreTests/Worker/TracedWorkerExample.swift")
        let page = try String(
            contentsOf: WorkerHarness.root.appending(path: "docs/how-to/embedding.md"), encoding: .utf8)
        #expect(page.contains("```swift\n\(try String(contentsOf: source, encoding: .utf8))```"))
    }
}
