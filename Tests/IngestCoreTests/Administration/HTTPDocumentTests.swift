import Foundation
import ObjectGraph
import Testing

@testable import IngestCore
@testable import Operations

/// The document of the HTTP paths has every path of the server, and no other one.
@Suite struct HTTPDocumentTests {
    @Test func `the document and the server have the same paths and methods`() throws {
        let fixture = try FeedFixture()
        let api = ConsoleAPI(store: fixture.store, sampler: ConsoleSampler(fixture.metrics))
        let desk = try ControlDesk(configuration: WorkerConfiguration(), store: fixture.store, logger: .silent)
        let routes =
            HTTPRoute.health(HealthMonitor()) + [.metrics(MetricsRegistry()), .status { [] }] + ConsolePage.routes
            + api.routes + AdministrationAPI(desk: desk, hosts: HTTPHosts([])).routes
        let served = routes.map { "\($0.method.rawValue) \($0.path)" } + ["GET \(ChangeFeed.path)"]

        let page = WorkerHarness.root.appending(path: "docs/reference/openapi.yaml")
        let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
        var documented: [String] = []
        var path = ""
        for line in lines {
            if let found = line.wholeMatch(of: /\ \ (\/[^ ]*):/) { path = String(found.1) }
            if let found = line.wholeMatch(of: /\ \ \ \ (get|post|put|delete|patch):/) {
                documented.append("\(found.1.uppercased()) \(path)")
            }
        }
        #expect(documented.sorted() == served.sorted())
    }

    @Test func `the page names every administrative path and every code of a refusal`() throws {
        let page = try String(
            contentsOf: WorkerHarness.root.appending(path: "docs/reference/http.md"), encoding: .utf8)
        for name in ControlRequest.names { #expect(page.contains("`\(AdministrationAPI.path(of: name))`"), "\(name)") }
        for code in ["http.unauthorized", "http.host", "http.origin", "http.content_type", "http.idempotency_key"] {
            #expect(page.contains("`\(code)`"), "\(code)")
        }
    }
}
