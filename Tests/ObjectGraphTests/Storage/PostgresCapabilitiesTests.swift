import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage

/// What keeps a store in PostgreSQL from being opened is found before anything is tried, and told with its remedy.
@Suite struct PostgresCapabilitiesTests {
    private let server: PostgresServer
    private let schema: String
    private let model: ObjectModel

    init() throws {
        server = try PostgresServer.shared.get()
        schema = server.newSchema()
        model = try configuredModel("chat")
    }

    private func refusal(as role: String? = nil, _ parameters: String = "", reading: Bool = false) -> StoreError? {
        var url = server.url + parameters
        if let role, let range = url.firstRange(of: "postgres@") { url.replaceSubrange(range, with: "\(role)@") }
        do throws(StoreError) {
            if reading {
                _ = try Store.postgresForReading(url: url, schema: schema, model: model)
            } else {
                _ = try Store.postgres(url: url, schema: schema, model: model)
            }
            return nil
        } catch {
            return error
        }
    }

    private func newRole(_ name: String) throws -> String {
        _ = try server.query("CREATE ROLE \(name)_\(schema) LOGIN")
        return "\(name)_\(schema)"
    }

    @Test func `each lack has its own words and remedy`() throws {
        let address = try ConnectionAddress("postgres://u@h/d", schema: "s")
        typealias Capabilities = PostgresCapabilities
        func fault(_ use: Capabilities.Use = .writing, _ change: (inout Capabilities) -> Void) -> StoreError? {
            var found = Capabilities()
            found.role = "u"
            change(&found)
            return found.fault(use, at: address)
        }
        #expect(fault { _ in } == nil)
        #expect(fault { $0.version = 130_014 }?.message.contains("older than version 14") == true)
        #expect(fault { $0.encoding = "LATIN1" }?.remedy.contains("template0") == true)
        #expect(fault { $0.isReadOnly = true }?.remedy.contains("target_session_attrs=read-write") == true)
        #expect(fault(.reading) { $0.isReadOnly = true } == nil)
        #expect(fault { $0.mayMakeSchema = false }?.remedy.contains("CREATE SCHEMA \"s\" AUTHORIZATION \"u\"") == true)
        #expect(fault(.reading) { $0.mayMakeSchema = false } == nil)
        typealias Rights = Capabilities.Schema
        let hidden = Rights(owner: "o", mayUse: false)
        #expect(
            fault(.reading) { $0.schema = hidden }?.remedy.contains("As \"o\": 'ingest-worker grant reader u'") == true)
        let closed = Rights(owner: "o", mayCreate: false)
        #expect(fault { $0.schema = closed }?.remedy.contains("GRANT CREATE, USAGE ON SCHEMA \"s\" TO \"u\"") == true)
        let read = Rights(owner: "o", mayCreate: false, holdsStore: true, mayWrite: false)
        #expect(fault { $0.schema = read }?.remedy.contains("grant writer u") == true)
        #expect(fault(.reading) { $0.schema = read } == nil)
        #expect(fault { $0.schema = Rights(owner: "o", mayCreate: false, holdsStore: true) } == nil)
    }

    @Test func `a role without rights is refused until its rights are granted`() throws {
        let role = try newRole("worker")
        #expect(refusal(as: role)?.message.contains("may not make the schema") == true)
        _ = try server.query("CREATE SCHEMA \(schema)")
        #expect(refusal(as: role)?.message.contains("may not read it") == true)
        _ = try server.query("GRANT USAGE ON SCHEMA \(schema) TO \(role)")
        #expect(refusal(as: role)?.message.contains("may not make a store there") == true)
        #expect(refusal() == nil)
        #expect(refusal(as: role, reading: true)?.message.contains("may not read it") == true)
        func grant(_ rights: PostgresRights) throws {
            try Store.grantInPostgres(rights, to: role, url: server.url, schema: schema, model: model)
        }
        try grant(.reader)
        #expect(refusal(as: role, reading: true) == nil)
        let reader = refusal(as: role)
        #expect(reader?.code == .unavailable && reader?.message.contains("may not write it") == true)
        try grant(.writer)
        #expect(refusal(as: role) == nil)
        // Views of another version are the owner's to make again.
        _ = try server.query("UPDATE \(schema)._metadata SET value = 'old' WHERE key = 'views'")
        #expect(refusal(as: role)?.message.contains("its owner alone brings it up to date") == true)
        #expect(refusal() == nil && refusal(as: role) == nil)
    }

    @Test func `the owner of a store keeps its rights`() throws {
        let owner = try newRole("owner")
        _ = try server.query("CREATE SCHEMA \(schema) AUTHORIZATION \(owner)")
        #expect(refusal(as: owner) == nil)
        for rights in PostgresRights.allCases {
            let error = #expect(throws: StoreError.self) {
                try Store.grantInPostgres(rights, to: owner, url: server.url, schema: schema, model: model)
            }
            #expect(error?.message.contains("'\(owner)' owns the store") == true)
        }
        #expect(refusal(as: owner) == nil)
    }

    @Test func `a server that only reads and another encoding are refused`() throws {
        let readOnly = "&options=-c%20default_transaction_read_only%3Don"
        #expect(refusal(readOnly)?.message.contains("only reads") == true)
        #expect(refusal() == nil)
        #expect(refusal(readOnly, reading: true) == nil)
        _ = try server.query("CREATE DATABASE latin_\(schema) ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
        #expect(refusal("&dbname=latin_\(schema)")?.message.contains("has the encoding SQL_ASCII") == true)
    }

    @Test func `workers of two consumer groups do not share a store`() throws {
        func store(_ group: String) throws -> Store {
            var options = PostgresOptions()
            (options.writers, options.group) = (.many, group)
            return try Store.postgres(url: server.url, schema: schema, model: model, options: options)
        }
        let stores = try ["a", "a", "b"].map(store)
        let writers = try stores[..<2].map { try WriterContext(store: $0) }
        let refused = #expect(throws: StoreError.self) { _ = try WriterContext(store: stores[2]) }
        #expect(refused?.message.contains("consumer group 'a'") == true)
        for writer in writers { try writer.close() }
        let other = try WriterContext(store: stores[2])
        try other.close()
        #expect(try server.query("SELECT value FROM \(schema)._metadata WHERE key = 'group'") == "b")
    }
}
