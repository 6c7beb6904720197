import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage
@testable import SQLiteStorage

/// Another store takes the place of one in a schema, while workers and readers of the old store wait.
@Suite(.serialized) struct PostgresExchangeTests {
    private let server: PostgresServer
    private let schema: String
    private let models: [ObjectModel]

    init() throws {
        server = try PostgresServer.shared.get()
        schema = server.newSchema()
        models = try ["", ", title: { type: string, optional: true }"].map { more in
            try ObjectModel.parse(
                "entities: { Book: { identity: id, attributes: { id: { type: string }\(more) } } }")
        }
    }

    private func options(_ writers: PostgresOptions.Writers = .one, milliseconds: Int = 60_000) -> PostgresOptions {
        var options = PostgresOptions()
        (options.writers, options.lockTimeoutMilliseconds) = (writers, milliseconds)
        return options
    }

    private func open(_ model: ObjectModel, _ writers: PostgresOptions.Writers = .one) throws -> Store {
        try Store.postgres(url: server.url, schema: schema, model: model, options: options(writers))
    }

    private func chunk(_ id: String) -> WriterContext.Chunk {
        WriterContext.Chunk(events: [ChangeSet(models[0].upsert("Book", .text(id), []))])
    }

    /// Returns the schema that keeps the old store.
    private func replace(
        by new: Store, keepsOld: Bool, milliseconds: Int = 60_000, whileLocked: () throws -> Void = {}
    ) throws -> String? {
        try Store.replaceInPostgres(
            url: server.url, schema: schema, options: options(milliseconds: milliseconds), keepsOld: keepsOld
        ) { _, _, replace in
            try whileLocked()
            try new.read { try replace($0, "work", false) { _, _ in } }
        }
    }

    /// Claims a store on a thread of its own, and returns the code of what refuses it.
    private func claim(_ store: Store) -> Background<StoreError.Code?> {
        Background {
            do {
                try WriterContext(store: store).close()
                return nil
            } catch {
                return (error as? StoreError)?.code
            }
        }
    }

    private func schemas() throws -> [String] {
        let isOfTest = "starts_with(nspname, '\(schema)_') OR nspname = '\(schema)'"
        return try server.query("SELECT nspname FROM pg_namespace WHERE \(isOfTest) ORDER BY 1").split(separator: "\n")
            .map { String($0) }
    }

    // MARK: Workers that wait

    @Test(arguments: [false, true], PostgresOptions.Writers.allCases)
    func `a worker of the old model that waits for a migration is refused`(
        _ keepsOld: Bool, _ writers: PostgresOptions.Writers
    ) throws {
        let old = try open(models[0], writers)
        var waiting: Background<StoreError.Code?>?
        let kept = try replace(by: Store.inMemory(model: models[1]), keepsOld: keepsOld) {
            waiting = claim(old)
            try server.waitForWriter(of: schema)
        }
        #expect(try #require(waiting).value() == .modelMismatch)
        #expect((kept != nil) == keepsOld)
        #expect(try schemas().count == (keepsOld ? 2 : 1))
        #expect(try server.query("SELECT holder FROM \(schema)._lease") == "")
    }

    @Test func `a worker of the old model that waits for a rebuild is refused`() throws {
        let old = try open(models[0])
        let rebuild = try PostgresRebuild(url: server.url, schema: schema, options: options())
        try Store.postgres(url: rebuild.newURL, model: models[1]).close()
        let retiring = try rebuild.retire()
        _ = try retiring.take { _ in nil }
        var waiting: Background<StoreError.Code?>?
        _ = try retiring.exchange { step in
            if step != "renamed" { return }
            waiting = claim(old)
            do { try server.waitForWriter(of: schema) } catch { Issue.record(error) }
        }
        #expect(try #require(waiting).value() == .modelMismatch)
    }

