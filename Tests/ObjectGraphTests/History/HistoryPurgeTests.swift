import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct HistoryPurgeTests {
    private func chats(_ count: Int) throws -> Graph {
        let graph = try Graph(configuredModel("chat"))
        for number in 1...count { try graph.apply(graph.upsert("Chat", .text("c\(number)"))) }
        return graph
    }

    @Test func `before a token keeps its own transaction`() throws {
        let graph = try chats(4)
        #expect(try graph.writer.purgeHistory(HistoryPurge(before: .token(3))).transactionCount == 2)
        #expect(try graph.history(after: 2) == ["insert Chat c3", "insert Chat c4"])
        #expect(try graph.writer.purgeHistory(HistoryPurge(before: .token(3))).transactionCount == 0)
    }

    @Test func `a huge transaction goes in several bites and is gone for readers at once`() throws {
        let graph = try Graph(configuredModel("chat"))
        // Seven alike changes have a row each; more of them would share one.
        try graph.apply((1...14).map { graph.upsert($0 % 2 == 0 ? "Chat" : "Member", .text("o\($0)")) })
        try graph.apply(graph.upsert("Chat", "last"))
        var purge = HistoryPurge(before: .token(2))
        purge.changeLimit = 10
        let first = try graph.writer.purgeHistory(purge)
        #expect(first == PurgeResult(transactionCount: 1, changeRowCount: 10, isFinished: false))
        #expect(try graph.store.read { try $0.transaction(1, from: 0, limit: 1) } == nil)
        #expect(try graph.value("SELECT count(*) FROM _history") == 1)
        #expect(try graph.store.inSQLite().verify().isSound)
        var total = first
        while !total.isFinished { total.add(try graph.writer.purgeHistory(purge)) }
        #expect(total.changeRowCount == 14)
        #expect(try graph.history(after: 1) == ["insert Chat last"])
    }

    @Test func `a cursor that is passed is named and its reader learns of it`() throws {
        let clock = Clock(100)
        let graph = try Graph(configuredModel("chat"), clock: clock)
        for number in 1...4 { try graph.apply(graph.upsert("Chat", .text("c\(number)"))) }
        try graph.writer.putCursors(["silent": 1])
        clock.now = 200
        try graph.writer.putCursors(["live": 2])
        try graph.writer.commit()
        var purge = HistoryPurge(before: .time(.max))
        purge.passesCursorsSavedBefore = 150
        let result = try graph.writer.purgeHistory(purge)
        #expect(result.passedCursors == ["silent": 1])
        #expect(result.holdingCursors == ["live": 2])
        #expect(result.transactionCount == 2)
        let cursors = try graph.store.read { try $0.historyCursors() }
        #expect(cursors.map(\.name) == ["live", "silent"])
        #expect(cursors.map(\.isExpired) == [false, true])
        #expect(cursors.map(\.lag) == [2, 2])
        #expect(cursors[0].ageSeconds(at: 2_000_200) == 2)
        #expect(cursors[0].lagSeconds(at: 1_000_100) == 1)
        let error = #expect(throws: StoreError.self) { try graph.history(after: 1) }
        #expect(error?.code == .historyExpired)
    }

    @Test func `a removed cursor holds nothing back`() throws {
        let graph = try chats(3)
        try graph.writer.putCursors(["feed": 1])
        #expect(try graph.writer.purgeHistory(HistoryPurge(before: .time(.max))).transactionCount == 1)
        #expect(try graph.writer.removeCursor("feed"))
        #expect(try !graph.writer.removeCursor("feed"))
        #expect(try graph.writer.purgeHistory(HistoryPurge(before: .time(.max))).transactionCount == 2)
    }

    // MARK: Tombstones

    @Test func `old tombstones go in bites and young ones stay`() throws {
        let clock = Clock(100)
        let graph = try Graph(configuredModel("chat"), clock: clock)
        try graph.apply((1...5).map { graph.delete("Chat", .text("old\($0)")) } + [graph.delete("Member", "m")])
        clock.now = 200
        try graph.apply(graph.delete("Chat", "young"))
        let counted = try graph.writer.examineTombstones(
            savedBefore: 200, from: TombstoneSweep(), limit: 100, countsOnly: true)
        #expect(counted.examinedCount == 7 && counted.removedCount == 6 && counted.next == nil)
        #expect(try graph.tombstones().count == 7)
        var sweep: TombstoneSweep? = TombstoneSweep()
        var bites: [Int] = []
        while let place = sweep {
            let result = try graph.writer.purgeTombstones(savedBefore: 200, from: place, limit: 3)
            bites.append(result.removedCount)
            sweep = result.next
        }
        #expect(bites == [3, 2, 1])
        #expect(try graph.tombstones().map { $0[1] } == ["young"])
    }

    @Test func `after its tombstone is purged a late event is as any other`() throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(graph.upsert("Chat", "c", time: 10))
        try graph.apply(graph.delete("Chat", "c", time: 20))
        #expect(try graph.apply(graph.upsert("Chat", "c", ["title": "late"], time: 15)) == ["stale"])
        #expect(try graph.writer.purgeTombstones(savedBefore: .max).removedCount == 1)
        #expect(try graph.apply(graph.upsert("Chat", "c", ["title": "late"], time: 15)) == ["applied"])
        #expect(try graph.value("Chat", "c", "title") == "late")
    }
}
