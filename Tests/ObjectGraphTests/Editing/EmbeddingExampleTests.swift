import Foundation
import Testing

/// The program in docs/reference/embedding.md compiles, for it is a file of these tests, and does what it says.
@Suite struct EmbeddingExampleTests {
    @Test func `the example runs`() throws {
        let folder = try TemporaryFolder()
        #expect(try keepChats(at: folder.path("chats.sqlite")) == ["Supper: 3 messages"])
    }

    @Test func `the documentation shows the program as it is`() throws {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("EmbeddingExample.swift")
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let page = try String(contentsOf: root.appendingPathComponent("docs/reference/embedding.md"), encoding: .utf8)
        let program = try String(contentsOf: source, encoding: .utf8)
        #expect(page.contains("```swift\n\(program)```"))
    }
}
