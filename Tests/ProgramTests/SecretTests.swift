import Foundation
import KafkaClient
import TestSupport
import Testing

/// Plants secrets wherever one can be given, and looks for them wherever the program says something.
@Suite(.serialized, .timeLimit(.minutes(60))) struct SecretTests {
    private let workspace: Workspace
    private let secrets = (0..<6).map { "planted-secret-\($0)-\(UUID().uuidString)" }

    init() throws { workspace = try Workspace() }

    /// A secret in the file, in a flag, in a variable, in a file that each of them names, and in a property whose name
    /// does not say that it is one.
    private func arguments(_ broker: String) throws -> (arguments: [String], environment: [String: String]) {
        let inFile = try workspace.write(secrets[1] + "\n", to: "one")
        let named = try workspace.write(secrets[2] + "\n", to: "two")
        let configuration = try workspace.write(
            """
            kafka:
              bootstrap.servers: "\(broker)"
              group.id: secrets
              security.protocol: sasl_plaintext
              sasl.mechanisms: SCRAM-SHA-256
              sasl.username: somebody
              sasl.password: "file:\(inFile)"
              ssl.key.password: \(secrets[0])
              debug: all
            log: { level: trace }
            http: { port: 0 }
            store: { path: "\(workspace.path("store.sqlite"))" }
            """, to: "worker.yaml")
        return (
            ["--config", configuration, "--set", "kafka.ssl.keystore.password=\(secrets[3])"],
            [
                "INGEST_HTTP_BEARER_TOKEN": secrets[4], "INGEST_KAFKA_CLIENT_ID_FILE": named,
                "INGEST_KAFKA_SASL_OAUTHBEARER_CONFIG": secrets[5],
            ]
        )
    }

    private func expectNoSecret(_ text: String, _ place: String) {
        for (index, secret) in secrets.enumerated() {
            #expect(!text.contains(secret), "the secret \(index) stands in \(place)")
        }
    }

    @Test func `none stands in what checks print`() throws {
        let (arguments, environment) = try arguments("localhost:1")
        let check = try Program.run(["check", "--offline", "--settings"] + arguments, environment: environment)
        #expect(check.status == 0, "\(check.errors)")
        #expect(check.output.contains("kafka.sasl.password = [redacted]"))
        #expect(check.output.contains("http.bearerToken = [redacted]"))
        expectNoSecret(check.output, "check --settings")
        expectNoSecret(check.errors, "the errors of check")
    }

    @Test func `none stands in errors`() throws {
        let (arguments, environment) = try arguments("localhost:1")
        for bad in [
            ["--set", "kafka.ssl.keystore.passwords=\(secrets[3])"], ["--set", "kafka.ssl.key.pem=\(secrets[3])"],
            ["--set", "http.bearerToken=\(secrets[4]) \""], ["--set", "model=/nowhere"], ["--set", "http.port=x"],
            ["--set", "kafka.debug=\(secrets[0])"],
        ] {
            let result = try Program.run(["check"] + arguments + bad, environment: environment)
            #expect(result.status != 0)
            expectNoSecret(result.output, "the output of check \(bad)")
            expectNoSecret(result.errors, "the errors of check \(bad)")
        }
    }

    /// The worker at its most talkative, with a login that fails, asked for everything that it serves.
    @Test func `none stands in the log or in answers`() throws {
        let broker = try BrokerProcess(.noida)
        let (arguments, environment) = try arguments(broker.bootstrapServers)
        let program = try Program(["run"] + arguments, environment: environment)
        var port = ""
        try TestSupport.wait(for: "the HTTP port") {
            port = program.errors.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)/).map { String($0.1) } ?? ""
            return !port.isEmpty || !program.isRunning
        }
        let script = """
            import sys, urllib.request, urllib.error
            for path in ['/readyz?verbose', '/livez?verbose', '/status', '/metrics', '/changes?wait=0', '/nothing']:
                request = urllib.request.Request('http://127.0.0.1:\(port)' + path)
                request.add_header('Authorization', 'Bearer ' + sys.argv[1])
                try: answer = urllib.request.urlopen(request, timeout=20)
                except urllib.error.HTTPError as error: answer = error
                print(path, answer.status, answer.headers, answer.read().decode())
            """
        var answers = ""
        try TestSupport.wait(for: "the failed login in /readyz", everyMilliseconds: 200) {
            answers = try Foreign.run("python3", ["-c", script, secrets[4]])
            return answers.contains("SASL authentication error")
        }
        #expect(answers.contains("/status 200") && answers.contains("/changes?wait=0 200"))
        expectNoSecret(answers, "the answers")
        program.send(SIGTERM)
        let result = try program.wait()
        #expect(result.errors.contains("SASL"))
        expectNoSecret(result.errors, "the log")
        expectNoSecret(result.output, "the output")
    }

    @Test func `stores are readable by their owner only`() throws {
        let broker = try BrokerProcess(.noida)
        let store = workspace.path("private.sqlite")
        let program = try Program([
            "run", "--set", "store.path=\(store)", "--set", "http.port=0", "--set",
            "kafka.bootstrap.servers=\(broker.bootstrapServers)",
        ])
        try TestSupport.wait(for: "the store") {
            FileManager.default.fileExists(atPath: store + "-shm") || !program.isRunning
        }
        for suffix in ["", "-wal", "-shm"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: store + suffix)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(suffix)")
        }
        program.send(SIGTERM)
        _ = try program.wait()
    }
}
