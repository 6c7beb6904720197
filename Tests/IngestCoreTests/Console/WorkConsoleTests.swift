import Dispatch
import Foundation
import ObjectGraph
import Testing

@testable import IngestCore
@testable import Operations

/// The server of `migrate`: it answers as a worker does that is not ready, and never reads the store meanwhile.
@Suite(.timeLimit(.minutes(60))) struct WorkConsoleTests {
    private func listening(
        _ configuration: WorkerConfiguration, _ model: ObjectModel
    ) async throws -> (console: WorkConsole, port: Int) {
        // It blocks its thread until the server listens: not one of the few that run the server's tasks.
        try await DispatchQueue(label: "migration").run {
            let console = WorkConsole(.migration, configuration: configuration, model: model, logger: .silent)
            return (console, try console.listen())
        }
    }

    private func configuration(_ path: String = "none.sqlite") -> WorkerConfiguration {
        var configuration = WorkerConfiguration()
        configuration.store.path = path
        configuration.http.port = 0
        return configuration
    }

    @Test func `probes, status, metrics and the page tell of the migration`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "migration-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "store.sqlite").path
        let fixture = try PipelineFixture(store: try Store.open(path: path, model: try TestModels.chat()))
        try fixture.add(TestRecord(Events.message("m1"), offset: 0))
        try fixture.pipeline.finish()
        let target = try ObjectModel.parse(
            "model: target\nentities: { A: { identity: id, attributes: { id: { type: uuid } } } }")
        let (console, port) = try await listening(configuration(path), target)
        #expect(await RawAnswer.get("/livez", port: port)?.status == 200)
        console.show(ProgressMeter.Step("copying", count: 43, noun: "row", share: 0.43))
        let ready = try #require(await RawAnswer.get("/readyz", port: port))
        #expect(ready.status == 503 && ready.body.contains("[-]migration failed: copying, 43 %, "), "\(ready.body)")
        let status = try #require(await RawAnswer.get("/status", port: port))
        let report = try StatusReport(worker: "w", status: Array(status.body.utf8))
        #expect(report.verdict?.state == .working)
        #expect(report.sentence.hasPrefix("Migrating the store: copying, 43 %, "))
        #expect(report.work?.kind == .migration && report.work?.share == 0.43)
        // The figures are those of the old store, which has another model.
        #expect(report.history.token == 1 && report.store.model == "target" && report.positions.count == 1)
        let metrics = try #require(await RawAnswer.get("/metrics", port: port)).body
        #expect(metrics.contains("ingest_check_failed{check=\"migration\"} 1"))
        #expect(!metrics.contains("ingest_check_failed{check=\"broker\"}") && metrics.contains("ingest_store_bytes "))
        #expect(await RawAnswer.get("/", port: port)?.body.contains("<html") == true)
        #expect(await RawAnswer.get("/console/api/objects?entity=A", port: port)?.status == 404)
        withExtendedLifetime(console) {}
    }

    @Test func `without a store the answers have zeros`() async throws {
        let (console, port) = try await listening(configuration(), try TestModels.chat())
        let status = try #require(await RawAnswer.get("/status", port: port))
        let report = try StatusReport(worker: "w", status: Array(status.body.utf8))
        #expect(report.history.token == 0 && report.work?.phrase.hasPrefix("beginning (") == true)
        withExtendedLifetime(console) {}
    }

    @Test func `a port that is taken is an error that names it`() async throws {
        let (first, port) = try await listening(configuration(), try TestModels.chat())
        var other = configuration()
        other.http.port = port
        let error = await #expect(throws: HTTPServerError.self) {
            _ = try await listening(other, try TestModels.chat())
        }
        #expect(error?.code == .portInUse && error?.port == port)
        withExtendedLifetime(first) {}
    }
}
