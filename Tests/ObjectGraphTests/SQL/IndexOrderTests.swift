import GRDB
import ObjectGraph
import TestSupport
import Testing

@testable import SQLiteStorage

@Suite struct IndexOrderTests {
    /// The values as an index of SQLite holds them.
    private func indexed(_ values: [Value]) throws -> [Value] {
        try DatabaseQueue().write { database in
            try database.execute(sql: "CREATE TABLE t (v)")
            for value in values {
                switch value {
                case .text(let text): try database.execute(sql: "INSERT INTO t VALUES (?)", arguments: [text])
                case .integer(let number): try database.execute(sql: "INSERT INTO t VALUES (?)", arguments: [number])
                default: Issue.record("No such value here")
                }
            }
            return try Row.fetchAll(database, sql: "SELECT v FROM t ORDER BY v").map { row in
                if let number = row[0] as? Int64 { .integer(number) } else { .text(row[0]) }
            }
        }
    }

    private func sorted(_ values: [Value]) -> [Value] {
        let arena = ValueArena()
        defer { withExtendedLifetime(arena) {} }
        return IndexOrder.sorted(values.map { arena.pack($0) }).map(\.value)
    }

    @Test func `texts stand in the order of SQLite's index`() throws {
        var random = SeededRandom.forTest("texts stand in the order of SQLite's index")
        let letters: [Character] = ["a", "b", "é", "e\u{301}", "😀", "0", "\u{7F}", "Z"]
        let texts = (0..<2000).map { _ in
            // Beginnings beyond the compared bytes let the texts themselves decide.
            let start = Bool.random(using: &random) ? "" : "a message of this run "
            let end = (0..<random.number(below: 12)).map { _ in letters[random.number(below: letters.count)] }
            return start + String(end)
        }
        let values = Set(texts).map { Value.text($0) }
        #expect(try sorted(values) == indexed(values))
    }

    @Test func `numbers stand in the order of SQLite's index`() throws {
        var random = SeededRandom.forTest("numbers stand in the order of SQLite's index")
        let numbers = [0, -1, 1, .min, .max] + (0..<2000).map { _ in Int64.random(in: .min ... .max, using: &random) }
        let values = Set(numbers).map { Value.integer($0) }
        #expect(try sorted(values) == indexed(values))
    }

    @Test func `values of several kinds stay where they are`() {
        let values: [Value] = [.text("b"), .integer(1), .text("a"), .null]
        #expect(sorted(values) == values)
    }

    /// Another row's values under a key would show.
    @Test func `rows keep their values in whichever order they are written`() throws {
        var random = SeededRandom.forTest("rows keep their values in whichever order they are written")
        let graph = try Graph(configuredModel("chat"))
        let numbers = (0..<2000).shuffled(using: &random)
        func events(_ letter: String, time: Int64) -> [ChangeSet] {
            numbers.map {
                graph.upsert(
                    "Message", .text("m\($0)"), ["body": .value(.text("\(letter)\($0)")), "chat": "c"], time: time)
            }
        }
        for (letter, time) in [("b", Int64(1)), ("c", 2)] {
            try graph.apply(events(letter, time: time))
            let count = try graph.value("SELECT count(*) FROM Message WHERE body = '\(letter)' || substr(id, 2)")
            #expect(count == 2000)
        }
    }
}
