import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage
@testable import SQLiteStorage

/// What `psql` shows of a store: views as SQLite has them, with the server's types, and comments.
@Suite struct PostgresViewTests {
    private let server: PostgresServer
    private let schema: String

    init() throws {
        server = try PostgresServer.shared.get()
        schema = server.newSchema()
    }

    private static let yaml = """
        model: shelf
        entities:
          Shelf:
            identity: id
            info: { note: "where books stand" }
            attributes:
              id: { type: uuid }
              made: { type: date, optional: true }
            relationships:
              books: { to: Book, many: true, inverse: shelf, delete: nullify }
              tags: { to: Tag, many: true, inverse: none }
          Book:
            identity: number
            attributes: { number: { type: integer64 } }
            relationships:
              shelf: { to: Shelf, inverse: books, delete: nullify, optional: true }
          Tag:
            identity: id
            attributes: { id: { type: string } }
        """

    private static let shelf = "123e4567-e89b-12d3-a456-426614174000"

    private func fill() throws -> Store {
        let model = try ObjectModel.parse(Self.yaml)
        let store = try Store.postgres(url: server.url, schema: schema, model: model)
        let writer = try WriterContext(store: store)
        func up(_ entity: String, _ id: String, _ said: [String: ReadingFixture.Said]) -> ChangeSet {
            ReadingFixture.upsert(model, entity, id, said)
        }
        let events = [
            up("Shelf", Self.shelf, ["made": .text("2001-02-03T04:05:06.000007Z"), "tags": .many(["a", "b"])]),
            up("Book", "-7", ["shelf": .one(Self.shelf)]),
        ]
        _ = try writer.apply(WriterContext.Chunk(events: events))
        try writer.close()
        return store
    }

    private func rows(_ sql: String) throws -> [String] {
        try server.query("SET timezone = 'UTC'; SET search_path = \(schema); \(sql)").split(separator: "\n")
            .map { String($0) }.filter { $0 != "SET" }
    }

    @Test func `views show identities, dates and the history in the server's types`() throws {
        _ = try fill()
        #expect(
            try rows("SELECT id, made, tags, _placeholder FROM \"Shelf_readable\"") == [
                "\(Self.shelf)|2001-02-03 04:05:06.000007+00|[\"a\", \"b\"]|f"
            ])
        #expect(try rows("SELECT number, shelf FROM \"Book_readable\"") == ["-7|\(Self.shelf)"])
        #expect(
            try rows("SELECT token, entity, identity, change FROM _history ORDER BY entity, identity") == [
                "1|Book|-7|insert", "1|Shelf|\(Self.shelf)|insert", "1|Tag|a|insert", "1|Tag|b|insert",
            ])
        #expect(
            try rows("SELECT DISTINCT pg_typeof(time), now() - time < '1 hour' FROM _history") == [
                "timestamp with time zone|t"
            ])
        #expect(
            try rows(
                """
                INSERT INTO _history_transaction VALUES (2, 0, 'a', NULL, NULL, 5, 2); \
                INSERT INTO _history_range VALUES (5, 2, 2, 'Tag', 1, 2, NULL, 1, 'id'), \
                (7, 1, 2, 'Book', 1, 1, '[1]', 2, NULL); \
                SELECT entity, identity, change FROM _history WHERE token = 2 ORDER BY 1, 2
                """
            ).suffix(3) == ["Book|-7|delete", "Tag|a|update", "Tag|b|update"])
    }

    @Test func `columns are those of the views in SQLite`() throws {
        _ = try fill()
        let sqlite = try Store.inMemory(model: ObjectModel.parse(Self.yaml))
        for view in ["Shelf_readable", "Book_readable", "Tag_readable", "_history"] {
            let there = try rows(
                """
                SELECT string_agg(column_name, ',' ORDER BY ordinal_position) FROM information_schema.columns \
                WHERE table_schema = '\(schema)' AND table_name = '\(view)'
                """)
            let here = try sqlite.read { context in
                try context.sqlite().all("SELECT group_concat(name) FROM pragma_table_info('\(view)')") { $0.text(0) }
            }
            #expect(there == here)
        }
    }

    @Test func `comments say what the model says`() throws {
        _ = try fill()
        let texts = try rows(
            """
            SELECT obj_description('"Shelf"'::regclass); \
            SELECT col_description('"Book"'::regclass, attnum) FROM pg_attribute \
            WHERE attrelid = '"Book"'::regclass AND attnum > 0 ORDER BY attnum; \
            SELECT count(*) FROM pg_class WHERE relnamespace = '\(schema)'::regnamespace AND relkind = 'r' \
            AND obj_description(oid) IS NULL
            """)
        #expect(
            texts == [
                "The objects of Shelf; note: where books stand", "The row's key, to which references lead",
                "Book.number: integer64, identity", "Book.shelf: pk of Shelf, optional",
                "Whether nothing but the identity is known yet", "0",
            ])
    }

    @Test func `views of others stay when the store's views are made again`() throws {
        try fill().close()
        _ = try rows(
            """
            CREATE VIEW shelves AS SELECT id FROM "Shelf_readable"; CREATE VIEW changes AS SELECT token FROM _history; \
            UPDATE _metadata SET value = 'old' WHERE key = 'views'
            """)
        let model = try ObjectModel.parse(Self.yaml)
        try Store.postgres(url: server.url, schema: schema, model: model).close()
        #expect(try rows("SELECT id FROM shelves") == [Self.shelf])
        #expect(try rows("SELECT count(*) FROM changes") == ["4"])
        #expect(try rows("SELECT count(*) FROM _metadata WHERE key = 'views' AND value <> 'old'") == ["1"])
    }

    @Test func `a view of other columns is made again unless views of others rest on it`() throws {
        try fill().close()
        let model = try ObjectModel.parse(Self.yaml)
        _ = try rows(
            """
            DROP VIEW "Shelf_readable"; CREATE VIEW "Shelf_readable" AS SELECT pk AS other FROM "Shelf"; \
            CREATE VIEW others AS SELECT other FROM "Shelf_readable"; \
            UPDATE _metadata SET value = 'old' WHERE key = 'views'
            """)
        let error = #expect(throws: StoreError.self) {
            _ = try Store.postgres(url: server.url, schema: schema, model: model)
        }
        #expect(error?.code == .unavailable && error?.message.contains("view others depends on view") == true)
        #expect(try rows("SELECT value FROM _metadata WHERE key = 'views'") == ["old"])
        _ = try rows("DROP VIEW others")
        try Store.postgres(url: server.url, schema: schema, model: model).close()
        #expect(try rows("SELECT id FROM \"Shelf_readable\"") == [Self.shelf])
    }

    @Test func `a store of a version without views gets them when it is opened for writing`() throws {
        try fill().close()
        _ = try rows(
            """
            DROP VIEW _history; DROP VIEW "Shelf_readable"; DROP VIEW "Book_readable"; DROP VIEW "Tag_readable"; \
            COMMENT ON TABLE "Shelf" IS NULL; DELETE FROM _metadata WHERE key = 'views'
            """)
        let model = try ObjectModel.parse(Self.yaml)
        try Store.postgresForReading(url: server.url, schema: schema, model: model).close()
        #expect(try rows("SELECT to_regclass('_history') IS NULL") == ["t"])
        try Store.postgres(url: server.url, schema: schema, model: model).close()
        #expect(try rows("SELECT count(*) FROM _history") == ["4"])
        #expect(try rows("SELECT obj_description('\"Shelf\"'::regclass) IS NULL") == ["f"])
    }
}
