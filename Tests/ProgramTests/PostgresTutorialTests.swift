import Foundation
import TestSupport
import Testing

/// The tutorial of PostgreSQL, carried out on the tests' server.
@Suite struct PostgresTutorialTests {
    @Test func `the commands of the tutorial print what it shows`() throws {
        let server = try PostgresServer.shared.get()
        let workspace = try Workspace()
        let schema = server.newSchema()
        let page = try String(
            contentsOf: Program.root.appending(path: "docs/tutorial/postgresql.md"), encoding: .utf8)
        let text = try #require(page.components(separatedBy: "## Import").last)
        let blocks = text.components(separatedBy: "\n```").enumerated().filter { $0.offset % 2 == 1 }
            .map { $0.element }
        let commands = blocks.filter { $0.hasPrefix("sh\n") }.map { $0.dropFirst(3) }.joined(separator: "\n")
        try #require(commands.matches(of: /(?m)^(ingest-worker|psql)\s/).count == 9)
        let host = try #require(server.url.firstMatch(of: /host=([^&]*)/)?.1)
        let script = commands.replacing("data/", with: workspace.path("") + "/").replacing(
            "-d ingest", with: "-d postgres"
        )
        .replacing("mkdir -p data\n", with: "").replacing("chat.\"", with: "\(schema).\"")
        .replacing("chat._", with: "\(schema)._")
        let output = try Foreign.run(
            "sh",
            [
                "-ec",
                """
                export PATH='\(Program.url.deletingLastPathComponent().path)':"$PATH"
                export INGEST_STORE_URL='\(server.url)&schema=\(schema)' PGHOST='\(host)' PGUSER=postgres
                cd '\(Program.root.path)'
                \(script)
                """,
            ])
        let shown = blocks.filter { $0.hasPrefix("\n") }
        #expect(shown.count == 4)
        for block in shown { #expect(output.contains(block.dropFirst()), "\(output)") }
        #expect(output.contains("The store is sound."))
        #expect(
            try Foreign.sqlite(workspace.path("chat.sqlite"), "SELECT DISTINCT topic FROM Chat WHERE topic IS NOT NULL")
                == "none")
    }
}
