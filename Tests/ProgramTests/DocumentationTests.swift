import Foundation
import TestSupport
import Testing

/// The pages say what the program does: their commands run, and their names and generated parts are those of the program.
@Suite struct DocumentationTests {
    /// Runs a script of the documentation, and returns its output and status.
    private func run(_ script: String, _ arguments: [String]) throws -> (output: String, isSound: Bool) {
        let quoted = arguments.map { "'\($0)'" }.joined(separator: " ")
        let output = try Foreign.run("sh", ["-c", "\(script) \(quoted) 2>&1; echo \"status $?\""])
        return (output, output.hasSuffix("status 0\n"))
    }

    @Test func `each block of the pages runs and shows what the page says`() throws {
        let planted = try run("Tests/Documentation/run", ["--self-test"])
        #expect(planted.isSound, "\(planted.output)")
        let server = try PostgresServer.shared.get()
        let result = try run("Tests/Documentation/run", [Program.url.path, "--postgres", server.url])
        #expect(result.isSound, "\(result.output)")
        let count = try #require(result.output.firstMatch(of: /(\d+) blocks carried out/)?.1)
        #expect(try #require(Int(count)) > 100)
    }

    @Test func `the names in the pages are those of the program`() throws {
        for arguments in [["--self-test"], []] {
            let result = try run("Tests/Documentation/names", arguments)
            #expect(result.isSound, "\(result.output)")
        }
    }

    @Test func `the reference of settings and commands is that of the program`() throws {
        let result = try run("docs/reference/generate", [Program.url.path, "--check"])
        #expect(result.isSound, "\(result.output)")
    }

    @Test func `the pictures are those of their texts`() throws {
        let result = try run("docs/pictures/draw", ["--check"])
        #expect(result.isSound, "\(result.output)")
    }
}
