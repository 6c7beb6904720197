import Foundation
import Testing

/// `console` shows a store in a browser, without a broker.
@Suite struct ConsoleCommandTests {
    @Test func `a store is shown without a worker, read-only, until the command is stopped`() throws {
        let workspace = try Workspace()
        let store = try workspace.sampleStore()
        let program = try Program(["console", "--set", "store.path=\(store)", "--set", "http.port=0"])
        let page = try #require(try program.get("/"))
        #expect(page.status == 200 && page.body.contains("<html"))
        let objects = try #require(try program.get("/console/api/objects?entity=Chat"))
        #expect(objects.status == 200 && objects.body.contains("chat-"), "\(objects.body)")
        let status = try #require(try program.get("/status"))
        #expect(status.body.contains(#""sentence":"Stopped: no worker runs."#), "\(status.body)")
        #expect(try program.get("/changes")?.status == 200)
        #expect(try program.get("/admin/verify", body: "{}")?.status == 404)
        // Nothing holds the store: a command writes it meanwhile.
        let written = try Program.run(["history", "cursors", "put", "a", "0", "--set", "store.path=\(store)"])
        #expect(written.status == 0, "\(written.errors)")
        program.send(SIGTERM)
        try program.expectGoodEnd()
        let none = try Program.run(["console", "--set", "store.path=\(workspace.path("none.sqlite"))"])
        #expect(none.status == 69 && none.errors.contains("There is no store at"), "\(none.errors)")
    }

    @Test(arguments: ["true", "false"])
    func `the store is not served to other machines without a token, also where the worker has no server`(
        _ isEnabled: String
    ) throws {
        let workspace = try Workspace()
        let program = try Program([
            "console", "--set", "store.path=\(try workspace.sampleStore())", "--set", "http.port=0", "--set",
            "http.host=0.0.0.0", "--set", "http.enabled=\(isEnabled)",
        ])
        let ended = try program.wait()
        #expect(ended.status == 78 && ended.errors.contains("http.bearerToken"), "\(ended.errors)")
    }
}
