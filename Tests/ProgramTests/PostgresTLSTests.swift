import Foundation
import TestSupport
import Testing

/// A PostgreSQL server that takes connections by TLS alone: the parameters that work, and the report of each failure.
@Suite(.serialized) struct PostgresTLSTests {
    private let certificates: TestCertificates
    private let server: PostgresServer
    private let workspace: Workspace
    private let file: String
    private let password = "hunter2-is-secret"

    init() throws {
        certificates = try TestCertificates()
        let certificate = try certificates.make("server", for: "DNS:db.example,IP:127.0.0.1")
        server = try PostgresServer(certificate: certificate, authority: certificates.authority)
        workspace = try Workspace()
        file = workspace.path("events.jsonl")
        try Foreign.generateEvents(200, seed: 31, to: file)
        for role in ["plain", "certified"] {
            _ = try server.query("CREATE ROLE \(role) LOGIN PASSWORD '\(password)'")
            _ = try server.query("GRANT CREATE ON DATABASE postgres TO \(role)")
        }
    }

    /// A URL of the server by a name of its certificate, unless parameters say otherwise.
    private func url(_ user: String, _ parameters: [String: String] = [:]) -> String {
        let defaults = [
            "hostaddr": "127.0.0.1", "port": "\(server.port)", "sslmode": "verify-full",
            "sslrootcert": certificates.authority, "schema": "of_\(user)",
        ]
        let all = defaults.merging(parameters) { $1 }.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return "postgres://\(user)@/postgres?\(all.joined(separator: "&"))"
    }

    private func replay(_ url: String) throws -> Program.Result {
        try Program.run(["replay", file, "--set", "store.url=\(url)"])
    }

    @Test func `events go through TLS, with a password and with a client's certificate`() throws {
        let withPassword = try replay(url("plain", ["host": "db.example", "password": password]))
        #expect(withPassword.status == 0, "\(withPassword.errors)")
        let client = try certificates.make("certified", for: "DNS:certified")
        let withCertificate = try replay(
            url("certified", ["host": "db.example", "sslcert": client, "sslkey": client]))
        #expect(withCertificate.status == 0, "\(withCertificate.errors)")
        for schema in ["of_plain", "of_certified"] {
            #expect(try server.query("SELECT count(*) > 20 FROM \(schema).\"Message\"") == "t")
        }
    }

    /// A fault of a URL, and the words of its report.
    private struct Fault {
        var user = "plain"
        var host = "db.example"
        var parameters: [String: String] = [:]
        let message: String
        var remedy = "sslmode, sslrootcert, sslcert and sslkey of the URL"
    }

    @Test func `a failure of TLS or of a password has its exit code, place and remedy`() throws {
        let others = try TestCertificates()
        let stranger = try others.make("certified", for: "DNS:certified")
        let otherUser = try certificates.make("somebody", for: "DNS:somebody")
        let faults = [
            Fault(host: "db.wrong", message: "does not match host name \"db.wrong\""),
            Fault(parameters: ["sslrootcert": others.authority], message: "certificate verify failed"),
            Fault(parameters: ["sslrootcert": "/none/ca.pem"], message: "\"/none/ca.pem\" does not exist"),
            Fault(parameters: ["sslmode": "disable"], message: "no encryption"),
            Fault(user: "certified", message: "certificate"),
            Fault(user: "certified", parameters: ["sslcert": otherUser, "sslkey": otherUser], message: "certificate"),
            Fault(user: "certified", parameters: ["sslcert": stranger, "sslkey": stranger], message: "SSL"),
            Fault(
                parameters: ["password": "\(password)-no"], message: "password authentication failed",
                remedy: "Check that the server runs, and the URL"),
        ]
        for fault in faults {
            let parameters = ["host": fault.host, "password": password].merging(fault.parameters) { $1 }
            let result = try replay(url(fault.user, parameters))
            let said = result.output + result.errors
            #expect(result.status == 69, "\(fault): \(said)")
            #expect(said.contains(fault.message) && said.contains(fault.remedy), "\(fault): \(said)")
            let place = "postgres://\(fault.user)@\(fault.host):\(server.port)/postgres"
            #expect(said.contains(place), "\(fault): \(said)")
            #expect(!said.contains(password))
        }
        withExtendedLifetime(others) {}
    }
}
