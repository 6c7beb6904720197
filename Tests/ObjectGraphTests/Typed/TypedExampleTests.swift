import Foundation
import Testing

/// The program in docs/reference/typed.md compiles, for it is a file of these tests, and does what it says.
@Suite struct TypedExampleTests {
    @Test func `the example runs`() throws {
        let folder = try TemporaryFolder()
        #expect(
            try keepAlbums(at: folder.path("albums.sqlite")) == ["Harbour: 3 songs, Crane, High Tide, Mole"])
    }

    @Test func `the documentation shows the program as it is`() throws {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("TypedExample.swift")
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let page = try String(contentsOf: root.appendingPathComponent("docs/reference/typed.md"), encoding: .utf8)
        let program = try String(contentsOf: source, encoding: .utf8)
        #expect(page.contains("```swift\n\(program)```"))
    }
}
