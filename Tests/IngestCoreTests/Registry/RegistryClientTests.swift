import Foundation
import TestSupport
import Testing

@testable import IngestCore
@testable import RecordDecoding

@Suite struct RegistryClientTests {
    private static let path = "/schemas/ids/7"
    private static let found = RegistryAnswer.schema(.init(kind: .avro, text: TestRegistry.avro, references: []))

    /// Asks from a thread of its own, as the worker does.
    private func ask(_ configuration: SchemaRegistryConfiguration) async -> RegistryAnswer {
        await ask(RegistryClient(configuration))
    }

    private func ask(_ client: RegistryClient) async -> RegistryAnswer {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: client.get(Self.path)) }
        }
    }

    private func configuration(_ url: String) -> SchemaRegistryConfiguration {
        var configuration = SchemaRegistryConfiguration()
        (configuration.url, configuration.timeoutSeconds) = (url, 5)
        return configuration
    }

    private func reason(_ answer: RegistryAnswer) -> String {
        switch answer {
        case .unavailable(let reason), .silent(let reason): return reason
        default: break
        }
        Issue.record("\(answer) is an answer")
        return ""
    }

    @Test func `a schema comes over a socket, with the user's name and password`() async throws {
        let server = try await RegistryServer([Self.path: .schema(TestRegistry.avro)])
        var configuration = configuration(server.url + "/")
        (configuration.username, configuration.password) = ("user", "sesame")
        #expect(await ask(configuration) == Self.found)
        configuration.bearerToken = "token"
        #expect(await ask(configuration) == Self.found)
        #expect(
            server.requests == [
                .init(path: Self.path, authorization: "Basic dXNlcjpzZXNhbWU="),
                .init(path: Self.path, authorization: "Bearer token"),
            ])
        await server.stop()
    }

    @Test func `a redirect takes the password nowhere`() async throws {
        let other = try await RegistryServer([Self.path: .schema(TestRegistry.avro)])
        let server = try await RegistryServer([
            Self.path: .init(status: 302, body: "", location: other.url + Self.path)
        ])
        var configuration = configuration(server.url)
        (configuration.username, configuration.password) = ("user", "sesame")
        #expect(reason(await ask(configuration)).contains("redirects"))
        #expect(other.requests.isEmpty)
        await server.stop()
        await other.stop()
    }

    @Test func `the next address is asked where one has no answer`() async throws {
        let server = try await RegistryServer([Self.path: .schema(TestRegistry.avro)])
        let failing = try await RegistryServer([Self.path: .init(status: 503, body: "")])
        let closed = try ReservedPort()
        let urls = ["http://localhost:\(closed.number)", failing.url, server.url]
        #expect(await ask(configuration(urls.joined(separator: ", "))) == Self.found)
        #expect(failing.requests.count == 1 && server.requests.count == 1)
        // A registry that says that there is no such schema has answered.
        failing.set(Self.path, .missing)
        #expect(await ask(configuration(urls.joined(separator: ","))) == .missing)
        await server.stop()
        await failing.stop()
    }

    /// A worker waits for each silent address as long as the registry may take.
    @Test func `the address that answered last is asked first`() async throws {
        let server = try await RegistryServer([Self.path: .schema(TestRegistry.avro)])
        let failing = try await RegistryServer([Self.path: .init(status: 503, body: "")])
        let client = RegistryClient(configuration("\(failing.url),\(server.url)"))
        for _ in 0..<3 { #expect(await ask(client) == Self.found) }
        #expect(failing.requests.count == 1 && server.requests.count == 3)
        // The others are asked where it fails.
        server.set(Self.path, .init(status: 503, body: ""))
        failing.set(Self.path, .missing)
        #expect(await ask(client) == .missing)
        await server.stop()
        await failing.stop()
    }

    @Test func `a registry of which an address is silent is silent`() async throws {
        let failing = try await RegistryServer([Self.path: .init(status: 503, body: "")])
        let closed = try ReservedPort()
        let urls = ["http://localhost:\(closed.number)", failing.url]
        guard case .silent(let reason) = await ask(configuration(urls.joined(separator: ","))) else {
            Issue.record("the registry answers")
            return
        }
        #expect(reason.contains("503"))
        #expect(await ask(configuration(failing.url)) == .unavailable(reason: reason))
        await failing.stop()
    }

    @Test(.timeLimit(.minutes(60)))
    func `a registry that is away or silent is told apart, and no reason shows the password`() async throws {
        let closed = try ReservedPort()
        var configuration = configuration("http://localhost:\(closed.number)")
        (configuration.username, configuration.password) = ("user", "sesame")
        // A refused connection is not tried again for as long as an answer may take.
        configuration.timeoutSeconds = 3_600
        let refused = reason(await ask(configuration))
        #expect(refused.contains("cannot be reached") && !refused.contains("sesame"))

        let silent = try await RegistryServer([Self.path: .init(body: "", isSilent: true)])
        (configuration.url, configuration.timeoutSeconds) = (silent.url, 1)
        #expect(reason(await ask(configuration)).contains("timeoutSeconds"))
        await silent.stop()
    }

    @Test func `an answer without end is refused`() async throws {
        let server = try await RegistryServer([
            Self.path: .schema(String(repeating: "a", count: 5 << 20))
        ])
        guard case .unusable(let reason) = await ask(configuration(server.url)) else {
            Issue.record("the answer is taken")
            return
        }
        #expect(reason.contains("bytes"))
        await server.stop()
    }

    @Test func `only a certificate of the configured authority is trusted`() async throws {
        let certificates = try TestCertificates()
        let certificate = try certificates.make("registry", for: "DNS:localhost")
        let server = try await RegistryServer([Self.path: .schema(TestRegistry.avro)], certificate: certificate)
        var configuration = configuration(server.url)
        #expect(reason(await ask(configuration)).contains("cannot be reached"))
        configuration.caFile = certificates.authority
        #expect(await ask(configuration) == Self.found)
        configuration.caFile = try TestCertificates().authority
        #expect(reason(await ask(configuration)).contains("cannot be reached"))
        configuration.caFile = certificates.folder.appending(path: "missing.pem").path
        #expect(reason(await ask(configuration)).contains("missing.pem"))
        await server.stop()
    }
}
