import Foundation
import Testing

/// `check --sample` with recorded outcomes.
@Suite struct SampleCommandTests {
    private let workspace: Workspace

    init() throws { workspace = try Workspace() }

    private func run(_ arguments: [String]) throws -> Program.Result { try Program.run(arguments) }

    @Test func `a sample is compared with recorded outcomes`() throws {
        let sample = ["check", "--config", "config/routes/maximo.yaml", "--topic", "maximo-workorders", "--sample"]
        let records = "samples/routes/maximo.jsonl"
        let expected = "samples/routes/expected/maximo.jsonl"
        let right = try run(sample + [records, "--expect", expected])
        #expect(right.status == 0, "\(right.errors)")
        #expect(right.output.contains("split wpmaterial: alias  itemqty  in 2"))
        let kept = workspace.path("kept.jsonl")
        #expect(try run(sample + [records, "--record", kept]).status == 0)
        #expect(try Foreign.run("stat", ["-c", "%a", kept]) == "600\n")
        #expect(
            try String(contentsOfFile: kept, encoding: .utf8)
                == String(contentsOf: Program.root.appending(path: expected), encoding: .utf8))
        let other = try workspace.write("{\"siteid\":\"B\",\"wonum\":\"1\"}\n", to: "other.jsonl")
        let wrong = try run(sample + [other, "--expect", expected])
        #expect(wrong.status == 65 && wrong.errors.contains("6 of the outcomes are not the expected ones"))
        #expect(wrong.output.contains("timeField  changedate  in no record"))
        #expect(try run(sample + [records, "--expect", workspace.path("none.jsonl")]).status == 65)
        #expect(try run(["check", "--offline", "--expect", expected]).status == 64)
    }
}
