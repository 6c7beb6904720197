import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage

/// What holds of a store in PostgreSQL beside the contract of all storages.
@Suite struct PostgresStorageTests {
    private let server: PostgresServer
    private let schema: String
    private let model: ObjectModel

    init() throws {
        server = try PostgresServer.shared.get()
        schema = server.newSchema()
        model = try configuredModel("chat")
    }

    private func open(_ model: ObjectModel? = nil) throws -> Store {
        try Store.postgres(url: server.url, schema: schema, model: model ?? self.model)
    }

    private func writer(_ store: Store, _ clock: Clock) throws -> WriterContext {
        var options = WriterContext.Options()
        options.now = { clock.now }
        return try WriterContext(store: store, options: options)
    }

    private func failure(_ body: () throws -> Void) -> StoreError? {
        do {
            try body()
            return nil
        } catch {
            return error as? StoreError
        }
    }

    private func chat(_ number: Int64) -> ChangeSet { ChangeSet(model.upsert("Chat", .text("c\(number)"), [])) }

    @Test func `a store keeps its objects and its identity`() throws {
        let (first, clock) = (try open(), Clock(1_000_000))
        let identity = try first.identity()
        let context = try writer(first, clock)
        _ = try context.apply(WriterContext.Chunk(events: [chat(1)]))
        try context.close()
        try first.close()
        let second = try open()
        #expect(try second.identity() == identity)
        #expect(try second.read { try $0.count(FetchRequest("Chat").checked(with: model)) } == 1)
    }

