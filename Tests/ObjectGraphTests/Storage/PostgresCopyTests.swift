import Foundation
import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage
@testable import SQLiteStorage

/// A copy of a store in SQLite has all that the store has, and goes on as the store does.
@Suite struct PostgresCopyTests {
    private let server: PostgresServer
    private let schema: String

    init() throws {
        server = try PostgresServer.shared.get()
        schema = server.newSchema()
    }

    private func copy(_ store: Store, _ progress: @escaping (String, Int) -> Void = { _, _ in }) throws -> Store {
        try store.read { try Store.copyToPostgres($0, url: server.url, schema: schema, progress: progress) }
        return try Store.postgres(url: server.url, schema: schema, model: store.model)
    }

    private func expectEqual(_ there: Store, _ here: Store) throws {
        #expect(try there.identity() == here.identity())
        #expect(try there.canonicalText() == here.canonicalText())
        #expect(try there.tables().lines(here.model) == here.tables().lines(here.model))
        let report = try there.verify()
        #expect(report.isSound, "\(report.text)")
    }

    @Test func `a copy has the rows, the history and the records of the store`() throws {
        let fixture = try StoreVerifierTests.workOrders()
        let writer = try WriterContext(store: fixture.store)
        var letter = DeadLetter(
            time: 1, topic: "t", partition: 0, offset: 3, line: nil, stage: "decode", code: "decode.json", reason: "no",
            key: [0, 1], value: nil, valueBytes: 0, headers: "[]", timestampMilliseconds: 7)
        let position = SourcePosition(topic: "t", partition: 0, nextOffset: 4, detail: "d")
        _ = try writer.apply(WriterContext.Chunk(events: [], positions: [position], deadLetters: [letter]))
        try writer.putSentDeadLetter(1, topic: "dead")
        try writer.close()
        try fixture.damage(
            """
            INSERT INTO _cursor VALUES ('reader', 1, 2);
            INSERT INTO _conflict VALUES (7, 1, 2, 'changed', 'Asset', 'a1', 'name', '1', '2', 'p', 'store', NULL);
            """)
        var counts: [String: Int] = [:]
        let there = try copy(fixture.store) { counts[$0] = $1 }
        #expect(counts["_cursor"] == 1 && counts["_conflict"] == 1 && counts["_dead_letter"] == 1)
        try expectEqual(there, fixture.store)
        // Both go on alike: no key, token or number is given twice.
        letter.timestampMilliseconds = 8
        for store in [there, fixture.store] {
            let writer = try WriterContext(store: store)
            let events = [
                ReadingFixture.upsert(store.model, "Asset", "a9", [:]),
                ReadingFixture.delete(store.model, "WorkOrder", "w1", time: 5),
            ]
            _ = try writer.apply(WriterContext.Chunk(events: events, deadLetters: [letter]))
            try writer.close()
        }
        for store in [there, fixture.store] {
            let letters = try store.read { try $0.deadLetters() }
            #expect(letters.map(\.timestampMilliseconds) == [8] && letters.map(\.attempts) == [2])
        }
        #expect(try there.canonicalText() == fixture.store.canonicalText())
        #expect(try there.read { try $0.lastToken() } == fixture.store.read { try $0.lastToken() })
    }

    @Test func `copies of random graphs are equal`() throws {
        try Seeds.forEach(runs: 6) { seed in
            var random = RandomRequests(seed: seed)
            let model = try ObjectModel.parse(RandomPredicates.model)
            let graph = random.predicates.graph()
            let fixture = try ReadingFixture(model: model, RandomPredicates.events(graph, model))
            let schema = server.newSchema()
            try fixture.store.read { try Store.copyToPostgres($0, url: server.url, schema: schema) }
            let there = try Store.postgres(url: server.url, schema: schema, model: model)
            try expectEqual(there, fixture.store)
        }
    }

