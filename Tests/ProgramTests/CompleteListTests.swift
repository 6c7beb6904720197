import Foundation
import TestSupport
import Testing

/// A split with `replace: delete`, whose lists are complete, on each storage that a worker writes.
@Suite(.serialized) struct CompleteListTests {
    private let workspace: Workspace

    init() throws { workspace = try Workspace() }

    private func configuration(_ store: String) throws -> String {
        let model = try workspace.write(
            """
            model: lists
            entities:
              Order:
                identity: id
                attributes:
                  id: { type: string }
                  at: { type: integer64, optional: true }
                relationships:
                  lines: { to: Line, many: true, inverse: order, delete: cascade }
              Line:
                identity: id
                attributes:
                  id: { type: string }
                  quantity: { type: integer64, optional: true }
                relationships:
                  order: { to: Order, inverse: lines }
                  notes: { to: Note, many: true, inverse: line, delete: cascade }
              Note:
                identity: id
                attributes:
                  id: { type: string }
                relationships:
                  line: { to: Line, inverse: notes }
            """, to: "lists.yaml")
        return try workspace.write(
            """
            model: \(model)
            store: { \(store) }
            notifications: { topic: null }
            files:
              - match: "*.jsonl"
                format: json
                routes:
                  - type: note
                    typeField: kind
                    entity: Note
                    ignore: [kind]
                  - entity: Order
                    split:
                      - { field: lines, entity: Line, parent: order, replace: delete }
            """, to: "worker.yaml")
    }

    @Test(arguments: ["sqlite", "postgres"])
    func `a line that its order's list has lost is deleted with its own`(_ storage: String) throws {
        let server = try PostgresServer.shared.get()
        let place =
            storage == "sqlite"
            ? "path: \(workspace.path("store.sqlite"))" : "url: \"\(server.url)&schema=\(server.newSchema())\""
        let configuration = try configuration(place)
        let first = [
            #"{"id":"o1","lines":[{"id":"a","quantity":1},{"id":"b","quantity":2},{"id":"c","quantity":3}]}"#,
            #"{"id":"o2","lines":[{"id":"d","quantity":4}]}"#, #"{"kind":"note","id":"n1","line":"a"}"#,
            #"{"kind":"note","id":"n2","line":"b"}"#,
        ]
        // In one chunk a line goes and comes; in the next process a list ends empty, and one is not stated.
        let second = [
            #"{"id":"o1","lines":[{"id":"b","quantity":20}]}"#,
            #"{"id":"o1","lines":[{"id":"b"},{"id":"c","quantity":30}]}"#, #"{"id":"o2","at":7}"#,
        ]
        let third = [#"{"id":"o2","lines":[]}"#]
        let expected = [
            ("a,b,c,d", "n1,n2", [1, 2, 3, 4]), ("b,c,d", "n2", [20, 30, 4]), ("b,c", "n2", [20, 30]),
        ]
        for (number, (records, (lines, notes, quantities))) in zip([first, second, third], expected).enumerated() {
            let file = try workspace.write(
                records.joined(separator: "\n") + "\n", to: "orders-\(number).jsonl")
            let replayed = try Program.run(["replay", file, "--config", configuration])
            try #require(replayed.status == 0, "\(replayed.output)\(replayed.errors)")
            let found = try objects("Line", configuration)
            #expect(found.compactMap { $0["id"] as? String }.joined(separator: ",") == lines)
            #expect(found.compactMap { $0["quantity"] as? Int } == quantities)
            #expect(
                try objects("Note", configuration).compactMap { $0["id"] as? String }.joined(separator: ",") == notes)
        }
        #expect(try objects("Order", configuration).count == 2)
        let verified = try Program.run(["verify", "--config", configuration])
        #expect(verified.status == 0, "\(verified.output)")
    }

    private func objects(_ entity: String, _ configuration: String) throws -> [[String: Any]] {
        let result = try Program.run(["fetch", entity, "--json", "--sort", "id", "--config", configuration])
        try #require(result.status == 0, "\(result.errors)")
        return try result.output.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
    }
}
