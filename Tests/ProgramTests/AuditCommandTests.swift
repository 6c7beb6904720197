import Foundation
import Testing

/// Commands that write a store without a worker leave audit entries, as requests to a worker do.
@Suite struct AuditCommandTests {
    @Test func `a replay, a repair and a migration are in the audit`() throws {
        let workspace = try Workspace()
        let (models, file) = (try workspace.shopModels(), try workspace.shopEvents(lines: 6))
        func run(_ arguments: [String], model: Int) throws -> String {
            let settings = ["--set", "store.path=\(workspace.path("shop.sqlite"))", "--set", "model=\(models[model])"]
            let result = try Program.run(arguments + settings)
            try #require(result.status == 0, "\(arguments): \(result.errors)")
            return result.output
        }
        _ = try run(["replay", file], model: 0)
        _ = try run(["verify", "--repair"], model: 0)
        // The second finds nothing left to migrate.
        for _ in 0..<2 { _ = try run(["migrate"], model: 1) }
        let audit = try run(["audit", "--json"], model: 1)
        let lines = audit.split(separator: "\n")
        try #require(lines.count == 3, "\(audit)")
        #expect(lines[0].contains(#""request":"migrate","arguments":{"from":"shop 1","to":"shop 2"}"#), "\(lines[0])")
        #expect(
            lines[1].contains(#""request":"verify --repair""#) && lines[1].contains(#""repaired":0"#), "\(lines[1])")
        #expect(lines[2].contains(#""request":"replay","arguments":{"files":["#), "\(lines[2])")
        #expect(lines.allSatisfy { $0.contains(#""state":"done""#) && $0.contains("\"actor\":\"user \(geteuid()), ") })
    }
}