    @Test(arguments: PostgresOptions.Writers.allCases)
    func `a stalled writer whose draft waits for a migration is fenced`(_ writers: PostgresOptions.Writers) throws {
        let writer = try WriterContext(store: open(models[0], writers))
        // The first transaction compares the server.
        _ = try writer.apply(chunk("a"), mayConflict: true)
        try writer.commit()
        _ = try server.query("UPDATE \(schema)._lease SET expires = 0; UPDATE \(schema)._writer SET expires = 0")
        _ = try writer.apply(chunk("late"), mayConflict: true)
        var waiting: Background<StoreError.Code?>?
        _ = try replace(by: Store.inMemory(model: models[0]), keepsOld: true) {
            waiting = Background {
                do throws(StoreError) {
                    try writer.commit()
                    return nil
                } catch {
                    return error.code
                }
            }
            try server.waitForWriter(of: schema)
        }
        #expect(try #require(waiting).value() == .fenced)
        #expect(try server.query("SELECT count(*) FROM \(schema).\"Book\"") == "0")
    }

    // MARK: Readers

    @Test(arguments: [0, 1]) func `a reader that meets two stores is refused, and the next one reads the new store`(
        _ newModel: Int
    ) throws {
        let reader = try open(models[0])
        let writer = try WriterContext(store: reader)
        _ = try writer.apply(chunk("old"))
        try writer.close()
        let new = try Graph(models[newModel])
        try new.apply(new.upsert("Book", "new"))
        let error = #expect(throws: StoreError.self) {
            try reader.read { context in
                #expect(try context.fetch(FetchRequest("Book")).map { $0["id"] } == ["old"])
                _ = try replace(by: new.store, keepsOld: true)
                // The snapshot is as of before, and the names are those of the new store.
                #expect(try context.count(FetchRequest("Book")) == 0)
            }
        }
        #expect(error?.code == .disconnected && error?.message.contains("taken its place") == true)
        func identities() throws -> [Value?] { try reader.read { try $0.fetch(FetchRequest("Book")).map { $0["id"] } } }
        if newModel == 0 {
            #expect(try identities() == ["new"])
        } else {
            for _ in 1...2 {
                #expect(throws: StoreError.self) { try identities() }
            }
            let code = #expect(throws: StoreError.self) { try identities() }?.code
            #expect(code == .modelMismatch)
        }
    }

    // MARK: The old store

    @Test func `an old store that somebody reads stays, and the next migration removes it`() throws {
        try open(models[0]).close()
        let reader = try PostgresConnection(
            ConnectionAddress(server.url, schema: schema), .reader, lockTimeoutMilliseconds: 60_000)
        try reader.run([.begin, PostgresStatement("SELECT count(*) FROM \"Book\"")])
        let new = try Store.inMemory(model: models[1])
        let kept = try #require(try replace(by: new, keepsOld: false, milliseconds: 20))
        #expect(try Set(schemas()) == [schema, kept])
        try open(models[1]).close()
        try reader.run(PostgresStatement("COMMIT"))
        _ = try Store.replaceInPostgres(url: server.url, schema: schema) { _, _, _ in }
        #expect(try schemas() == [schema])
    }

    @Test func `views of others that read the old store prevent its removal before anything is copied`() throws {
        try open(models[0]).close()
        _ = try server.query("CREATE VIEW \(schema)_ids AS SELECT id FROM \(schema).\"Book\"")
        let new = try Store.inMemory(model: models[1])
        let error = #expect(throws: StoreError.self) { try replace(by: new, keepsOld: false) }
        #expect(error?.code == .unavailable && error?.message.contains("\(schema)_ids") == true)
        let early = #expect(throws: StoreError.self) {
            try Store.replaceInPostgres(url: server.url, schema: schema, target: models[1]) { _, _, _ in
                Issue.record("The old store was lent")
            }
        }
        #expect(early?.message == error?.message)
        // Nothing is replaced by a store of the same model.
        _ = try Store.replaceInPostgres(url: server.url, schema: schema, target: models[0]) { _, _, _ in }
        #expect(try schemas() == [schema])
        #expect(try replace(by: new, keepsOld: true) != nil)
    }
}
