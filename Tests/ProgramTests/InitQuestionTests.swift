import Foundation
import Testing

/// `init` asks about records that would become fewer objects.
@Suite struct InitQuestionTests {
    private let workspace: Workspace
    private let file: String

    init() throws {
        workspace = try Workspace()
        file = try workspace.write(
            """
            id,updated_at,state
            1,2026-01-01T00:00:00Z,open
            1,2026-01-02T00:00:00Z,closed
            2,2026-01-01T00:00:00Z,open
            2,2026-01-03T00:00:00Z,closed
            3,2026-01-04T00:00:00Z,open

            """, to: "tickets.csv")
    }

    private var folder: String { workspace.path("made") }

    /// Imports with what `init` wrote, and returns the number of objects.
    private func objects() throws -> String {
        let replayed = try Program.run(["replay", file, "--config", folder + "/worker.yaml"])
        try #require(replayed.status == 0, "\(replayed.errors)")
        return try Foreign.sqlite(folder + "/store.sqlite", "SELECT count(*) FROM Ticket")
    }

    @Test func `a script that does not answer ends with a status of its own`() throws {
        let made = try Program.run(["init", file, "--folder", folder])
        #expect(made.status == 78)
        #expect(made.output.contains("question: 5 records of Ticket become 3 objects"))
        #expect(!made.output.contains("next:"))
        #expect(made.errors.contains("--keep-last") && made.errors.contains("--each-record"), "\(made.errors)")
        #expect(made.errors.contains("[init.repeats]"))
        let other = workspace.path("other")
        let json = try Program.run(["init", file, "--folder", other, "--json"])
        #expect(json.status == 78 && json.errors.contains("[init.repeats]"))
        #expect(json.output.contains(#""losses":[{"#), "\(json.output)")
    }

    @Test(arguments: [("--keep-last", "3"), ("--each-record", "5")])
    func `a script answers with an option`(_ option: String, _ count: String) throws {
        let made = try Program.run(["init", file, "--folder", folder, option])
        #expect(made.status == 0, "\(made.errors)")
        #expect(made.output.contains("next:") && !made.output.contains("question:"), "\(made.output)")
        #expect(made.output.contains("5 records of Ticket become 3 objects") == (option == "--keep-last"))
        #expect(try objects() == count)
    }

    @Test func `two answers are one too many`() throws {
        #expect(try Program.run(["init", file, "--folder", folder, "--keep-last", "--each-record"]).status == 64)
    }

    /// Runs the command on a pseudo-terminal, and types an answer when it asks.
    @Test(arguments: [("y", "3"), ("n", "5"), ("", "5")])
    func `a terminal is asked, and the answer holds`(_ answer: String, _ count: String) throws {
        let command = [Program.url.path, "init", file, "--folder", folder]
        let terminal = try PseudoTerminal(command, answering: answer)
        #expect(terminal.status == 0 && terminal.wasAsked, "\(terminal.text)")
        #expect(terminal.text.contains("Keep the last version of each?") && terminal.text.contains("next:"))
        #expect(try objects() == count)
    }
}
