import Hummingbird
import Testing

@testable import IngestCore

@Suite("Console", .timeLimit(.minutes(1)))
struct ConsolePageTests {
    private static let token = "0123456789abcdef"

    @Test
    func `the page and its files need no token, what they show does`() async throws {
        let status = HTTPRoute.status { Array("{}".utf8) }
        try await withServer({ $0.bearerToken = Self.token }, routes: ConsolePage.routes + [status]) { port in
            let page = try #require(await RawAnswer.get("/", port: port))
            #expect(page.status == 200 && page.headers["content-type"] == "text/html; charset=utf-8")
            #expect(
                page.headers["content-security-policy"]?.hasPrefix("default-src 'none'; script-src 'self';") == true)
            for file in page.body.matches(of: /(?:href|src)="(console\.[a-z]+)"/) {
                #expect(await RawAnswer.get("/\(file.1)", port: port)?.status == 200)
            }
            #expect(await RawAnswer.get("/status", port: port)?.status == 401)
        }
    }

    @Test
    func `it asks for paths that the worker has, and writes text only`() {
        let asked = Set(ConsolePage.script.matches(of: /ask\("([a-z]+)/).map { "/" + $0.1 })
        #expect(asked == ["/readyz", "/status", "/changes"])
        #expect(!ConsolePage.script.contains("innerHTML") && !ConsolePage.html.contains("onclick"))
        for id in ConsolePage.script.matches(of: /element\("([a-z]+)"\)/) {
            #expect(ConsolePage.html.contains("id=\"\(id.1)\""), "\(id.1)")
        }
    }
}
