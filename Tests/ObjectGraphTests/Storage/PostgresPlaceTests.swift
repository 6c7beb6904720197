import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage

/// A schema that is dropped or exchanged under a writer, and one of an older layout that somebody writes.
@Suite struct PostgresPlaceTests {
    private let server: PostgresServer
    private let schema: String
    private let model: ObjectModel

    init() throws {
        server = try PostgresServer.shared.get()
        schema = server.newSchema()
        model = try configuredModel("chat")
    }

    private func open(_ options: PostgresOptions = PostgresOptions()) throws -> Store {
        try Store.postgres(url: server.url, schema: schema, model: model, options: options)
    }

    private func save(_ writer: WriterContext, _ number: Int) throws {
        let event = ChangeSet(model.upsert("Chat", .text("c\(number)"), []))
        _ = try writer.apply(WriterContext.Chunk(events: [event]))
        try writer.commit()
    }

    @Test(arguments: [PostgresOptions.Writers.one, .many], [false, true])
    func `a schema that was dropped, or exchanged for a store alike, is written no more`(
        writers: PostgresOptions.Writers, isExchanged: Bool
    ) throws {
        var options = PostgresOptions()
        options.writers = writers
        let store = try open(options)
        let writer = try WriterContext(store: store)
        try save(writer, 1)
        try store.checkPlace()
        _ = try server.query("DROP SCHEMA \(schema) CASCADE")
        if isExchanged {
            // Its lease has the number of the claim before.
            let other = try WriterContext(store: try open(options))
            try other.close()
        }
        let found = #expect(throws: StoreError.self) { try store.checkPlace() }
        #expect(found == StoreError.displaced(store.path))
        let refused = #expect(throws: StoreError.self) { try save(writer, 2) }
        #expect(refused?.isRetriable == false || refused?.code == .fenced)
        #expect(refused?.code != .database)
        if isExchanged { #expect(try server.query("SELECT count(*) FROM \(schema).\"Chat\"") == "0") }
    }

    @Test(arguments: [PostgresOptions.Writers.one, .many])
    func `a store of an older layout that a worker writes keeps its layout`(
        writers: PostgresOptions.Writers
    ) throws {
        var options = PostgresOptions()
        options.writers = writers
        let writer = try WriterContext(store: try open(options))
        for sql in [
            "DROP TABLE \(schema)._audit", "ALTER TABLE \(schema)._history_transaction DROP trace, DROP epoch",
            "UPDATE \(schema)._metadata SET value = '1' WHERE key = 'formatVersion'",
        ] {
            _ = try server.query(sql)
        }
        func layout() throws -> String {
            try server.query("SELECT value FROM \(schema)._metadata WHERE key = 'formatVersion'")
        }
        let refused = #expect(throws: StoreError.self) { try open(options) }
        #expect(refused?.code == .leased && refused?.message.contains("older layout") == true)
        #expect(try layout() == "1")
        try writer.close()
        try open(options).close()
        #expect(try layout() == "2")
    }
}
