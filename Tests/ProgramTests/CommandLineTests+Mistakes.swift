import Foundation
import TestSupport
import Testing

/// Refusals: the exit code, the place, the remedy.
extension CommandLineTests {
    @Test func `refuses a route with its place`() throws {
        let file = try workspace.write(
            "topics:\n  - name: t\n    format: json\n    routes:\n      - { entity: Mesage }\n", to: "worker.yaml")
        let result = try run(["check", "--offline", "--config", file])
        #expect(result.status == 78)
        #expect(result.errors.contains("worker.yaml:5:9"), "\(result.errors)")
    }

    @Test func `refuses a wrong configuration with its place`() throws {
        let file = try workspace.write("chunk:\n  maxOperatoins: 5\n", to: "worker.yaml")
        let result = try run(["check", "--offline", "--config", file])
        #expect(result.status == 78)
        #expect(result.errors.contains("worker.yaml:2"))
        #expect(result.errors.contains("maxOperations"))
    }

    @Test func `refuses a wrong variable`() throws {
        let result = try run(["check", "--offline"], environment: ["INGEST_STORE_PAHT": "x"])
        #expect(result.status == 78)
        #expect(result.errors.contains("INGEST_STORE_PATH"))
    }

    @Test func `refuses a wrong model with its place`() throws {
        let model = try workspace.write(
            """
            model: broken
            entities:
              Chat:
                identity: id
                attributes: { id: { type: string } }
                relationships:
                  messages: { to: Mesage, many: true, inverse: chat }
            """, to: "model.yaml")
        let result = try run(["check", "--offline", "--set", "model=\(model)"])
        #expect(result.status == 78)
        #expect(result.errors.contains("model.yaml:7"))
        #expect(result.errors.contains("Mesage"))
    }

    @Test func `refuses a store of another model`() throws {
        let store = try replaySample()
        let result = try run([
            "replay", "samples/work-orders.jsonl", "--set", "store.path=\(store)", "--set",
            "model=config/models/work-orders.yaml",
        ])
        #expect(result.status == 78)
        #expect(result.errors.contains("store.model_mismatch"))
        #expect(try run(["verify", "--set", "store.path=\(store)"]).status == 0)
    }

    @Test func `refuses what is no store`() throws {
        let file = try workspace.write(String(repeating: "This is no database. ", count: 100), to: "text.sqlite")
        let result = try run([
            "replay", "samples/chat-events.jsonl", "--allow-dead-letters", "--set", "store.path=\(file)",
        ])
        #expect(result.status == 69)
        #expect(result.errors.contains("store.corrupt"))
    }

    @Test func `refuses a store that cannot be made`() throws {
        let result = try run([
            "replay", "samples/chat-events.jsonl", "--allow-dead-letters", "--set",
            "store.path=/proc/none/store.sqlite",
        ])
        #expect(result.status == 69)
        #expect(result.errors.contains("store.unavailable"))
    }

    @Test func `refuses a store that another worker holds`() throws {
        let store = workspace.path("held.sqlite")
        // Reading a pipe that nobody writes keeps the first worker in its run.
        let pipe = workspace.path("pipe")
        _ = try Foreign.run("mkfifo", [pipe])
        let descriptor = open(pipe, O_RDWR)
        defer { close(descriptor) }
        let line = "{\"specversion\":\"1.0\",\"type\":\"member.upserted\",\"data\":{\"id\":\"m\"}}\n"
        _ = line.withCString { write(descriptor, $0, strlen($0)) }
        // A replay that waits does not renew its lease.
        let first = try Program(["replay", pipe, "--set", "store.path=\(store)", "--set", "lease.ttlSeconds=600"])
        try TestSupport.wait(for: "the first worker's lease") {
            FileManager.default.fileExists(atPath: store)
                && (try? Foreign.sqlite(store, "SELECT epoch FROM _lease")) == "1"
        }
        let second = try run([
            "replay", "samples/chat-events.jsonl", "--allow-dead-letters", "--set", "store.path=\(store)",
        ])
        #expect(second.status == 69)
        #expect(second.errors.contains("process \(first.processID)"))
        // The lease of a worker that is gone does not hold up the next one.
        try first.crash()
        let third = try run([
            "replay", "samples/chat-events.jsonl", "--allow-dead-letters", "--set", "store.path=\(store)",
        ])
        #expect(third.status == 0, "\(third.errors)")
    }

    @Test func `tells what is missing`() throws {
        #expect(try run(["replay", "no-such-file.jsonl"]).status == 65)
        #expect(try run(["fetch"]).status == 64)
        #expect(try run(["fetch", "Chat", "--set", "store.path=\(workspace.path("none.sqlite"))"]).status == 69)
        let broker = try run([
            "check", "--set", "kafka.bootstrap.servers=127.0.0.1:1",
            "--set", "store.path=\(workspace.path("c.sqlite"))",
        ])
        #expect(broker.status == 69)
    }
}
