import GRDB
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

@Suite struct SchemaUpgradeTests {
    /// What a store of the third layout lacks.
    private static let downgradeToThird = """
        DROP TABLE _audit; ALTER TABLE _history_transaction DROP COLUMN trace;
        ALTER TABLE _history_transaction DROP COLUMN epoch;
        UPDATE _metadata SET value = '3' WHERE key = 'formatVersion';
        """

    private func change(_ path: String, _ sql: String) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.write { try $0.execute(sql: sql) }
        try queue.close()
    }

    /// Makes a store with an object, a deletion and their history.
    private func makeStore(_ path: String, _ model: ObjectModel) throws {
        let graph = try Graph(model, path: path)
        try graph.apply(graph.upsert("Chat", "c"), graph.delete("Chat", "gone"))
        try graph.writer.close()
        try graph.store.close()
    }

    @Test func `a store of the third layout is brought up to date and keeps its history`() throws {
        let folder = try TemporaryFolder()
        let model = try configuredModel("chat")
        let path = folder.path("s.sqlite")
        try makeStore(path, model)
        try change(path, Self.downgradeToThird)
        let error = #expect(throws: StoreError.self) { try Store.openForReading(path: path, model: model) }
        #expect(error?.code == .olderFormat)
        let graph = try Graph(model, path: path)
        try graph.apply(graph.upsert("Chat", "d"))
        #expect(try graph.history() == ["insert Chat c", "insert Chat d"])
        let rows = try graph.rows("SELECT trace, epoch FROM _history_transaction ORDER BY token")
        #expect(rows == [[.null, .integer(0)], [.null, .integer(0)]])
        // It is as a new store would be.
        let schema = try SchemaSnapshot(model)
        let current = try graph.store.sqlite().database.read { try SchemaSnapshot($0) }
        for object in schema.objects where object.type == "table" {
            #expect(current.table(object.name) == schema.table(object.name), "\(object.name)")
        }
        #expect(try graph.store.verify().isSound)
    }

    @Test func `a store without timestamps of letters is read, and gets them when it is opened for writing`() throws {
        let folder = try TemporaryFolder()
        let model = try configuredModel("chat")
        let path = folder.path("s.sqlite")
        try makeStore(path, model)
        // As earlier programs write letters, whether the store has the column or not.
        let insertion = """
            INSERT INTO _dead_letter (time, topic, partition, offset, stage, code, reason) \
            VALUES (1, 't', 0, 0, 'decode', 'c', 'r');
            """
        try change(path, "ALTER TABLE _dead_letter DROP COLUMN timestampMilliseconds; \(insertion)")
        func timestamps(_ store: Store) throws -> [Int64?] {
            try store.read { try $0.deadLetters() }.map(\.timestampMilliseconds)
        }
        let reader = try Store.openForReading(path: path, model: model)
        #expect(try timestamps(reader) == [nil])
        let table = try #require(StoreTable.all(model).first { $0.name == "_dead_letter" })
        var rows: [[Value]] = []
        try reader.read { try $0.sqlite().rows(of: table) { rows.append($0) } }
        #expect(rows.map(\.last) == [.null])
        let graph = try Graph(model, path: path)
        let letter = DeadLetter(
            time: 1, topic: "t", partition: 0, offset: 1, stage: "decode", code: "c", reason: "r", key: nil, value: nil,
            valueBytes: 0, timestampMilliseconds: 7)
        _ = try graph.writer.apply(WriterContext.Chunk(events: [], deadLetters: [letter]))
        try graph.writer.commit()
        try change(path, insertion)
        #expect(try timestamps(graph.store) == [nil, 7, nil] && timestamps(reader) == [nil, 7, nil])
        let schema = try SchemaSnapshot(model)
        let current = try graph.store.sqlite().database.read { try SchemaSnapshot($0) }
        #expect(current.table("_dead_letter") == schema.table("_dead_letter"))
        #expect(try Store.open(path: path, model: model).verify().isSound)
    }

    @Test func `a store that an older worker writes keeps its layout`() throws {
        let folder = try TemporaryFolder()
        let model = try configuredModel("chat")
        let path = folder.path("s.sqlite")
        try makeStore(path, model)
        let worker = try Graph(model, path: path)
        try change(path, Self.downgradeToThird)
        let error = #expect(throws: StoreError.self) { try Store.open(path: path, model: model) }
        #expect(error?.code == .leased)
        #expect(try worker.value("SELECT value FROM _metadata WHERE key = 'formatVersion'") == "3")
    }

    @Test func `a migration of a store of the third layout upgrades it first`() throws {
        let folder = try TemporaryFolder()
        let model = try configuredModel("chat")
        let path = folder.path("s.sqlite")
        try makeStore(path, model)
        try change(path, Self.downgradeToThird)
        let target = try ObjectModel.parse(
            model.yaml.replacing(
                "      title: {", with: "      subject: { type: string, optional: true }\n      title: {"))
        #expect(target.entity(named: "Chat")?.attributes.contains { $0.name == "subject" } == true)
        _ = try Migrator(path: path).plan(to: target)
        try Migrator(path: path).migrate(to: target)
        let graph = try Graph(target, path: path)
        try graph.apply(graph.upsert("Chat", "d", ["subject": .value(.text("Pumps"))]))
        #expect(try graph.value("SELECT count(*) FROM _audit") == 0)
        #expect(try graph.store.verify().isSound)
    }

    @Test func `a store with the history's view of another version gets this one's when it is opened for writing`()
        throws
    {
        let folder = try TemporaryFolder()
        let model = try configuredModel("chat")
        let path = folder.path("s.sqlite")
        try makeStore(path, model)
        try change(path, "DROP VIEW _history; CREATE VIEW _history AS SELECT 1 AS token")
        let graph = try Graph(model, path: path)
        #expect(
            try graph.column("SELECT sql FROM sqlite_master WHERE name = '_history'") == [
                .text(SQLiteDialect.historyView(model))
            ])
        #expect(try graph.column("SELECT entity FROM _history") == ["Chat"])
    }

    /// Takes a store back to the first layout.
    private func downgrade(_ path: String) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.write { database in
            try database.execute(sql: Self.downgradeToThird)
            try database.execute(
                sql: """
                    DROP VIEW _history; DROP TABLE _history_range; DROP INDEX _history_transaction_time;
                    DROP INDEX _history_change_deletion; ALTER TABLE _tombstone DROP COLUMN saved;
                    UPDATE _metadata SET value = '1' WHERE key = 'formatVersion';
                    CREATE VIEW _history AS SELECT 1
                    """)
        }
        try queue.close()
    }

    @Test func `a store of the first layout is brought up to date when it is opened for writing`() throws {
        let folder = try TemporaryFolder()
        let model = try configuredModel("chat")
        let path = folder.path("s.sqlite")
        try makeStore(path, model)
        try downgrade(path)
        let error = #expect(throws: StoreError.self) { try Store.openForReading(path: path, model: model) }
        #expect(error?.code == .olderFormat)
        let graph = try Graph(model, path: path)
        try graph.apply(graph.upsert("Chat", "d"))
        #expect(try graph.history() == ["insert Chat c", "insert Chat d"])
        #expect(try graph.value("SELECT count(*) FROM _history") == 2)
        #expect(try graph.value("SELECT saved > 0 FROM _tombstone") == 1)
        #expect(try graph.store.verify().isSound)
        #expect(throws: Never.self) { try Store.openForReading(path: path, model: model) }
    }
}
