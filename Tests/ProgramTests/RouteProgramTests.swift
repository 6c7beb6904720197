import Foundation
import Testing

/// Routes with programs, as a user runs them.
@Suite struct RouteProgramTests {
    private let workspace: Workspace

    init() throws { workspace = try Workspace() }

    private func configuration(_ program: String) throws -> String {
        let lines = program.split(separator: "\n").map { "          \($0)\n" }.joined()
        return try workspace.write(
            """
            model: config/models/chat.yaml
            store: { path: \(workspace.path("store.sqlite")) }
            notifications: { topic: null }
            limits: { maxProgramMilliseconds: 200 }
            files:
              - match: "*.jsonl"
                format: json
                routes:
                  - jq: |

            """ + lines, to: "worker.yaml")
    }

    @Test func `a bad program ends check with its place`() throws {
        let path = try configuration(".a\n| input")
        let result = try Program.run(["check", "--offline", "--config", path])
        #expect(result.status == 78)
        #expect(result.errors.contains("\(path):11:1: ") && result.errors.contains("'input'"), "\(result.errors)")
    }

    @Test func `check warns of a program that reads an offset with strptime`() throws {
        func check(_ format: String) throws -> Program.Result {
            let program =
                #"{type: "message.upserted", data: {id: .id, at: (.at | strptime("\#(format)") | mktime)}}"#
            return try Program.run(["check", "--offline", "--config", try configuration(program)])
        }
        let lost = try check("%Y-%m-%dT%H:%M:%S%z")
        #expect(lost.status == 0, "\(lost.errors)")
        #expect((lost.output + lost.errors).contains("reads an offset with strptime, which jq 1.6 forgets"))
        #expect((lost.output + lost.errors).contains("state its form in 'types'"))
        let kept = try check("%Y-%m-%dT%H:%M:%SZ")
        #expect(kept.status == 0 && !(kept.output + kept.errors).contains("strptime"))
    }

    @Test func `records without end become dead letters beside the others`() throws {
        let path = try configuration(
            """
            if .loop then def f: f; f else
            .texts[] | {type: "message.upserted", data: {id: .id, chat: "c", body: .text}} end
            """)
        let records = try workspace.write(
            """
            {"texts": [{"id": "m1", "text": "one"}, {"id": "m2", "text": "two"}]}
            {"loop": true}
            {"texts": [{"id": "m3", "text": "three"}]}
            {"texts": []}

            """, to: "texts.jsonl")
        let shown = try Program.run(["check", "--config", path, "--sample", records])
        #expect(shown.status == 0 && shown.output.contains("line 1  upsert  Message m2  body=\"two\"  chat=\"c\""))
        #expect(shown.output.contains("line 2  dead letter  jq.time"), "\(shown.output)\(shown.errors)")
        #expect(shown.output.contains("2 events, 1 filtered, 1 dead letter"))
        let replayed = try Program.run(["replay", records, "--config", path])
        #expect(replayed.status == 65 && replayed.errors.contains("1 record is a dead letter"), "\(replayed.errors)")
        let store = workspace.path("store.sqlite")
        #expect(
            try Foreign.sqlite(store, "SELECT group_concat(id) FROM (SELECT id FROM Message ORDER BY id)") == "m1,m2,m3"
        )
        #expect(try Foreign.sqlite(store, "SELECT code, line FROM _dead_letter") == "jq.time|2")
    }
}
