import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage

/// The views over the stores of all partitions, each of which is a schema.
@Suite struct PostgresUnionTests {
    private let server: PostgresServer
    private let schema: String
    private let models: [ObjectModel]

    init() throws {
        server = try PostgresServer.shared.get()
        schema = server.newSchema()
        models = try ["", ", title: { type: string, optional: true }"].map { more in
            try ObjectModel.parse(
                """
                entities:
                  Book:
                    identity: id
                    attributes: { id: { type: string }, partition: { type: string, optional: true }\(more) }
                """)
        }
    }

    private var template: String { "\(server.url)&schema=\(schema)_{partition}" }

    private func url(_ partition: Int) -> String { template.replacing("{partition}", with: "\(partition)") }

    private func union(_ model: Int = 0, _ template: String? = nil) throws -> PostgresUnion {
        try #require(
            try PostgresUnion(url: template ?? self.template, mark: "{partition}", model: models[model]))
    }

    private func make(_ model: Int = 0, like partition: Int32 = 0) throws -> PostgresUnion.Outcome {
        try union(model).make(like: partition)
    }

    private func fill(_ partition: Int, model: Int = 0) throws {
        try fill(url(partition), "b\(partition)", model: model)
    }

    /// Makes a store with a book.
    private func fill(_ url: String, _ id: String, model: Int = 0) throws {
        let store = try Store.postgres(url: url, model: models[model])
        let writer = try WriterContext(store: store)
        _ = try writer.apply(
            WriterContext.Chunk(events: [ChangeSet(models[model].upsert("Book", .text(id), []))]))
        try writer.close()
        try store.close()
    }

    private func rows(_ sql: String) throws -> [String] {
        try server.query("SET search_path = \(schema)_all; \(sql)").split(separator: "\n").map { String($0) }
            .filter { $0 != "SET" }
    }

    @Test func `a view has the rows of all stores, and names the store of each`() throws {
        for partition in [0, 2, 11] { try fill(partition) }
        let outcome = try make()
        #expect(outcome.schema == "\(schema)_all" && outcome.partitions == [0, 2, 11] && outcome.isNew)
        #expect(outcome.leftOut.isEmpty)
        for view in ["\"Book\"", "\"Book_readable\""] {
            #expect(try rows("SELECT _store, id FROM \(view) ORDER BY 1") == ["0|b0", "2|b2", "11|b11"])
        }
        #expect(
            try rows("SELECT _store, token, identity, change FROM _history ORDER BY 1").last == "11|1|b11|insert")
        let names = try rows(
            "SELECT relname FROM pg_class WHERE relnamespace = '\(schema)_all'::regnamespace AND relkind = 'v'")
        #expect(Set(names) == PostgresSchema(models[0]).relationNames)
        #expect(try rows("SELECT count(*), count(reason) FROM _dead_letter") == ["0|0"])
        #expect(throws: PostgresServer.Missing.self) { try rows("SELECT value FROM _dead_letter") }
    }

    @Test func `the views are made again where the stores or the model have changed, and not otherwise`() throws {
        for partition in 0..<3 { try fill(partition) }
        #expect(try make().isNew)
        _ = try rows("CREATE SCHEMA \(schema)_own; CREATE VIEW \(schema)_own.books AS SELECT id FROM \"Book\"")
        #expect(try make(like: 1).isNew == false)
        try fill(3)
        #expect(try make().isNew)
        #expect(try rows("SELECT id FROM \(schema)_own.books ORDER BY 1") == ["b0", "b1", "b2", "b3"])
        // Somebody removes a store, and the views with it.
        _ = try rows("DROP SCHEMA \(schema)_1 CASCADE")
        let outcome = try make()
        #expect(outcome.isNew && outcome.partitions == [0, 2, 3])
        #expect(try rows("SELECT _store FROM \"Book\" ORDER BY 1") == ["0", "2", "3"])
        #expect(throws: StoreError.self) { try make(like: 1) }
    }

    @Test func `a store of another model, and schemas that are no partition's, are left out`() throws {
        try fill(0)
        try fill(1, model: 1)
        _ = try rows(
            """
            CREATE SCHEMA \(schema)_2; CREATE SCHEMA \(schema)_03; CREATE TABLE \(schema)_03._metadata (key text); \
            CREATE SCHEMA \(schema)_3; CREATE TABLE \(schema)_3._metadata (key text)
            """)
        let reason = "it is of another model or version"
        #expect(try make().leftOut == [1: reason, 3: reason])
        #expect(try rows("SELECT id FROM \"Book\"") == ["b0"])
        // The model has gone on: the views get its columns.
        #expect(try make(1, like: 1).leftOut == [0: reason, 3: reason])
        #expect(try rows("SELECT id, title FROM \"Book\"") == ["b1|"])
    }

    @Test func `many workers that make the views at once leave those of all stores`() throws {
        try fill(0)
        let makers = (1...6).map { partition in
            Background {
                try fill(partition)
                return try make(like: Int32(partition)).partitions
            }
        }
        for (index, maker) in makers.enumerated() { #expect(try maker.value().contains(Int32(index + 1))) }
        #expect(try rows("SELECT _store FROM \"Book\" ORDER BY 1") == (0...6).map { "\($0)" })
    }

    @Test func `a role without rights gets the statement that helps`() throws {
        let role = "reader_\(schema)"
        _ = try server.query("CREATE ROLE \(role) LOGIN")
        _ = try server.query("CREATE SCHEMA \(schema)_0 AUTHORIZATION \(role)")
        let template = template.replacing("postgres@", with: "\(role)@")
        try Store.postgres(url: template.replacing("{partition}", with: "0"), model: models[0]).close()
        let error = #expect(throws: StoreError.self) { try union(0, template).make(like: 0) }
        let prefix = "As an administrator: "
        let remedy = try #require(error?.remedy)
        #expect(error?.code == .unavailable && remedy.hasPrefix(prefix))
        _ = try server.query(String(remedy.dropFirst(prefix.count)))
        #expect(try union(0, template).make(like: 0).isNew)
        // A store that the role may not read.
        try fill(1)
        #expect(try union(0, template).make(like: 0).leftOut == [1: "the role may not read it"])
        // Another role may not replace the views.
        _ = try server.query("CREATE ROLE other_\(schema) LOGIN; GRANT USAGE ON SCHEMA \(schema)_0 TO other_\(schema)")
        _ = try server.query("GRANT SELECT ON ALL TABLES IN SCHEMA \(schema)_0 TO other_\(schema)")
        let other = self.template.replacing("postgres@", with: "other_\(schema)@")
        #expect(throws: StoreError.self) { try union(0, other).make(like: 0) }
    }

    @Test func `a view of somebody else is not replaced`() throws {
        try fill(0)
        _ = try server.query("CREATE SCHEMA \(schema)_all; CREATE VIEW \(schema)_all.\"Book\" AS SELECT 1 AS one")
        let error = #expect(throws: StoreError.self) { try make() }
        #expect(error?.message.contains("'Book' of another program") == true)
        #expect(try rows("SELECT one FROM \"Book\"") == ["1"])
        _ = try rows("ALTER VIEW \"Book\" RENAME TO books")
        #expect(try make().isNew)
    }

    @Test func `no view reaches over databases or hosts`() throws {
        for url in ["postgres:///db_{partition}?schema=chat", "postgres://h{partition}/db?schema=chat_{partition}"] {
            #expect(try PostgresUnion(url: url, mark: "{partition}", model: models[0]) == nil)
        }
        #expect(throws: StoreError.self) {
            try PostgresUnion(url: "mysql://h/db?schema=chat_{partition}", mark: "{partition}", model: models[0])
        }
    }

    @Test func `the views hinder neither a store's own views nor its migration`() throws {
        for partition in 0..<2 { try fill(partition) }
        _ = try make()
        _ = try server.query(
            """
            DROP VIEW \(schema)_0."Book_readable" CASCADE; \
            CREATE VIEW \(schema)_0."Book_readable" AS SELECT pk AS other, id, partition, _placeholder \
            FROM \(schema)_0."Book"; UPDATE \(schema)_0._metadata SET value = 'old' WHERE key = 'views'; \
            CREATE VIEW \(schema)_all."Book_readable" AS SELECT 0 AS _store, other FROM \(schema)_0."Book_readable"; \
            COMMENT ON VIEW \(schema)_all."Book_readable" IS '\(OutsideViews.comment("1"))'
            """)
        try Store.postgres(url: url(0), model: models[0]).close()
        #expect(try rows("SELECT to_regclass('\"Book_readable\"') IS NULL") == ["t"])
        #expect(try make().isNew)
        #expect(try rows("SELECT _store, id FROM \"Book_readable\" ORDER BY 1") == ["0|b0", "1|b1"])
        let new = try Store.inMemory(model: models[1])
        let kept = try Store.replaceInPostgres(url: url(0), target: models[1]) { _, _, replace in
            try new.read { try replace($0, "work", false) { _, _ in } }
        }
        #expect(kept == nil)
        #expect(try make(1).partitions == [0])
        #expect(try rows("SELECT count(title) FROM \"Book\"") == ["0"])
    }

    @Test func `the views read a store that was built again, and do not hinder the next time`() throws {
        for partition in 0..<2 { try fill(partition) }
        _ = try make()
        for id in ["first", "second"] {
            let rebuild = try PostgresRebuild(url: url(0), options: PostgresOptions())
            try fill(rebuild.newURL, id)
            let old = try rebuild.retire()
            #expect(try old.take(unless: { _ in nil }) == nil)
            #expect(try old.exchange(atStep: { _ in }) == [])
            #expect(try rows("SELECT _store, id FROM \"Book\" ORDER BY 1") == ["0|\(id)", "1|b1"])
        }
        #expect(try make().partitions == [0, 1])
    }
}
