import Foundation
import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage

/// Writers that share a store in PostgreSQL: whatever they do at once, the store is that of one writer.
@Suite(.serialized) struct ManyWritersTests {
    /// Logs of events on the same few objects, so that the writers meet at each of them.
    private func logs(_ model: ObjectModel, count: Int, length: Int, seed: UInt64) -> [[ChangeSet]] {
        (0..<count).map { log in
            var generator = EventGenerator(model, seed: seed &+ UInt64(log) &* 7919)
            return generator.events(length)
        }
    }

    private func check(
        _ name: String, _ model: ObjectModel, drafts: Bool = true, parameters: String = "", length: Int, seed: UInt64
    ) throws {
        let shared = try SharedStore(model, drafts: drafts, parameters: parameters)
        let logs = logs(model, count: 4, length: length, seed: seed)
        let refusals = try shared.applyAll(logs, lengths: 1...4, seed: seed)
        print("ManyWritersTests: seed \(seed), \(refusals) chunks applied again")
        if let problem = try shared.problem(logs) { Issue.record("model \(name), seed \(seed):\n\(problem)") }
    }

    @Test(arguments: ["rules", "strict", "derived", "hierarchy", "ordered", "chat", "work-orders"])
    func `writers on the same objects leave the store of one writer`(_ name: String) throws {
        var random = SeededRandom.forTest("ManyWritersTests \(name)")
        let model = try RandomisedTests.model(name)
        let deadlocks = try PostgresServer.shared.get().query("SELECT sum(deadlocks) FROM pg_stat_database")
        for drafts in [true, true, false] {
            try check(name, model, drafts: drafts, length: 40, seed: random.next())
        }
        #expect(try PostgresServer.shared.get().query("SELECT sum(deadlocks) FROM pg_stat_database") == deadlocks)
    }

    static let ledger = """
        model: ledger
        version: "1"
        entities:
          Account:
            identity: id
            attributes:
              id: { type: string }
              total: { type: decimal, derived: entries.amount.@sum }
            relationships:
              entries: { to: Entry, many: true, inverse: account, delete: cascade }
          Entry:
            identity: id
            attributes:
              id: { type: string }
              amount: { type: decimal, optional: true }
            relationships:
              account: { to: Account, inverse: entries, delete: nullify, optional: true }
        """

    @Test func `writers add to the same decimals`() throws {
        var random = SeededRandom.forTest("ManyWritersTests ledger")
        let model = try ObjectModel.parse(Self.ledger)
        for _ in 0..<3 { try check("ledger", model, length: 40, seed: random.next()) }
    }

    @Test func `writers keep the rules of random models`() throws {
        var random = SeededRandom.forTest("ManyWritersTests random models")
        for _ in 0..<6 {
            let seed = random.next()
            let yaml = ModelGenerator.yaml(seed: seed, policies: 40)
            try check("random:\n" + yaml, try ObjectModel.parse(yaml), length: 25, seed: seed)
        }
    }

    @Test(.enabled(if: PostgresServer.isOwn, "pgbouncer refuses the parameter in the URL"))
    func `a server that isolates transactions more by default refuses no writer that has waited`() throws {
        let parameters = "&options=-c%20default_transaction_isolation%3Dserializable"
        let model = try configuredModel("chat")
        var random = SeededRandom.forTest("ManyWritersTests isolation")
        try check("chat", model, parameters: parameters, length: 40, seed: random.next())
        let shared = try SharedStore(model, parameters: parameters)
        let (first, second) = (try shared.writer(shared.open()), try shared.writer(shared.open()))
        @Sendable func apply(_ id: String, _ writer: WriterContext, mayConflict: Bool) throws {
            let events = [ChangeSet(model.upsert("Chat", .text(id), []))]
            _ = try writer.apply(WriterContext.Chunk(events: events), mayConflict: mayConflict)
        }
        // The first draft compares the server, and reserves keys.
        try apply("first", second, mayConflict: true)
        try second.commit()
        for drafts in [true, false] {
            if drafts { try apply("draft", second, mayConflict: true) }
            try apply("other \(drafts)", first, mayConflict: false)
            let waiting = Background {
                if !drafts { try apply("last", second, mayConflict: false) }
                try second.commit()
            }
            try shared.server.waitForWriter(of: shared.schema)
            try first.commit()
            try waiting.value()
        }
        #expect(try first.store.read { try $0.fetch(FetchRequest("Chat")) }.count == 5)
    }

    // MARK: Who may write

