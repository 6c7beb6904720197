import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// The graph keeps references whole by itself: no key is enforced, and no ON DELETE clause acts.
@Suite struct ForeignKeyTests {
    private static let model = """
        model: keys
        entities:
          Box:
            identity: id
            attributes: { id: { type: string } }
            relationships:
              notes: { to: Note, many: true, inverse: box, delete: cascade }
              tags: { to: Tag, many: true, inverse: box, delete: cascade }
          Note:
            identity: id
            attributes: { id: { type: string } }
            relationships:
              box: { to: Box, inverse: notes, optional: true }
              pin: { to: Tag, inverse: none, optional: true }
              marks: { to: Tag, many: true, inverse: none }
              labels: { to: Tag, many: true, inverse: notes }
          Tag:
            identity: id
            attributes: { id: { type: string } }
            relationships:
              box: { to: Box, inverse: tags, optional: true }
              notes: { to: Note, many: true, inverse: labels }
        """

    /// The note n refers to the tag g in every way, the note o without inverse only, and the note p not at all.
    private func graph(_ threshold: Int = 1000, enforcesKeys: Bool? = nil) throws -> Graph {
        let model = try ObjectModel.parse(Self.model)
        let graph = try Graph(model, setDeletionThreshold: threshold, enforcesKeys: enforcesKeys)
        try graph.apply(
            graph.upsert("Box", "b"), graph.upsert("Tag", "g", ["box": "b"]), graph.upsert("Tag", "h"),
            graph.upsert("Note", "n", ["box": "b", "pin": "g", "marks": ["g", "h"], "labels": ["g", "h"]]),
            graph.upsert("Note", "o", ["pin": "g", "marks": ["g"]]),
            graph.upsert("Note", "p", ["pin": "h", "marks": ["h"], "labels": ["h"]]))
        return graph
    }

    private func keys(_ graph: Graph) throws -> [[Value]] {
        try graph.rows(
            """
            SELECT n.id, (SELECT id FROM Tag t WHERE t.pk = n.pin), n.pin IS NULL, \
            (SELECT group_concat(id) FROM Tag t JOIN Note_marks m ON m.destination = t.pk WHERE m.owner = n.pk), \
            (SELECT group_concat(id) FROM Tag t JOIN Note_labels l ON l.destination = t.pk WHERE l.owner = n.pk) \
            FROM Note n ORDER BY id
            """)
    }

    @Test func `the writer enforces no key, after a restart neither`() throws {
        let folder = try TemporaryFolder()
        let model = try ObjectModel.parse(Self.model)
        for _ in 0..<2 {
            let graph = try Graph(model, path: folder.path("s.sqlite"))
            #expect(try graph.value("PRAGMA foreign_keys") == 0)
            try graph.writer.close()
            try graph.store.close()
        }
    }

    @Test(arguments: [1000, 0], [false, true])
    func `a deletion clears references that no delete rule clears`(_ threshold: Int, _ enforcesKeys: Bool) throws {
        let graph = try graph(threshold, enforcesKeys: enforcesKeys)
        let token = try graph.store.read { try $0.lastToken() }
        try graph.apply(graph.delete("Tag", "g"))
        #expect(
            try keys(graph) == [
                ["n", nil, 1, "h", "h"], ["o", nil, 1, nil, nil], ["p", "h", 0, "h", "h"],
            ])
        #expect(try graph.rows("PRAGMA foreign_key_check").isEmpty)
        // A note that loses a reference without inverse is not changed by it.
        #expect(try graph.history(after: token).sorted() == ["delete Tag g", "update Note n labels"])
        #expect(try graph.damage() == "")
    }

    @Test(arguments: [1000, 0], [false, true])
    func `a link goes with both of its ends`(_ threshold: Int, _ enforcesKeys: Bool) throws {
        let graph = try graph(threshold, enforcesKeys: enforcesKeys)
        try graph.apply(graph.delete("Box", "b"))
        #expect(try keys(graph) == [["o", nil, 1, nil, nil], ["p", "h", 0, "h", "h"]])
        #expect(try graph.rows("PRAGMA foreign_key_check").isEmpty)
        #expect(try graph.damage() == "")
    }

    @Test(arguments: [
        "UPDATE Note SET pin = 99", "UPDATE Note SET box = 99", "DELETE FROM Tag", "DELETE FROM Note",
        "DELETE FROM Box",
    ])
    func `where tests enforce keys, a commit that breaks one fails`(_ sql: String) throws {
        let graph = try graph(enforcesKeys: true)
        #expect(throws: StoreError.self) { try graph.rows(sql) }
        #expect(try graph.rows("PRAGMA foreign_key_check").isEmpty)
        #expect(try graph.damage() == "")
    }

    /// The deletions of a writer that forgets references.
    @Test(arguments: [
        (
            "DELETE FROM Note_labels WHERE destination = 1; DELETE FROM Note_marks; DELETE FROM Tag WHERE id = 'g'",
            "pin"
        ),
        ("UPDATE Note SET pin = NULL; DELETE FROM Note_labels; DELETE FROM Tag WHERE id = 'g'", "destination"),
        ("DELETE FROM Note_marks; DELETE FROM Note WHERE id = 'p'", "owner"),
        ("UPDATE Note SET pin = NULL; DELETE FROM Box", "box"),
    ])
    func `verify finds a key that dangles, and repair mends it`(_ sql: String, _ property: String) throws {
        let graph = try graph(enforcesKeys: false)
        try graph.writer.write("plant") { connection in
            for statement in sql.split(separator: "; ") { try connection.runOnce(String(statement)) }
        }
        let report = try graph.store.verify()
        #expect(report.check(named: "foreignKeys")?.problemCount ?? 0 > 0, "\(report.text)")
        let found = report.checks.filter { ["references", "links"].contains($0.name) }.flatMap(\.problems)
        #expect(found.contains { $0.property == property }, "\(report.text)")
        let repair = try graph.writer.repair()
        #expect(repair.danglingReferenceCount + repair.orphanedLinkCount > 0)
        for name in ["foreignKeys", "references", "links"] {
            #expect(repair.remaining.check(named: name)?.problemCount == 0, "\(repair.text)")
        }
    }
}
