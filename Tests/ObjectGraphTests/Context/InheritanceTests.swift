import Foundation
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Entities below entities: one table, one space of identities, objects found out bit by bit.
@Suite struct InheritanceTests {
    private func graph(_ way: DeletionWay = .inMemory) throws -> Graph { try way.graph(Models.hierarchy) }

    @Test func `a hierarchy is one table with a view for each sub-entity`() throws {
        let graph = try graph()
        try graph.apply(graph.upsert("Note", "n", ["title": "a"]), graph.upsert("Step", "s", ["points": 3]))
        #expect(
            try graph.rows("SELECT id, _entity, body, points FROM Item ORDER BY id") == [
                ["n", "Note", "empty", nil], ["s", "Step", nil, 3],
            ])
        #expect(try graph.identities("Note") == ["n"])
        #expect(try graph.identities("Task") == ["s"])
        #expect(try graph.rows("SELECT id, _entity, points FROM Task_readable") == [["s", "Step", 3]])
        let tables = try graph.column(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\' ORDER BY name")
        #expect(tables == ["Folder", "Folder_pinned", "Item", "Item_labels", "Label", "sqlite_sequence"])
        #expect(try StoreCheck.problems(graph) == [])
        #expect(try graph.damage() == "")
    }

    @Test func `models without hierarchies keep their layout and hash`() throws {
        #expect(try configuredModel("chat").hash == "108a5f3add8013f6")
        #expect(try configuredModel("work-orders").hash == "9f5ac936caafe347")
        let graph = try Graph(configuredModel("chat"))
        #expect(try graph.column("SELECT name FROM pragma_table_info('Chat') WHERE name = '_entity'") == [])
    }

    @Test func `identities and keys are shared by the hierarchy`() throws {
        let graph = try graph()
        try graph.apply(graph.upsert("Note", "x"))
        #expect(try graph.apply(graph.upsert("Task", "x")) == ["entity.mismatch"])
        #expect(try graph.apply(graph.delete("Task", "x")) == ["entity.mismatch"])
        #expect(try graph.apply(graph.upsert("Folder", "f", ["top": "x"])) == ["entity.mismatch"])
        #expect(try graph.rows("SELECT id, _entity FROM Item") == [["x", "Note"]])
        try graph.apply(graph.upsert("Task", "y"), graph.upsert("Step", "z"))
        #expect(try graph.column("SELECT pk FROM Item ORDER BY pk") == [1, 2, 3])
        #expect(try graph.rows("SELECT entity, next FROM _sequence WHERE entity <> 'Folder'") == [["Item", 4]])
    }

    /// The relationships of entities beside each other have the same places in their lists. An event that names an object by
    /// the wrong entity looks one of them up in the same chunk, which must not count for the other.
    @Test func `an event of another entity hides no relationship`() throws {
        let graph = try Graph(
            yaml: """
                model: kinds
                entities:
                  Thing:
                    identity: id
                    attributes: { id: { type: string } }
                    relationships:
                      box: { to: Box, inverse: things, optional: true }
                      shelf: { to: Shelf, inverse: things, optional: true }
                  Box: { parent: Thing, relationships: { things: { to: Thing, many: true, inverse: box, delete: deny } } }
                  Shelf: { parent: Thing, relationships: { things: { to: Thing, many: true, inverse: shelf } } }
                """)
        try graph.apply(graph.upsert("Box", "b", ["things": ["t"]]), graph.upsert("Thing", "t"))
        let chunk = WriterContext.Chunk(events: [
            graph.upsert("Shelf", "b", ["things": ["t"]]), graph.delete("Box", "b"),
        ])
        #expect(try graph.writer.apply(chunk).outcomes.map(\.word) == ["entity.mismatch", "validation.1600"])
        try graph.writer.commit()
        #expect(try graph.value("Thing", "t", "box") == "b")
        #expect(try graph.damage() == "")
    }

    @Test func `an abstract entity has no objects of its own`() throws {
        let graph = try graph()
        #expect(try graph.apply(graph.upsert("Item", "x", ["title": "a"])) == ["entity.abstract"])
        #expect(try graph.identities("Item") == [])
    }

    @Test func `an event of a parent updates an object of a sub-entity`() throws {
        let graph = try graph()
        try graph.apply(graph.upsert("Task", "t", ["points": 2]))
        #expect(try graph.apply(graph.upsert("Item", "t", ["title": "new"])) == ["applied"])
        #expect(try graph.rows("SELECT id, title, points, _entity FROM Item") == [["t", "new", 2, "Task"]])
        #expect(try graph.history().last == "update Task t title")
        #expect(try graph.apply(graph.delete("Item", "t")) == ["applied"])
        #expect(try graph.history().last == "delete Task t")
        #expect(try graph.column("SELECT entity FROM _tombstone") == ["Item"])
    }

