import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// The program on the first pages compiles, for it is a file of these tests, and does what it says.
@Suite struct FirstStepsTests {
    @Test func `the program on the first pages runs`() throws {
        let folder = try TemporaryFolder()
        let said = try keepTalks(at: folder.path("talks.sqlite"))
        #expect(said.first?.contains("Remark.talk") == true, "\(said)")
        #expect(said.dropFirst() == ["saved 2", "updated 1, conflicts 0", "It ran again.", "update Remark"])
    }

    @Test(arguments: [
        "Sources/ObjectGraph/ObjectGraph.docc/ObjectGraph.md", "docs/reference/embedding.md",
    ])
    func `the first pages show the program as it is`(_ page: String) throws {
        let program = try PackageFiles.text("Tests/ObjectGraphTests/Documentation/FirstSteps.swift")
        #expect(try PackageFiles.text(page).contains("```swift\n\(program)```"))
    }

    @Test func `a refused event is thrown by a check of its chunk`() throws {
        let graph = try Graph(configuredModel("chat"))
        let wrong = graph.upsert("Message", "m", ["seq": -1])
        let result = try graph.writer.apply(
            WriterContext.Chunk(events: [graph.upsert("Chat", "c"), wrong]))
        let error = #expect(throws: RefusedEvents.self) { try result.check() }
        #expect(error?.failures.keys.sorted() == [1])
        #expect(error?.code == error?.failures[1]?.code)
        let right = try graph.writer.apply(WriterContext.Chunk(events: [graph.upsert("Chat", "d")]))
        #expect(try right.check().changes.total == 1)
    }
}
