import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage

/// A server that takes over from another one begins an epoch of the history.
///
/// The mark in the store stands for the other server here; standbys that are promoted are tested beside the faults.
@Suite struct PostgresEpochTests {
    private let server: PostgresServer
    private let schema: String
    private let model: ObjectModel

    init() throws {
        server = try PostgresServer.shared.get()
        schema = server.newSchema()
        model = try configuredModel("chat")
    }

    private func open(_ writers: PostgresOptions.Writers) throws -> Store {
        var options = PostgresOptions()
        options.writers = writers
        return try Store.postgres(url: server.url, schema: schema, model: model, options: options)
    }

    private func save(_ number: Int64, _ writer: WriterContext) throws {
        let event = ChangeSet(model.upsert("Chat", .text("c\(number)"), []))
        while true {
            do {
                _ = try writer.apply(WriterContext.Chunk(events: [event]), mayConflict: true)
                return try writer.commit()
            } catch {
                guard error.isRetriable else { throw error }
            }
        }
    }

    /// Lets the store believe that another server wrote it, and ends the writer's connection.
    private func takeOver(endsConnection: Bool) throws {
        _ = try server.query("UPDATE \(schema)._metadata SET value = 'another/1' WHERE key = 'server'")
        if endsConnection {
            _ = try server.query(
                "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE application_name = 'ingest' "
                    + "AND pid IN (SELECT backend FROM \(schema)._lease UNION SELECT backend FROM \(schema)._writer)")
        }
    }

    @Test(arguments: PostgresOptions.Writers.allCases)
    func `a token beyond the fork is refused`(_ writers: PostgresOptions.Writers) throws {
        let store = try open(writers)
        let writer = try WriterContext(store: store)
        for number in 1...3 { try save(Int64(number), writer) }
        let before = try store.read { try $0.historyToken() }
        #expect(before.number == 3 && before.epoch == 0)
        try takeOver(endsConnection: true)
        // The other server had two transactions more.
        let lost = HistoryToken(store: before.store, number: 5)
        for number in 4...6 { try save(Int64(number), writer) }
        let after = try store.read { try $0.historyToken() }
        #expect(after.number == 6 && after.epoch == 1 && after.description.hasSuffix(":6@1"))
        let rest = try store.read { try $0.history(HistoryRequest(after: before)) }
        #expect(rest.transactions.map(\.token) == [4, 5, 6] && rest.transactions.map(\.epoch) == [1, 1, 1])
        let error = #expect(throws: StoreError.self) { try store.read { try $0.history(HistoryRequest(after: lost)) } }
        #expect(error?.code == .historyForked && error?.message.contains("up to transaction 3") == true)
        let next = HistoryToken(store: before.store, number: 5, epoch: 1)
        #expect(try store.read { try $0.history(HistoryRequest(after: next)) }.transactions.map(\.token) == [6])
        try writer.close()
    }

    /// A pooler may change servers between two transactions, without a lost connection.
    @Test func `a transaction on another server is undone, and the next one begins the epoch`() throws {
        let writer = try WriterContext(store: open(.one))
        try save(1, writer)
        let session = try #require(writer.session as? PostgresWriterSession)
        try takeOver(endsConnection: false)
        session.comparedServer = "another/1"
        let error = #expect(throws: StoreError.self) { try session.inTransaction { () throws(StoreError) in } }
        #expect(error?.code == .disconnected)
        try save(2, writer)
        #expect(try writer.store.read { try $0.historyEpochs() }.current > 0)
        try writer.close()
    }

    @Test func `the same server begins no epoch`() throws {
        let store = try open(.one)
        let writer = try WriterContext(store: store)
        try save(1, writer)
        try writer.close()
        let next = try WriterContext(store: try open(.one))
        try save(2, next)
        #expect(try store.read { try $0.historyEpochs() } == HistoryEpochs())
        try next.close()
    }

    @Test func `the epochs go along with a copy`() throws {
        let store = try open(.one)
        let writer = try WriterContext(store: store)
        try save(1, writer)
        try takeOver(endsConnection: true)
        try save(2, writer)
        try writer.close()
        let files = try TemporaryFolder()
        let path = files.path("copy.sqlite")
        try store.read { try Store.copyToFile($0, path: path) }
        let copy = try Store.openForReading(path: path, model: model)
        #expect(try copy.read { try $0.historyToken() } == store.read { try $0.historyToken() })
    }
}