    @Test func `a placeholder of a parent gets its entity with its own event`() throws {
        for isSplit in [false, true] {
            let graph = try graph()
            let events = [
                graph.upsert("Folder", "f", ["items": ["a", "b"]]), graph.upsert("Step", "a", ["points": 4]),
                graph.upsert("Note", "b"),
            ]
            if isSplit { for event in events { try graph.apply(event) } } else { try graph.apply(events) }
            #expect(
                try graph.rows("SELECT id, _entity, _placeholder, points, body FROM Item ORDER BY id") == [
                    ["a", "Step", 0, 4, nil], ["b", "Note", 0, nil, "empty"],
                ])
            #expect(try graph.value("Folder", "f", "itemsCount") == 2)
            #expect(try graph.value("Folder", "f", "itemsWeight") == 2)
            #expect(try StoreCheck.problems(graph) == [])
        }
    }

    @Test func `a placeholder of an abstract entity is sound`() throws {
        let graph = try graph()
        try graph.apply(graph.upsert("Folder", "f", ["items": ["a"]]))
        #expect(try graph.rows("SELECT id, _entity, _placeholder FROM Item") == [["a", "Item", 1]])
        #expect(try graph.damage() == "")
        #expect(try graph.history().contains("insert Item a"))
        try graph.apply(graph.upsert("Note", "a"))
        #expect(try graph.history().contains("update Note a weight,body"))
    }

    @Test func `an object is of the most special entity that names it in whatever order`() throws {
        let orders: [[Int]] = [[0, 1, 2], [1, 2, 0], [2, 1, 0], [2, 0, 1]]
        var dumps: Set<[String]> = []
        for order in orders {
            for isSplit in [false, true] {
                let graph = try graph()
                let events = [
                    graph.upsert("Task", "x", ["title": "t"]), graph.upsert("Step", "x", ["size": 2.0]),
                    graph.upsert("Folder", "f", ["items": ["x"], "top": "x"]),
                ]
                let arranged = order.map { events[$0] }
                if isSplit { for event in arranged { try graph.apply(event) } } else { try graph.apply(arranged) }
                dumps.insert(try StoreDump.lines(graph))
                #expect(try graph.rows("SELECT _entity, size, points FROM Item") == [["Step", 2.0, 0]])
            }
        }
        #expect(dumps.count == 1)
    }

    @Test func `the rules of a sub-entity hold once an object is one`() throws {
        let yaml = Models.hierarchy.replacingOccurrences(
            of: "size: { type: double, optional: true }", with: "size: { type: double }")
        let graph = try Graph(yaml: yaml)
        try graph.apply(graph.upsert("Task", "x"))
        #expect(try graph.apply(graph.upsert("Step", "x")) == ["validation.1570"])
        #expect(try graph.column("SELECT _entity FROM Item") == ["Task"])
        #expect(try graph.apply(graph.upsert("Step", "x", ["size": 1.0])) == ["applied"])
    }

    @Test func `derived values of a sub-entity count what was there before`() throws {
        let graph = try graph()
        try graph.apply(graph.upsert("Label", "l", ["items": ["x"]]), graph.upsert("Label", "m", ["items": ["x"]]))
        try graph.apply(graph.upsert("Task", "x"))
        #expect(try graph.value("Task", "x", "labelsCount") == 2)
        try graph.apply(
            graph.upsert("Step", "s", ["task": "x", "points": 5]), graph.upsert("Note", "n", ["labels": ["l"]]))
        #expect(try graph.value("Task", "x", "stepsPoints") == 5)
        #expect(try graph.value("SELECT labelsCount FROM Item WHERE id = 'n'") == .null)
        #expect(try graph.damage() == "")
    }

    @Test func `attributes of one name beside each other keep their types`() throws {
        let graph = try graph()
        try graph.apply(graph.upsert("Note", "n", ["extra": "12"]), graph.upsert("Task", "t", ["extra": 12]))
        #expect(
            try graph.rows("SELECT id, typeof(extra), typeof(extra$Task) FROM Item ORDER BY id") == [
                ["n", "text", "null"], ["t", "null", "integer"],
            ])
        #expect(
            try graph.apply(graph.upsert("Note", "n", ["code": "x"]), graph.upsert("Task", "t", ["code": "x"])) == [
                "applied", "applied",
            ])
    }

    @Test func `fetching an entity includes its sub-entities`() throws {
        let graph = try graph()
        try graph.apply(
            graph.upsert("Task", "t", ["points": 1]), graph.upsert("Step", "s", ["points": 2]),
            graph.upsert("Note", "n"))
        func fetched(_ entity: String, _ condition: String? = nil) throws -> [Value?] {
            try graph.store.read { context in
                var request = FetchRequest(entity, where: condition)
                request.sort = ["id"]
                return try context.fetch(request).map { $0["id"] }
            }
        }
        #expect(try fetched("Item") == ["n", "s", "t"])
        #expect(try fetched("Task") == ["s", "t"])
        #expect(try fetched("Task", "points > 1") == ["s"])
        #expect(try fetched("Note") == ["n"])
    }

    @Test(arguments: DeletionWay.allCases) func `cascades reach every sub-entity and history names each by its own`(
        _ way: DeletionWay
    )
        throws
    {
        let graph = try graph(way)
        try graph.apply(
            graph.upsert("Note", "n", ["title": "T"]), graph.upsert("Task", "t", ["v": 5]),
            graph.upsert("Step", "s", ["task": "t"]),
            graph.upsert("Folder", "f", ["items": ["n", "t", "p"]]), graph.upsert("Label", "l", ["items": ["n", "s"]]))
        let token = try graph.store.read { try $0.lastToken() }
        #expect(try graph.apply(graph.delete("Folder", "f")) == ["applied"])
        let deletions = try graph.history(after: token).filter { $0.hasPrefix("delete") }.sorted()
        #expect(
            deletions == [
                "delete Folder f", "delete Item p", "delete Note n", "delete Step s", "delete Task t",
            ])
        #expect(try graph.history(after: token).contains { $0.hasPrefix("update Label l") && $0.contains("items") })
        #expect(try graph.tombstones().map { $0[0] } == ["Folder", "Item", "Item", "Item", "Item"])
        #expect(
            try graph.column("SELECT tombstone FROM _history_change WHERE entity = 'Note' AND change = 2") == [
                "{\"title\":\"T\"}"
            ])
        #expect(try graph.value("Label", "l", "itemsCount") == 0)
        #expect(try StoreCheck.problems(graph) == [])
        #expect(try graph.damage() == "")
        // A late event of any of the hierarchy's entities meets the tombstone.
        #expect(try graph.apply(graph.upsert("Item", "t", ["v": 4])) == ["stale"])
    }

    @Test(arguments: DeletionWay.allCases) func `rules of a sub-entity apply to inherited references too`(
        _ way: DeletionWay
    )
        throws
    {
        let graph = try graph(way)
        try graph.apply(
            graph.upsert("Task", "t"), graph.upsert("Step", "u", ["blockedBy": "t"]),
            graph.upsert("Note", "n", ["next": "t"]), graph.upsert("Folder", "f", ["top": "t", "pinned": ["n"]]))
        #expect(try graph.apply(graph.delete("Item", "t")) == ["validation.1600"])
        #expect(try graph.apply(graph.delete("Step", "u"), graph.delete("Item", "t")) == ["applied", "applied"])
        #expect(try graph.value("Note", "n", "next") == .null)
        #expect(try graph.value("Folder", "f", "top") == .null)
        #expect(try graph.apply(graph.delete("Item", "n")) == ["applied"])
        #expect(try graph.value("SELECT count(*) FROM Folder_pinned") == 0)
    }

    /// A refused event makes a task a step for a moment; the rule of steps must not count the task afterwards.
    @Test func `an undone event leaves no unique values of the sub-entity`() throws {
        let graph = try graph()
        let outcomes = try graph.apply(
            graph.upsert("Task", "a", ["title": "same", "points": 1]), graph.upsert("Step", "a", ["points": nil]),
            graph.upsert("Step", "b", ["title": "same", "points": 1]))
        #expect(outcomes == ["applied", "validation.1570", "applied"])
        #expect(try graph.rows("SELECT id, _entity FROM Item ORDER BY id") == [["a", "Task"], ["b", "Step"]])
    }

    @Test func `an undone event leaves the entity as it was`() throws {
        let graph = try graph()
        try graph.apply(
            graph.upsert("Folder", "f", ["items": ["x"]]), graph.upsert("Step", "a", ["title": "t", "points": 1]))
        // The step's values are taken, so the event leaves no trace.
        #expect(
            try graph.apply(
                graph.upsert("Step", "x", ["title": "t", "points": 1]), graph.upsert("Note", "x")) == [
                    "validation.1551", "applied",
                ])
        #expect(try graph.value("SELECT _entity FROM Item WHERE id = 'x'") == "Note")
    }

    @Test(.onlyInSQLite("it damages rows with SQL"))
    func `verify finds what is wrong with entities`() throws {
        let graph = try graph()
        try graph.apply(graph.upsert("Note", "n"), graph.upsert("Note", "m"))
        _ = try graph.writer.write("damage") { connection in
            try connection.run("UPDATE Item SET _entity = 'Item' WHERE id = 'n'")
            try connection.run("UPDATE Item SET _entity = 'Boat' WHERE id = 'm'")
        }
        let problems = try graph.damage()
        #expect(problems.contains("is a 'Boat', which is no entity of the hierarchy"))
        #expect(problems.contains("is a Item, which is abstract, and no placeholder"))
    }

    @Test func `dumps show each object once under its own entity`() throws {
        let graph = try graph()
        try graph.apply(
            graph.upsert("Note", "n"), graph.upsert("Step", "s", ["task": "t"]),
            graph.upsert("Folder", "f", ["items": ["s", "n"]]))
        var text = ""
        try graph.store.read { try $0.canonicalDump { text += $0 } }
        #expect(text.components(separatedBy: "object Note \"n\"").count == 2)
        #expect(text.contains("object Task \"t\" placeholder"))
        #expect(text.contains("  items=[\"s\", \"n\"]"))
    }
}
