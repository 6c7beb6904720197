import GRDB
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

@Suite struct SchemaUpgradeTests {
    /// Takes a store back to the first layout.
    private func downgrade(_ path: String) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.write { database in
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
        do {
            let graph = try Graph(model, path: path)
            try graph.apply(graph.upsert("Chat", "c"), graph.delete("Chat", "gone"))
            try graph.writer.close()
            try graph.store.close()
        }
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