    @Test func `a copy back into a file is the store that it came from`() throws {
        try Seeds.forEach(runs: 6) { seed in
            var random = RandomRequests(seed: seed)
            let model = try ObjectModel.parse(RandomPredicates.model)
            let graph = random.predicates.graph()
            let fixture = try ReadingFixture(model: model, RandomPredicates.events(graph, model))
            let schema = server.newSchema()
            try fixture.store.read { try Store.copyToPostgres($0, url: server.url, schema: schema) }
            let there = try Store.postgres(url: server.url, schema: schema, model: model)
            let folder = try TemporaryFolder()
            let path = folder.path("back.sqlite")
            try there.read { try Store.copyToFile($0, path: path) }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("")) == ["back.sqlite"])
            let back = try Store.open(path: path, model: model)
            try expectEqual(there, back)
            #expect(try back.tables().lines(model) == fixture.store.tables().lines(model))
        }
    }

    @Test func `a replaced store keeps the rights of roles and fences its writer`() throws {
        let fixture = try StoreVerifierTests.workOrders()
        let there = try copy(fixture.store)
        let roles = (0..<3).map { "\(schema)_role\($0)" }
        for role in roles { _ = try server.query("CREATE ROLE \(role)") }
        try Store.grantInPostgres(.reader, to: roles[0], url: server.url, schema: schema, model: there.model)
        try Store.grantInPostgres(.writer, to: roles[1], url: server.url, schema: schema, model: there.model)
        _ = try server.query("GRANT USAGE ON SCHEMA \(schema) TO \(roles[2])")
        _ = try server.query("GRANT SELECT ON \(schema).\"Asset\" TO \(roles[2])")
        func may(_ role: Int, _ sql: String) -> Bool {
            (try? server.query("SET search_path TO \(schema); SET ROLE \(roles[role]); \(sql)")) != nil
        }
        let rights = [
            "SELECT * FROM \"Asset\"", "SELECT * FROM \"WorkOrder\"", "SELECT code FROM _dead_letter",
            "SELECT value FROM _dead_letter", "UPDATE \"Asset\" SET pk = pk", "SELECT * FROM _history",
        ]
        let before = roles.indices.map { role in rights.map { may(role, $0) } }
        #expect(before[0] == [true, true, true, false, false, true] && before[2].filter { $0 }.count == 1)

        let writer = try WriterContext(store: there)
        func replace() throws {
            _ = try Store.replaceInPostgres(url: server.url, schema: schema) { _, _, replace in
                try fixture.store.read { try replace($0, "work", false) { _, _ in } }
            }
        }
        do {
            try replace()
            Issue.record("the store of a writer was replaced")
        } catch let error as StoreError {
            #expect(error.code == .leased, "\(error)")
        }
        // A claim that has run out, of a writer that does not know it yet.
        _ = try server.query("UPDATE \(schema)._lease SET expires = 0")
        try replace()
        do {
            _ = try writer.apply(
                WriterContext.Chunk(events: [ReadingFixture.upsert(there.model, "Asset", "late", [:])]))
            try writer.commit()
            Issue.record("the writer of a replaced store went on")
        } catch {
            #expect(error.code == .fenced, "\(error)")
        }
        #expect(roles.indices.map { role in rights.map { may(role, $0) } } == before)
        try expectEqual(try Store.postgres(url: server.url, schema: schema, model: there.model), fixture.store)
    }

    @Test func `a copy that fails leaves nothing`() throws {
        let fixture = try StoreVerifierTests.workOrders()
        try fixture.damage("UPDATE Asset SET name = 'a' || char(0) || 'b'")
        #expect(throws: StoreError.self) { _ = try copy(fixture.store) }
        #expect(try server.query("SELECT count(*) FROM pg_namespace WHERE nspname = '\(schema)'") == "0")
        try fixture.damage("UPDATE Asset SET name = 'Pump'")
        _ = try copy(fixture.store)
        do {
            _ = try copy(fixture.store)
            Issue.record("a store was copied over another")
        } catch let error as StoreError {
            #expect(error.code == .unavailable && error.message.contains("There is a store at"))
        }
    }
}
