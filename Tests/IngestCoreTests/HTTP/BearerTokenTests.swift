import Hummingbird
import Testing

@testable import IngestCore
@testable import Operations

@Suite("Bearer token", .timeLimit(.minutes(60)))
struct BearerTokenTests {
    private static let token = "0123456789abcdef"
    private static let operatorToken = "an-operators-token-0123"

    private static func get(_ path: String, _ port: Int, _ authorization: String?) async throws -> RawAnswer {
        let connection = try #require(RawConnection(port: port))
        let line = authorization.map { "Authorization: \($0)\r\n" } ?? ""
        connection.send("GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\(line)\r\n")
        return try #require(RawAnswer(await connection.readToEnd()))
    }

    @Test
    func `every path but the probes asks for the token, unknown ones too`() async throws {
        let route = HTTPRoute("/more") { _ in .text("more") }
        try await withServer({ $0.bearerToken = Self.token }, routes: [route]) { port in
            for path in ["/metrics", "/status", "/more", "/nothing", "/"] {
                let refused = try await Self.get(path, port, nil)
                #expect(refused.status == 401)
                #expect(refused.headers["www-authenticate"] == "Bearer realm=\"ingest-worker\"")
                #expect(refused.body.contains("\"code\":\"http.unauthorized\""))
                #expect(!refused.body.contains("paths"))
                #expect(try await Self.get(path, port, "Bearer \(Self.token)").status != 401)
            }
            for path in ["/livez", "/ping", "/readyz", "/ready", "/health"] {
                #expect(try await Self.get(path, port, nil).status != 401)
            }
        }
    }

    @Test(arguments: [
        "", "Bearer", "Bearer ", "Basic 0123456789abcdef", "0123456789abcdef", "Bearer 0123456789abcde",
        "Bearer 0123456789abcdefg", "Bearer 0123456789abcdeF", "Bearer 0123456789abcdef 0123456789abcdef",
    ])
    func `anything but the token is refused`(header: String) async throws {
        try await withServer({ $0.bearerToken = Self.token }) { port in
            let answer = try await Self.get("/status", port, header)
            #expect(answer.status == 401)
        }
    }

    @Test(
        arguments: [
            (nil, false), ("", false), ("Bearer", false), ("Bearer ", false), ("Basic 0123456789abcdef", false),
            ("0123456789abcdef", false), ("Bearer 0123456789abcdee", true), ("bearer x", true),
        ] as [(String?, Bool)])
    func `a wrong token is told from a missing one`(header: String?, isWrong: Bool) async throws {
        try await withServer({ $0.bearerToken = Self.token }) { port in
            let answer = try await Self.get("/status", port, header)
            #expect(answer.status == 401 && answer.body.contains("\"code\":\"http.unauthorized\""))
            let missing = "A token is required: this path asks for the header 'Authorization: Bearer TOKEN'."
            let wrong = "The token does not match the one that this path asks for."
            #expect(answer.body.contains("\"detail\":\"\(isWrong ? wrong : missing)\""), "\(answer.body)")
            // RFC 6750, section 3.1: without a token there is no error code.
            let error = isWrong ? ", error=\"invalid_token\", error_description=\"\(wrong)\"" : ""
            #expect(answer.headers["www-authenticate"] == "Bearer realm=\"ingest-worker\"\(error)")
        }
    }

    @Test
    func `the scheme is read in any case`() async throws {
        try await withServer({ $0.bearerToken = Self.token }) { port in
            for scheme in ["bearer", "BEARER", "Bearer "] {
                let answer = try await Self.get("/status", port, "\(scheme) \(Self.token)")
                #expect(answer.status == 200)
            }
        }
    }

    @Test
    func `a comparison looks at every byte`() {
        let token = BearerToken(Self.token)
        #expect(token.isEqual(to: Array(Self.token.utf8)))
        for text in ["", "0123456789abcdee", "1123456789abcdef", "0123456789abcdef\u{0}", "0"] {
            #expect(!token.isEqual(to: Array(text.utf8)))
        }
        #expect(HTTPConfiguration.fault(inToken: Self.token) == nil)
    }

    @Test
    func `probes without the token do not tell the reasons, which may name hosts; no reason shows a secret`()
        async throws
    {
        let monitor = HealthMonitor(secretValues: ["planted"])
        monitor.report(.started)
        monitor.report(.brokerUnreachable(reason: "host-7 refused planted"))
        try await withServer(health: monitor) { port in
            let open = try await Self.get("/readyz", port, nil)
            #expect(open.body.contains("[-]broker failed: host-7 refused [redacted]"))
        }
        let routes = HTTPRoute.health(monitor, bearerToken: Self.token, operatorToken: Self.operatorToken)
        let hidden = try await answer(routes, nil)
        #expect(hidden.contains("[-]broker failed: the reason is withheld"))
        for token in [Self.token, Self.operatorToken] {
            #expect(try await answer(routes, "Bearer \(token)").contains("host-7"))
        }
    }

    private func answer(_ routes: [HTTPRoute], _ authorization: String?) async throws -> String {
        var text = ""
        let all = routes.map { HTTPRoute("/other\($0.path)", access: $0.access, handler: $0.handler) }
        try await withServer({ $0.bearerToken = Self.token }, routes: all) { port in
            text = try await Self.get("/other/readyz", port, authorization).body
        }
        return text
    }
}
