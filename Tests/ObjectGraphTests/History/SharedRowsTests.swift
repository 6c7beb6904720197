import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Changes of one save that share a row of the history.
@Suite struct SharedRowsTests {
    private static let names = (0..<10).map { Value.text("m\($0)") }

    private func graph() throws -> Graph {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(Self.names.map { graph.upsert("Member", $0, ["name": "n"]) })
        return graph
    }

    @Test func `alike changes of a save share a row and a deletion before them keeps its own`() throws {
        let graph = try graph()
        try graph.apply(
            Self.names.map { graph.delete("Member", $0, time: 10) }
                + Self.names.map { graph.upsert("Member", $0, ["name": "again"], time: 20) })
        let kinds = try graph.store.read { try $0.history(after: 1) }.flatMap(\.changes).map(\.kind.rawValue)
        #expect(kinds == Array(repeating: 2, count: 10) + Array(repeating: 0, count: 10))
        let second = try graph.store.read { try $0.history(after: 1) }.flatMap(\.changes).map(\.identity)
        #expect(Array(second.suffix(10)) == Self.names)
        #expect(try graph.store.inSQLite().verify().isSound)
    }

    @Test(.enabled(if: TestStorage.current != .memory, "memory gives each change a row"))
    func `insertions and updates of the same properties are one row each`() throws {
        let graph = try graph()
        try graph.apply(
            Self.names.map { graph.upsert("Member", $0, ["name": "other"]) }
                + [graph.upsert("Member", "new", ["name": "n"])])
        #expect(
            try graph.rows("SELECT token, change, count, properties FROM _history_range ORDER BY id") == [
                [1, 0, 10, .null], [2, 1, 10, "name"],
            ])
        #expect(try graph.column("SELECT identity FROM _history_change") == ["new"])
        let seen = try graph.rows("SELECT token, identity, change FROM _history ORDER BY token, change, identity")
        #expect(seen.count == 21 && seen.first == [1, "m0", "insert"] && seen.last == [2, "m9", "update"])
    }

    @Test(.onlyInSQLite("other storages have no such index"))
    func `with the index by object each change has a row`() throws {
        var options = Store.Options()
        options.indexesHistoryByObject = true
        let graph = try Graph(Store.inMemory(model: configuredModel("chat"), options: options))
        try graph.apply(Self.names.map { graph.upsert("Member", $0) })
        #expect(try graph.value("SELECT count(*) FROM _history_range") == 0)
        #expect(try graph.value("SELECT count(*) FROM _history_change") == 10)
    }

    @Test func `pages and filters cut within a shared row`() throws {
        let graph = try graph()
        let whole = try graph.store.read { try $0.history(after: 0) }.flatMap(\.changes).map(\.identity)
        #expect(whole == Self.names)
        for size in 1...4 {
            var found: [Value] = []
            while let page = try graph.store.read({ try $0.transaction(1, from: found.count, limit: size) }),
                !page.changes.isEmpty
            {
                #expect(page.changes.count <= size)
                found += page.changes.map(\.identity)
            }
            #expect(found == whole)
        }
        var request = HistoryRequest()
        (request.entity, request.identity) = ("Member", "m7")
        let one = try graph.store.read { try $0.history(request) }
        #expect(one.changes.map(\.identity) == ["m7"])
        #expect(try graph.store.read { try $0.historyCount(request) } == 1)
    }

    @Test func `objects of a shared row that are gone keep their identity in the history`() throws {
        let graph = try graph()
        try graph.apply([graph.delete("Member", "m3"), graph.delete("Member", "m4")])
        let first = try #require(try graph.store.read { try $0.transaction(1, from: 0, limit: 100) })
        #expect(first.changes.map(\.identity) == Self.names)
        let inView = try graph.column("SELECT identity FROM _history WHERE token = 1 ORDER BY identity")
        #expect(inView == Self.names)
    }
}