    @Test func `a store of the first layout gets the present one`() throws {
        try open().close()
        for sql in [
            "DROP TABLE \(schema)._audit", "ALTER TABLE \(schema)._history_transaction DROP trace, DROP epoch",
            "UPDATE \(schema)._metadata SET value = '1' WHERE key = 'formatVersion'",
            "UPDATE \(schema)._metadata SET value = 'old' WHERE key = 'views'",
        ] {
            _ = try server.query(sql)
        }
        #expect(
            failure { _ = try Store.postgresForReading(url: server.url, schema: schema, model: model) }?.code
                == .olderFormat)
        let store = try open()
        let context = try writer(store, Clock(1_000_000))
        _ = try context.apply(WriterContext.Chunk(events: [chat(1)]))
        try context.close()
        #expect(try server.query("SELECT epoch FROM \(schema)._history_transaction") == "0")
    }

    @Test func `a store without timestamps of letters is read and copied, and gets them when it is written`() throws {
        var letter = DeadLetter(
            time: 1, topic: "t", partition: 0, offset: 3, stage: "decode", code: "decode.json", reason: "no", key: nil,
            value: [1], valueBytes: 1)
        func write(_ store: Store) throws {
            let context = try writer(store, Clock(1_000_000))
            _ = try context.apply(WriterContext.Chunk(events: [], deadLetters: [letter]))
            try context.close()
        }
        func timestamps(_ store: Store) throws -> [Int64?] {
            try store.read { try $0.deadLetters() }.map(\.timestampMilliseconds)
        }
        try write(try open())
        _ = try server.query("ALTER TABLE \(schema)._dead_letter DROP \"timestampMilliseconds\"")
        let reader = try Store.postgresForReading(url: server.url, schema: schema, model: model)
        #expect(try timestamps(reader) == [nil])
        let folder = try TemporaryFolder()
        try reader.read { try Store.copyToFile($0, path: folder.path("s.sqlite")) }
        #expect(try timestamps(try Store.open(path: folder.path("s.sqlite"), model: model)) == [nil])
        letter.timestampMilliseconds = 7
        try write(try open())
        #expect(try timestamps(reader) == [7])
    }

    @Test func `of two writers the later one fences the first`() throws {
        let (clock, stores) = (Clock(1_000_000), (try open(), try open()))
        let first = try writer(stores.0, clock)
        _ = try first.apply(WriterContext.Chunk(events: [chat(1)]))
        try first.commit()
        #expect(failure { _ = try writer(stores.1, clock) }?.code == .leased)
        clock.now += 11_000_000
        let second = try writer(stores.1, clock)
        #expect(failure { _ = try first.apply(WriterContext.Chunk(events: [chat(2)])) }?.code == .fenced)
        _ = try second.apply(WriterContext.Chunk(events: [chat(3)]))
        try second.commit()
        let found = try stores.0.read { try $0.fetch(FetchRequest("Chat")) }
        #expect(found.map { $0["id"] } == ["c1", "c3"])
    }

    @Test func `a holder whose connection has ended does not block the next`() throws {
        let (clock, stores) = (Clock(1_000_000), (try open(), try open()))
        var first: WriterContext? = try writer(stores.0, clock)
        _ = try first?.apply(WriterContext.Chunk(events: [chat(1)]))
        first = nil
        try terminateHolder(stores.1)
        let second = try writer(stores.1, clock)
        _ = try second.apply(WriterContext.Chunk(events: [chat(2)]))
        try second.commit()
        #expect(try stores.1.read { try $0.fetch(FetchRequest("Chat")) }.map { $0["id"] } == ["c2"])
    }

    @Test func `a holder that stands still in a transaction does not block the next`() throws {
        var options = WriterContext.Options()
        options.leaseTTLSeconds = 1
        let stopped = try WriterContext(store: open(), options: options)
        func waitForSuccessor() throws {
            _ = try stopped.apply(WriterContext.Chunk(events: [chat(1)]))
            let next = try WriterContext(store: open(), options: options)
            try next.close()
        }
        try waitForSuccessor()
        let lost = failure { try stopped.commit() }
        #expect(lost?.code == .disconnected && lost?.remedy.contains("lease.ttlSeconds") == true)
        // A new connection has the limit too.
        let session = try #require(stopped.session as? PostgresWriterSession)
        try session.reconnectIfLost()
        let setting = PostgresStatement("SELECT current_setting('idle_in_transaction_session_timeout')")
        #expect(try session.connection.run(setting).first?.text(0) == "1s")
    }

    @Test func `a new connection is made known again where the first attempt failed`() throws {
        var options = PostgresOptions()
        options.lockTimeoutMilliseconds = 50
        let store = try Store.postgres(url: server.url, schema: schema, model: model, options: options)
        let writer = try WriterContext(store: store)
        let session = try #require(writer.session as? PostgresWriterSession)
        let other = try store.postgres().connect(.reader)
        try terminateHolder(store)
        try? session.renewClaim(now: 0)
        _ = try? session.finish()
        try other.run([.begin, PostgresWriterSession.lock])
        #expect(failure { try session.reconnectIfLost() }?.code == .busy)
        try other.run(PostgresStatement("COMMIT"))
        try session.reconnectIfLost()
        let query = PostgresStatement(
            "SELECT backend = pg_backend_pid(), current_setting('idle_in_transaction_session_timeout') FROM _lease")
        let row = try #require(try session.connection.run(query).first)
        #expect(row.flag(0) && row.text(1) != "0")
        try writer.close()
    }

    @Test func `an editing context's reader connects again after a lost connection`() throws {
        let storage = try open().postgres()
        let reader = try PostgresRowReader(storage)
        let process = try reader.connection.run(PostgresStatement("SELECT pg_backend_pid()::int8")).first?.integer(0)
        let end = PostgresStatement("SELECT pg_terminate_backend(\(process ?? 0), 5000)")
        try storage.connect(.reader).run(end)
        let plan = [ReadRequest.rows(entity: 0, .primaryKeys([1]))]
        #expect(failure { try reader.load(plan, in: ValueArena()) { _, _ in } }?.code == .disconnected)
        try reader.load(plan, in: ValueArena()) { _, _ in }
        #expect(!reader.connection.isLost)
    }

    /// Ends the connection that holds the claim, as an administrator would, and waits until it is gone.
    private func terminateHolder(_ store: Store) throws {
        let connection = try store.postgres().connect(.reader)
        try connection.run(PostgresStatement("SELECT pg_terminate_backend(backend, 5000) FROM _lease"))
    }

    @Test func `each chunk has its effect once, whenever its connection ends`() throws {
        let (clock, store) = (Clock(1_000_000), try open())
        let context = try writer(store, clock)
        var (next, lostCount): (Int64, Int) = (0, 0)
        while next < 30 {
            var position = SourcePosition(topic: "t", partition: 0, nextOffset: next + 1)
            position.predecessor = next == 0 ? .nothing : .offset(next)
            do {
                if next % 3 == 1, lostCount <= next { try terminateHolder(store) }
                _ = try context.apply(WriterContext.Chunk(events: [chat(next)], positions: [position]))
                // The connection ends before the commit, or while it is under way.
                if next % 3 == 0, lostCount <= next { try terminateHolder(store) }
                try context.commit()
                next += 1
            } catch let error as StoreError where error.isRetriable {
                lostCount += 1
                next = try store.read { try $0.positions() }.first?.nextOffset ?? 0
            }
        }
        #expect(lostCount > 5)
        let (count, tokens) = try store.read {
            (try $0.count(FetchRequest("Chat").checked(with: model)), try $0.history(after: 0).map(\.token))
        }
        #expect(count == 30)
        #expect(tokens.count == 30)
    }

    @Test func `a chunk counts once in an average, also where the server is away as it is undone`() throws {
        let role = "role_\(schema)"
        _ = try server.query("CREATE ROLE \(role) LOGIN SUPERUSER")
        let url = server.url.replacing("postgres@", with: "\(role)@", maxReplacements: 1)
        let model = try ObjectModel.parse(
            """
            entities:
              Box:
                identity: id
                attributes:
                  id: { type: string }
                  average: { type: double, optional: true, derived: things.@avg.weight }
                relationships:
                  things: { to: Thing, many: true, inverse: box, delete: cascade }
              Thing:
                identity: id
                attributes:
                  id: { type: string }
                  weight: { type: double, default: 0 }
                relationships:
                  box: { to: Box, inverse: things, delete: nullify }
            """)
        let store = try Store.postgres(url: url, schema: schema, model: model)
        let context = try writer(store, Clock(1_000_000))
        func apply(_ weights: [Double]) throws {
            let events = weights.map { weight in
                ChangeSet(
                    model.upsert(
                        "Thing", .text("t\(weight)"), [("weight", .value(.double(weight))), ("box", .value("b"))]))
            }
            _ = try context.apply(WriterContext.Chunk(events: events))
        }
        try apply([1, 2])
        try context.commit()
        try apply([6])
        // The commit fails, and so does the connection by which the counters would be read again.
        _ = try server.query("ALTER ROLE \(role) NOLOGIN")
        _ = try server.query("SELECT pg_terminate_backend(backend::int, 5000) FROM \(schema)._lease")
        #expect(failure { try context.commit() }?.code == .disconnected)
        _ = try server.query("ALTER ROLE \(role) LOGIN")
        try apply([6])
        try context.commit()
        #expect(try server.query("SELECT average FROM \(schema).\"Box\"") == "3")
        let report = try open(model).verify()
        #expect(report.isSound, "\(report.text)")
    }

    @Test func `another model, a foreign table and a long name are refused`() throws {
        _ = try open()
        let other = try ObjectModel.parse(
            "entities:\n  E:\n    identity: id\n    attributes:\n      id: { type: string }")
        let mismatch = failure { _ = try open(other) }
        #expect(mismatch?.code == .modelMismatch)
        #expect(mismatch?.message.contains(": E: entity added; ") == true, "\(mismatch?.message ?? "")")
        let foreign = server.newSchema()
        let connection = try PostgresConnection(
            ConnectionAddress(server.url, schema: foreign), .reader, lockTimeoutMilliseconds: 1000)
        try connection.run([
            PostgresStatement("CREATE SCHEMA \(foreign)"), PostgresStatement("CREATE TABLE recipes (name text)"),
        ])
        #expect(failure { _ = try Store.postgres(url: server.url, schema: foreign, model: model) }?.code == .corrupt)
        let name = String(repeating: "n", count: 64)
        let long = try ObjectModel.parse(
            "entities:\n  E:\n    identity: \(name)\n    attributes:\n      \(name): { type: string }")
        #expect(failure { _ = try server.store(long) }?.message.contains(name) == true)
        let catalogue = try ObjectModel.parse(
            "entities: { pg_class: { identity: id, attributes: { id: { type: string } } } }")
        #expect(failure { _ = try server.store(catalogue) }?.message.contains("'pg_class'") == true)
        for column in ["ctid", "xmin", "cmin", "xmax", "cmax", "tableoid"] {
            let attributes = "{ id: { type: string }, \(column): { type: integer64 } }"
            let taken = try ObjectModel.parse("entities: { E: { identity: id, attributes: \(attributes) } }")
            let message = failure { _ = try server.store(taken) }?.message
            #expect(message?.contains("a column '\(column)' of its own") == true)
        }
    }

    @Test(arguments: [
        "postgres://user:secret@127.0.0.1:1/none", "postgres://user:secret@[::1/none", "mysql://user:secret@host/none",
        "postgres://user@127.0.0.1:1/none?password=secret&nothing=secret",
    ])
    func `no message shows a password`(_ url: String) {
        let error = failure { _ = try Store.postgres(url: url, model: model) }
        #expect(error?.code == .unavailable)
        #expect(error?.description.contains("secret") == false)
    }

    @Test func `a value that PostgreSQL does not keep fails its event alone`() throws {
        let yaml = "entities:\n  Note:\n    identity: id\n    attributes:\n      id: { type: string }"
        let graph = try Graph(ObjectModel.parse(yaml), storage: .postgres)
        // Random letters, which the server cannot compress into an entry of its index.
        var random = SeededRandom(seed: 1)
        let long = String((0..<9000).map { _ in Character(UnicodeScalar(UInt8.random(in: 97...122, using: &random))) })
        for refused in ["a\0b", long] {
            let words = try graph.apply(
                graph.upsert("Note", .text("before \(refused.count)")), graph.upsert("Note", .text(refused)),
                graph.upsert("Note", .text("after \(refused.count)")))
            #expect(words == ["applied", "store.value", "applied"])
        }
        #expect(try graph.rows("SELECT count(*) FROM Note") == [[4]])
    }
}
