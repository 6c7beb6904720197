import CPostgres
import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage

/// The URL of a store, and the connection that it makes.
@Suite struct PostgresConnectionTests {
    private let server: PostgresServer

    init() throws { server = try PostgresServer.shared.get() }

    /// The parameters of a connection, as libpq has them.
    private func parameters(_ more: String = "") throws -> [String: String] {
        let address = try ConnectionAddress(server.url + more, schema: server.newSchema())
        let connection = try PostgresConnection(address, .reader, lockTimeoutMilliseconds: 1000)
        let options = try #require(PQconninfo(connection.pointer))
        defer { PQconninfoFree(options) }
        var found: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { found[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return found
    }

    @Test func `a connection notices a host that has vanished, and the URL says how soon`() throws {
        let own = try parameters()
        #expect(own["keepalives_idle"] == "10" && own["keepalives_interval"] == "5" && own["keepalives_count"] == "3")
        #expect(own["tcp_user_timeout"] == "30000" && own["connect_timeout"] == "10")
        let changed = try parameters("&keepalives_idle=77&tcp_user_timeout=1234")
        #expect(changed["keepalives_idle"] == "77" && changed["tcp_user_timeout"] == "1234")
        #expect(changed["keepalives_count"] == "3")
    }

    @Test(arguments: [("a b", "a%20b"), ("a&b", "a%26b"), ("ä", "%C3%A4"), ("A.b-c_d~1", "A.b-c_d~1")])
    func `a schema of any name comes from a URL and goes into one`(_ name: String, _ encoded: String) throws {
        let address = try ConnectionAddress("postgres://u@h/d?schema=\(encoded)&sslmode=require", schema: "other")
        #expect(address.schema == name && address.url == "postgres://u@h/d?sslmode=require")
        #expect(address.url(ofSchema: name).hasSuffix("&schema=\(encoded)"))
        #expect(try ConnectionAddress(address.url(ofSchema: name), schema: "other").schema == name)
    }

    @Test(arguments: ["", "%", "%zz", "a%00b"])
    func `a URL whose schema is no name is refused`(_ encoded: String) {
        #expect(throws: StoreError.self) { try ConnectionAddress("postgres://u@h/d?schema=\(encoded)", schema: "s") }
    }

    @Test func `a store in a schema with signs in its name is verified, measured and replaced`() throws {
        let model = try configuredModel("chat")
        let name = "\(server.newSchema()) Ä&b"
        let url = try ConnectionAddress(server.url, schema: "s").url(ofSchema: name)
        let store = try Store.postgres(url: url, model: model)
        #expect(try #require(try store.postgres().size).bytes > 0)
        #expect(try store.verify().isSound)
        let new = try Store.inMemory(model: model)
        _ = try Store.replaceInPostgres(url: url) { _, _, replace in
            try new.read { try replace($0, "work", false) { _, _ in } }
        }
        #expect(try Store.postgresForReading(url: url, model: model).identity() == new.identity())
        let count = "SELECT count(*) FROM pg_namespace WHERE starts_with(nspname, '\(name)')"
        #expect(try server.query(count) == "1")
    }
}
