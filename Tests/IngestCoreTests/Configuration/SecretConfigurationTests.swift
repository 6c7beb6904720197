import Foundation
import Testing

@testable import IngestCore
@testable import Operations

private func load(
    _ yaml: String, _ settings: [String] = [], _ environment: [String: String] = [:]
) throws -> LoadedConfiguration {
    try WorkerConfiguration.load(yaml: yaml, name: "w.yaml", settings: settings, environment: environment)
}

@Suite("Secrets in the configuration")
struct SecretConfigurationTests {
    private static let token = "0123456789abcdef-token"

    /// Writes a file and calls the body with its path.
    private func withFile(_ text: String, _ body: (String) throws -> Void) throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "secret-\(UUID().uuidString)")
        try text.write(to: url, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: url) }
        try body(url.path)
    }

    @Test
    func `a secret stands in a file that the file, a flag or a variable names`() throws {
        try withFile("hunter2\n") { path in
            for loaded in [
                try load("kafka: { sasl.password: \"file:\(path)\" }"),
                try load("", ["kafka.sasl.password=file:\(path)"]),
                try load("", [], ["INGEST_KAFKA_SASL_PASSWORD": "file:\(path)"]),
                try load("", [], ["INGEST_KAFKA_SASL_PASSWORD_FILE": path]),
            ] {
                #expect(loaded.configuration.kafka.properties["sasl.password"] == "hunter2")
                #expect(loaded.configuration.secretValues == ["hunter2"])
                #expect(!loaded.describe().contains("hunter2"))
            }
        }
        try withFile(Self.token + "\r\n") { path in
            for loaded in [
                try load("http: { bearerToken: \"file:\(path)\" }"),
                try load("", [], ["INGEST_HTTP_BEARER_TOKEN_FILE": path]),
                try load("", [], ["INGEST_HTTP_BEARER_TOKEN": Self.token]),
            ] {
                #expect(loaded.configuration.http.bearerToken == Self.token)
                #expect(loaded.configuration.secretValues == [Self.token])
                #expect(loaded.describe().contains("http.bearerToken = [redacted]"))
                #expect(!"\(loaded.configuration)".contains(Self.token))
            }
        }
    }

    @Test
    func `each line of a secret file is redacted, whatever the setting's name`() throws {
        try withFile("-----BEGIN KEY-----\nplanted-line-1\nplanted-line-2\n") { path in
            let loaded = try load("", [], ["INGEST_KAFKA_SSL_CERTIFICATE_PEM_FILE": path])
            #expect(loaded.configuration.kafka.properties["ssl.certificate.pem"]?.hasSuffix("line-2") == true)
            #expect(loaded.configuration.secretValues.contains("planted-line-1"))
            #expect(!loaded.describe().contains("planted"))
            #expect(!"\(loaded.configuration.kafka.properties)".contains("planted"))
            var dumped = ""
            dump(loaded.configuration, to: &dumped)
            #expect(!dumped.contains("planted"))
        }
    }

    @Test
    func `a property that ends in .file itself is not read`() throws {
        let name = "INGEST_KAFKA_SASL_OAUTHBEARER_ASSERTION_PRIVATE_KEY_FILE"
        let loaded = try load("", [], [name: "/run/key.pem"])
        #expect(
            loaded.configuration.kafka.properties["sasl.oauthbearer.assertion.private.key.file"] == "/run/key.pem")
    }

    @Test
    func `the error of an unreadable file names the setting, the path and a remedy`() throws {
        let error = #expect(throws: ConfigurationError.self) {
            _ = try load("", [], ["INGEST_KAFKA_SASL_PASSWORD_FILE": "/nowhere/secret"])
        }
        let problem = try #require(error?.problems.first)
        #expect(problem.code == .unreadable)
        #expect(problem.origin == .environment(name: "INGEST_KAFKA_SASL_PASSWORD_FILE"))
        #expect(problem.message.contains("kafka.sasl.password") && problem.message.contains("/nowhere/secret"))
        try withFile("\n") { path in
            #expect(throws: ConfigurationError.self) { _ = try load("http: { bearerToken: \"file:\(path)\" }") }
        }
    }

    @Test
    func `a secret and its file together are refused, and other settings have no files`() throws {
        let both = ["INGEST_KAFKA_SASL_PASSWORD": "a-secret", "INGEST_KAFKA_SASL_PASSWORD_FILE": "/b"]
        let error = #expect(throws: ConfigurationError.self) { _ = try load("", [], both) }
        #expect(error?.problems.contains { $0.code == .conflict } == true)
        #expect(error?.description.contains("a-secret") == false)
        #expect(throws: ConfigurationError.self) { _ = try load("", [], ["INGEST_STORE_PATH_FILE": "/b"]) }
    }

    @Test(arguments: ["short", "with a space in it", "quote\"quote\"quote"])
    func `a token that could be guessed or sent is refused, without showing it`(token: String) throws {
        let error = #expect(throws: ConfigurationError.self) { _ = try load("", ["http.bearerToken=\(token)"]) }
        #expect(error?.problems.first?.code == .invalidValue)
        #expect(error?.description.contains(token) == false)
    }

    @Test
    func `an address that others reach needs a token, or somebody who says otherwise`() throws {
        for host in ["0.0.0.0", "::", "10.0.0.7", "worker.example", "127.0.0.1.example", "1270.0.0.1"] {
            let error = #expect(throws: ConfigurationError.self) { _ = try load("http: { host: \"\(host)\" }") }
            #expect(error?.problems.first?.code == .conflict)
            #expect(error?.description.contains("http.bearerToken") == true)
            _ = try load("http: { host: \"\(host)\", bearerToken: \(Self.token) }")
            _ = try load("http: { host: \"\(host)\", allowUnauthenticated: true }")
            _ = try load("http: { host: \"\(host)\", enabled: false }")
        }
        for host in ["127.0.0.1", "127.1.2.3", "localhost", "::1"] { _ = try load("http: { host: \"\(host)\" }") }
    }

    /// The configurations that containers, pods and the package run with.
    private static let deployed: [String] = ["deploy", "samples/kubernetes"].flatMap { folder in
        let names = FileManager.default.enumerator(atPath: WorkerHarness.root.appending(path: folder).path)
        return (names?.compactMap { $0 as? String } ?? []).map { "\(folder)/\($0)" }.filter {
            (try? text($0).contains(/(?m)^model: \/etc\/ingest-worker\//)) == true
        }
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: WorkerHarness.root.appending(path: path), encoding: .utf8)
    }

    @Test
    func `each deployed configuration gives other machines nothing without a token`() throws {
        #expect(Self.deployed.count == 4)
        for path in Self.deployed {
            let loaded = try load(try Self.text(path), [], ["INGEST_HTTP_BEARER_TOKEN": Self.token])
            #expect(!loaded.configuration.http.allowUnauthenticated, "\(path)")
            if loaded.configuration.http.isLoopback { continue }
            #expect(throws: ConfigurationError.self) { _ = try load(try Self.text(path)) }
        }
    }

    @Test
    func `the operator's token is a secret, and another one than the reader's`() throws {
        let loaded = try load("", [], ["INGEST_HTTP_OPERATOR_TOKEN": Self.token])
        #expect(loaded.configuration.http.operatorToken == Self.token)
        #expect(loaded.configuration.secretValues == [Self.token])
        #expect(loaded.describe().contains("http.operatorToken = [redacted]"))
        #expect(!"\(loaded.configuration)".contains(Self.token))
        let error = #expect(throws: ConfigurationError.self) {
            _ = try load("http: { bearerToken: \(Self.token), operatorToken: \(Self.token) }")
        }
        #expect(error?.problems.first?.code == .conflict && error?.description.contains(Self.token) == false)
        // A server that admits readers without a token still refuses their administrative requests.
        let open = try load("http: { host: 0.0.0.0, allowUnauthenticated: true }")
        #expect(open.configuration.http.operatorToken == nil)
    }

    @Test
    func `readers of the feed leave connections to operators, the console and probes`() throws {
        #expect(throws: ConfigurationError.self) { _ = try load("http: { maxConnections: 20 }") }
        #expect(throws: ConfigurationError.self) { _ = try load("http: { maxConnections: 20, maxFeedReaders: 18 }") }
        #expect(throws: Never.self) { _ = try load("http: { maxConnections: 20, maxFeedReaders: 17 }") }
        let loaded = try load("http: { maxConnections: 20, maxFeedReaders: 10 }")
        let server = HTTPServerConfiguration(loaded.configuration.http)
        #expect(server.maximumConnections == 20 && server.maximumLongLivedAnswers == 10)
    }

    @Test(arguments: [
        ("postgres://u@h1:1,h2:2/d?sslmode=verify-full", [] as [String]),
        ("postgres://u:pa%40ss@h1:1,h2:2/d", ["pa%40ss", "pa@ss"]),
        ("postgres://u@h/d?password=hunter2&sslpassword=other-1&schema=s", ["hunter2", "other-1"]),
    ])
    func `passwords of a store's URL are secrets, and so is the URL that has them`(_ url: String, _ secrets: [String]) {
        var configuration = WorkerConfiguration()
        configuration.store.url = url
        #expect(Set(configuration.secretValues) == Set(secrets.isEmpty ? [] : secrets + [url]))
    }
}
