import Hummingbird
import ObjectGraph
import Testing

@testable import IngestCore
@testable import Operations

@Suite("Console", .timeLimit(.minutes(60)))
struct ConsolePageTests {
    private static let token = "0123456789abcdef"

    private static var texts: [String] {
        ConsolePage.files.map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    private static let html = String(decoding: PackageResources.index_html, as: UTF8.self)

    @Test func `the page and its files need no token, what they show does`() async throws {
        let status = HTTPRoute.status { Array("{}".utf8) }
        let store = try Store.inMemory(model: WorkerHarness.model)
        let api = ConsoleAPI(
            store: store, sampler: ConsoleSampler(WorkerMetrics(version: "1", librdkafka: "2", sqlite: "3")))
        let routes = ConsolePage.routes + api.routes + [status]
        try await withServer({ $0.bearerToken = Self.token }, routes: routes) { port in
            let page = try #require(await RawAnswer.get("/", port: port))
            #expect(page.status == 200 && page.headers["content-type"] == "text/html; charset=utf-8")
            #expect(page.headers["content-security-policy"] == ConsolePage.policy)
            for file in page.body.matches(of: /(?:href|src)="(console\/[a-z]+\.[a-z]+)"/) {
                #expect(await RawAnswer.get("/\(file.1)", port: port)?.status == 200)
            }
            for path in ["/status"] + api.routes.map(\.path) {
                #expect(await RawAnswer.get(path, port: port)?.status == 401, "\(path)")
            }
        }
    }

    @Test func `the page loads files that are there and asks for paths that the worker has`() throws {
        let script = Self.texts.joined(separator: "\n")
        let names = Set(ConsolePage.files.map { $0.path.dropFirst("/console/".count) })
        for file in script.matches(of: /from "\.\/([a-z]+\.js)"/) { #expect(names.contains(file.1)) }
        let store = try Store.inMemory(model: WorkerHarness.model)
        let api = ConsoleAPI(
            store: store, sampler: ConsoleSampler(WorkerMetrics(version: "1", librdkafka: "2", sqlite: "3")))
        let known = Set(api.routes.map(\.path) + ["/status", "/changes"])
        let asked = Set(script.matches(of: /ask(?:JSON|ForView)?\([`"]([a-z\/.-]+)/).map { "/" + $0.1 })
        #expect(asked == known)
    }

    @Test func `the page writes text only and names elements that it has`() {
        for text in Self.texts {
            #expect(!text.contains("innerHTML") && !text.contains("insertAdjacentHTML") && !text.contains("eval("))
            for id in text.matches(of: /element\("([a-z]+)"\)/) {
                #expect(Self.html.contains("id=\"\(id.1)\""), "\(id.1)")
            }
        }
        #expect(!Self.html.contains("onclick") && !Self.html.contains("style="))
    }
}