    private func failure(_ body: () throws -> Void) -> StoreError? {
        do {
            try body()
            return nil
        } catch {
            return error as? StoreError
        }
    }

    @Test func `a position of a partition that another writer has claimed is refused`() throws {
        let shared = try SharedStore(configuredModel("chat"))
        let events = [ChangeSet(shared.model.upsert("Chat", "a", [])), ChangeSet(shared.model.upsert("Chat", "b", []))]
        let writers = try [shared.writer(shared.open()), shared.writer(shared.open())]
        let partition = StorePartition(topic: "log", partition: 0)
        try writers[0].claimPartitions([partition])
        let first = SharedStore.chunk(SharedStore.Part(log: 0, range: 0..<1), events)
        _ = try writers[0].apply(first)
        try writers[0].commit()
        try writers[1].claimPartitions([partition])
        // The position is the one that the stopped owner knows, and nobody has moved it.
        let second = SharedStore.chunk(SharedStore.Part(log: 0, range: 1..<2), events)
        #expect(failure { _ = try writers[0].apply(second) }?.code == .positionConflict)
        _ = try writers[1].apply(second)
        try writers[1].commit()
        #expect(try writers[0].store.read { try $0.positions() }.map(\.nextOffset) == [2])
    }

    @Test func `a writer that wants the store for itself waits for those that share it, and fences them`() throws {
        let shared = try SharedStore(configuredModel("chat"))
        let chunk = WriterContext.Chunk(events: [ChangeSet(shared.model.upsert("Chat", "a", []))])
        let member = try shared.writer(shared.open())
        let store = try Store.postgres(url: shared.server.url, schema: shared.schema, model: shared.model)
        #expect(failure { _ = try shared.writer(store) }?.code == .leased)
        // Those whose connections have ended are gone. A pooler hides that end, so there a claim ends with its time.
        try shared.endConnection(of: member)
        _ = try shared.server.query("UPDATE \(shared.schema)._writer SET expires = 0 WHERE backend = 0")
        let owner = try shared.writer(store)
        #expect(failure { _ = try member.apply(chunk) }?.code == .disconnected)
        #expect(failure { _ = try member.apply(chunk) }?.code == .fenced)
        #expect(failure { _ = try shared.writer(shared.open()) }?.code == .leased)
        _ = try owner.apply(chunk)
        try owner.close()
        let next = try shared.writer(shared.open())
        _ = try next.apply(chunk)
        try next.close()
    }

    @Test func `a writer with another model is refused`() throws {
        let shared = try SharedStore(configuredModel("chat"))
        let store = try shared.open()
        _ = try shared.server.query(
            "UPDATE \(shared.schema)._metadata SET value = 'other' WHERE key LIKE 'model%'")
        #expect(failure { _ = try shared.writer(store) }?.code == .modelMismatch)
    }

    @Test func `one writer has the delivery role, and another takes it over`() throws {
        let shared = try SharedStore(configuredModel("chat"))
        let writers = try [shared.writer(shared.open()), shared.writer(shared.open())]
        let first = try #require(try writers[0].holdRole("delivery"))
        #expect(try writers[1].holdRole("delivery") == nil)
        #expect(try writers[0].holdRole("delivery") == first)
        try writers[0].close()
        let second = try #require(try writers[1].holdRole("delivery"))
        #expect(second > first)
        #expect(try writers[1].holdRole("delivery") == second)
        // A holder that has stopped loses the role when its time is over.
        _ = try shared.server.query("UPDATE \(shared.schema)._role SET expires = 0")
        let third = try shared.writer(shared.open())
        #expect(try #require(try third.holdRole("delivery")) > second)
        #expect(try writers[1].holdRole("delivery") == nil)
    }

    @Test func `a transaction whose client has stopped holds the others up for a limited time`() throws {
        let shared = try SharedStore(configuredModel("chat"))
        var options = WriterContext.Options()
        options.leaseTTLSeconds = 1
        let stopped = try WriterContext(store: shared.open(), options: options)
        let chunk = WriterContext.Chunk(events: [ChangeSet(shared.model.upsert("Chat", "a", []))])
        _ = try stopped.apply(chunk)
        let other = try shared.writer(shared.open())
        _ = try other.apply(chunk)
        try other.commit()
        let lost = failure { try stopped.commit() }
        #expect(lost?.code == .disconnected && lost?.remedy.contains("lease.ttlSeconds") == true)
        #expect(try other.store.read { try $0.history(after: 0) }.map(\.token) == [1])
    }
}
