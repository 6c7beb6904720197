import Hummingbird
import Testing

@testable import IngestCore

@Suite("Console", .timeLimit(.minutes(1)))
struct ConsolePageTests {
    private static let token = "0123456789abcdef"

    private static func get(_ path: String, _ port: Int) async throws -> RawAnswer {
        let connection = try #require(RawConnection(port: port))
        connection.send("GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return try #require(RawAnswer(await connection.readToEnd()))
    }

    @Test("the page and its files need no token, what they show does")
    func access() async throws {
        let status = HTTPRoute.status { Array("{}".utf8) }
        try await withServer({ $0.bearerToken = Self.token }, routes: ConsolePage.routes + [status]) { port in
            let page = try await Self.get("/", port)
            #expect(page.status == 200 && page.headers["content-type"] == "text/html; charset=utf-8")
            #expect(
                page.headers["content-security-policy"]?.hasPrefix("default-src 'none'; script-src 'self';") == true)
            for file in page.body.matches(of: /(?:href|src)="(console\.[a-z]+)"/) {
                #expect(try await Self.get("/\(file.1)", port).status == 200)
            }
            #expect(try await Self.get("/status", port).status == 401)
        }
    }

    @Test("it asks for paths that the worker has, and writes text only")
    func script() {
        let asked = Set(ConsolePage.script.matches(of: /ask\("([a-z]+)/).map { "/" + $0.1 })
        #expect(asked == ["/readyz", "/status", "/changes"])
        #expect(!ConsolePage.script.contains("innerHTML") && !ConsolePage.html.contains("onclick"))
        for id in ConsolePage.script.matches(of: /element\("([a-z]+)"\)/) {
            #expect(ConsolePage.html.contains("id=\"\(id.1)\""), "\(id.1)")
        }
    }
}
