import Testing

@testable import ObjectGraph

/// The table of docs/reference/history.md: what several changes of one object become within a transaction.
@Suite struct HistoryFoldTests {
    struct Line: CustomTestStringConvertible {
        let testDescription: String
        /// The steps of one chunk: "set NAME" or "delete".
        let steps: [String]
        /// Whether the object was there before the chunk, with the name "a".
        let existed: Bool
        let changes: [String]

        init(_ steps: [String], existed: Bool, _ changes: [String]) {
            testDescription = steps.joined(separator: ", ") + (existed ? " of an object" : " of nothing")
            (self.steps, self.existed, self.changes) = (steps, existed, changes)
        }
    }

    private static let lines = [
        Line(["set b", "set c"], existed: false, ["insert Member m"]),
        Line(["set b", "delete"], existed: false, []),
        Line(["set b", "delete", "set c"], existed: false, ["insert Member m"]),
        Line(["set b", "set c"], existed: true, ["update Member m name"]),
        Line(["set b", "set a"], existed: true, []),
        Line(["set b", "delete"], existed: true, ["delete Member m"]),
        Line(["delete", "set b"], existed: true, ["delete Member m", "insert Member m"]),
        Line(["delete", "set a"], existed: true, ["delete Member m", "insert Member m"]),
        Line(["delete", "set b", "delete"], existed: true, ["delete Member m"]),
    ]

    @Test(arguments: lines) func `several changes of one object become`(line: Line) throws {
        let graph = try Graph(configuredModel("chat"))
        if line.existed { try graph.apply(graph.upsert("Member", "m", ["name": "a"], time: 1)) }
        let before = Int64(line.existed ? 1 : 0)
        let events = line.steps.enumerated().map { number, step in
            let time = Int64(number) + 2
            return step == "delete"
                ? graph.delete("Member", "m", time: time)
                : graph.upsert("Member", "m", ["name": .value(.text(String(step.dropFirst(4))))], time: time)
        }
        let result = try graph.apply(events)
        #expect(result.outcomes.allSatisfy { $0.word == "applied" })
        #expect(try graph.history(after: before) == line.changes)
        #expect((result.token == nil) == line.changes.isEmpty)
        #expect(try graph.damage() == "")
    }

    /// The first chunk of a commit is undone with its transaction, a later one alone.
    @Test(.onlyInSQLite("a trigger of SQL refuses the row"), arguments: [false, true])
    func `where a row breaks a constraint, the events are applied one by one`(
        isLater: Bool
    ) throws {
        let graph = try Graph(configuredModel("chat"))
        _ = try graph.rows(
            """
            CREATE TEMP TRIGGER refusal BEFORE INSERT ON main.Member WHEN NEW.name = 'bad'
            BEGIN SELECT RAISE(ABORT, 'refused'); END
            """)
        let former = WriterContext.Chunk(events: [graph.upsert("Chat", "c", ["title": "t"])])
        if isLater { _ = try graph.writer.apply(former) }
        let result = try graph.apply([
            graph.upsert("Member", "m", ["name": "a"], time: 1), graph.upsert("Member", "n", ["name": "bad"], time: 1),
            graph.upsert("Member", "m", ["name": "b"], time: 2),
        ])
        #expect(result.outcomes.map(\.word) == ["applied", "store.constraint", "applied"])
        #expect(
            try graph.history() == (isLater ? ["insert Chat c"] : []) + ["insert Member m", "update Member m name"])
        #expect(try graph.value("Member", "m", "name") == "b")
        #expect(try graph.damage() == "")
    }
}
