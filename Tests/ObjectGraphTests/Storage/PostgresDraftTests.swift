import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage

/// Chunks that are read before their transaction begins, of one writer and of several.
@Suite struct PostgresDraftTests {
    private let model: ObjectModel

    init() throws { model = try configuredModel("chat") }

    private func writer(_ sharing: PostgresOptions.Writers) throws -> (WriterContext, PostgresWriterSession, String) {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        var options = PostgresOptions()
        options.writers = sharing
        let store = try Store.postgres(url: server.url, schema: schema, model: model, options: options)
        let context = try WriterContext(store: store)
        return (context, try #require(context.session as? PostgresWriterSession), schema)
    }

    private func chat(_ id: String, title: String = "t", members: [Value] = []) -> ObjectOperation {
        model.upsert("Chat", .text(id), [("title", .value(.text(title))), ("members", .replace(members))])
    }

    private func message(_ id: String, chat: String) -> ObjectOperation {
        model.upsert("Message", .text(id), [("chat", .value(.text(chat))), ("sender", .value("ada"))])
    }

    private func commit(_ context: WriterContext, _ operations: [ObjectOperation], at offset: Int64) throws {
        var position = SourcePosition(topic: "t", partition: 0, nextOffset: offset + 1)
        position.predecessor = offset == 0 ? .nothing : .offset(offset)
        _ = try context.apply(
            WriterContext.Chunk(events: operations.map { ChangeSet($0) }, positions: [position]), mayConflict: true)
        try context.commit()
    }

    @Test(arguments: [PostgresOptions.Writers.one, .many])
    func `a chunk takes four round trips at most`(_ sharing: PostgresOptions.Writers) throws {
        let (context, session, _) = try writer(sharing)
        // The first chunk compares the server, and reserves keys.
        try commit(context, [message("m1", chat: "a"), message("m2", chat: "b"), chat("c", members: ["bob"])], at: 0)
        let trips = session.connection.roundTripCount
        // The links of replaced lists, the rows behind them, links that are added, and the reach of a deletion.
        try commit(
            context,
            [
                chat("c", members: ["ada", "eve"]), model.delete("Chat", "a"), message("m3", chat: "b"),
                model.upsert("Member", "ada", [("chats", .add("b"))]),
            ], at: 1)
        #expect(session.connection.roundTripCount - trips == 4)
        // The filter of tombstones may be read again.
        try commit(context, [message("m4", chat: "b")], at: 2)
        let last = session.connection.roundTripCount
        try commit(context, [message("m5", chat: "b")], at: 3)
        #expect(session.connection.roundTripCount - last == 2)
        #expect(context.committedToken == 4)
    }

    @Test func `the only writer commits nothing once another one has the store or has moved its position`() throws {
        let server = try PostgresServer.shared.get()
        for (change, code) in [
            ("_lease SET epoch = epoch + 1", StoreError.Code.fenced),
            ("_position SET \"nextOffset\" = 7", .positionConflict),
        ] {
            let (context, _, schema) = try writer(.one)
            try commit(context, [chat("a")], at: 0)
            _ = try server.query("UPDATE \(schema).\(change)")
            do {
                try commit(context, [chat("b")], at: 1)
                Issue.record("the chunk was committed in spite of \(change)")
            } catch let error as StoreError {
                #expect(error.code == code)
            }
            #expect(try server.query("SELECT string_agg(id, ',') FROM \(schema).\"Chat\"") == "a")
            #expect(try server.query("SELECT token FROM \(schema)._token") == "1")
        }
    }

    @Test func `a draft compares the tombstones of absent objects alone`() throws {
        let draft = WriteDraft()
        func note(_ lists: [(root: Int, identities: [Value])]) throws -> [(root: Int, identities: [Value])]? {
            let (before, arena) = (draft.reads.count, ValueArena())
            let packed = lists.map { (root: $0.root, identities: $0.identities.map { arena.pack($0) }) }
            try draft.note([.tombstones(packed)], [ReadDigest()], present: [0: ["here"], 2: ["absent"]])
            guard draft.reads.count > before, case .tombstones(let kept)? = draft.reads.last?.request else {
                return nil
            }
            // The draft keeps the values, whatever becomes of the chunk's.
            arena.reset()
            return kept.map { (root: $0.root, identities: $0.identities.map(\.value)) }
        }
        let kept = try #require(try note([(0, ["here", "absent"]), (1, ["here"]), (2, ["absent"])]))
        #expect(kept.map(\.root) == [0, 1] && kept.map(\.identities) == [["absent"], ["here"]])
        #expect(try note([(0, ["here"])]) == nil)
    }

    @Test func `a draft leaves the counts that it does not change to the others`() throws {
        let shared = try SharedStore(model)
        let (drafting, other) = (try shared.writer(shared.open()), try shared.writer(shared.open()))
        _ = try other.apply(WriterContext.Chunk(events: [ChangeSet([chat("a"), chat("b")])]))
        try other.commit()
        // One statement updates both chats, and only one of them gets a message.
        let events = [chat("a", title: "new"), message("m1", chat: "b")].map { ChangeSet($0) }
        _ = try drafting.apply(WriterContext.Chunk(events: events, source: "draft"), mayConflict: true)
        _ = try other.apply(WriterContext.Chunk(events: [ChangeSet(model.upsert("Message", "m2", [("chat", "a")]))]))
        try other.commit()
        try drafting.commit()
        let found = try drafting.store.read { try $0.fetch(FetchRequest("Chat")) }
        #expect(found.map { $0["title"] } == ["new", "t"])
        #expect(found.map { $0["messagesCount"] } == [1, 1])
    }

    @Test(arguments: [PostgresOptions.Writers.one, .many])
    func `an event that a draft cannot read is found with the lock`(_ sharing: PostgresOptions.Writers) throws {
        let (context, _, _) = try writer(sharing)
        let events = ["before", "a\0b", "after"].map { ChangeSet(chat($0)) }
        func outcomes() throws -> [String] {
            let result = try context.apply(WriterContext.Chunk(events: events), mayConflict: true)
            try context.commit()
            return result.outcomes.map(\.word)
        }
        #expect { try outcomes() } throws: { ($0 as? StoreError)?.code == .conflict }
        #expect(try outcomes() == ["applied", "store.value", "applied"])
    }

    // MARK: Statements

    @Test func `a statement takes another one over with its values`() throws {
        let (_, session, _) = try writer(.one)
        var inner = PostgresStatement("SELECT $1::text AS \"a$1\", '$2', $2::int8")
        inner.bind("first")
        inner.bind(Int64(2))
        var outer = PostgresStatement("")
        outer.bind(Int64(7))
        let text = outer.take(inner)
        outer.bind(Int64(8))
        #expect(text == "SELECT $2::text AS \"a$1\", '$2', $3::int8")
        outer.sql = "SELECT q.*, $1::int8, $4::int8 FROM (\(text)) AS q"
        let row = try #require(try session.connection.run(outer).first)
        #expect(row.text(0) == "first" && row.text(1) == "$2")
        #expect([row.integer(2), row.integer(3), row.integer(4)] == [2, 7, 8])
    }

    @Test func `a connection keeps no more prepared statements than its limit`() throws {
        let (_, session, _) = try writer(.one)
        let count = PostgresStatement("SELECT count(*) FROM pg_prepared_statements")
        for number in 0...PostgresConnection.maximumPreparedCount + 1 {
            let row = try session.connection.run(PostgresStatement("SELECT \(number)::int8")).first
            #expect(row?.integer(0) == Int64(number))
        }
        let kept = try #require(try session.connection.run(count).first)
        #expect(kept.integer(0) < Int64(PostgresConnection.maximumPreparedCount / 2))
    }
}
