import Foundation
import TestSupport
import Testing

/// `probe` asks the running worker at its configured port.
@Suite struct ProbeCommandTests {
    private func probe(_ path: String, _ settings: String...) throws -> Program.Result {
        try Program.run(["probe", path] + settings.flatMap { ["--set", $0] })
    }

    @Test func `a worker without a broker lives and is not ready`() throws {
        let workspace = try Workspace()
        let program = try Program(
            [
                "run", "--set", "store.path=\(workspace.path("store.sqlite"))", "--set", "topics=events", "--set",
                "kafka.bootstrap.servers=127.0.0.1:1", "--set", "http.port=0", "--set", "notifications.topic=null",
            ])
        try program.wait(for: "the probe") { try program.get("/livez")?.status == 200 }
        let port = try #require(program.errors.matches(of: /http:\/\/127\.0\.0\.1:(\d+)/).last).1

        // As in a container: the worker listens everywhere, and the probe asks on this machine.
        let lives = try probe("livez", "http.port=\(port)", "http.host=0.0.0.0", "http.allowUnauthenticated=true")
        #expect(lives.status == 0 && lives.output.isEmpty, "\(lives.errors)")
        let ready = try probe("readyz", "http.port=\(port)")
        #expect(ready.status == 75)
        #expect(ready.errors.contains("/readyz answers with 503") && ready.errors.contains("broker"), "\(ready.errors)")
        program.send(SIGTERM)
        try program.expectGoodEnd()
        let gone = try probe("livez", "http.port=\(port)")
        #expect(gone.status == 75 && gone.errors.contains("nobody answers"), "\(gone.errors)")
    }

    @Test func `without an HTTP server there is no probe`() throws {
        let result = try probe("livez", "http.enabled=false")
        #expect(result.status == 78 && result.errors.contains("http.enabled is false"), "\(result.errors)")
        #expect(try probe("metrics").status == 64)
    }
}
