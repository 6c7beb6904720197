import ObjectGraph
import Testing

@testable import GraphCore

/// Batch requests on entities with sub-entities, which share a table.
@Suite struct BatchHierarchyTests {
    private func graph() throws -> Graph {
        let graph = try Graph(
            yaml: """
                entities:
                  Party:
                    identity: id
                    attributes:
                      id: { type: string }
                      level: { type: integer64, default: 1 }
                    relationships: { notes: { to: Note, many: true, inverse: party, delete: cascade } }
                  Person:
                    parent: Party
                    attributes: { email: { type: string, optional: true } }
                  Company:
                    parent: Party
                    attributes: { size: { type: integer64, default: 10 } }
                  Note:
                    identity: id
                    attributes: { id: { type: string } }
                    relationships: { party: { to: Party, inverse: notes } }
                """)
        try graph.apply([
            graph.upsert("Party", "a"), graph.upsert("Person", "b"), graph.upsert("Company", "c"),
            graph.upsert("Note", "1", ["party": "b"]), graph.upsert("Note", "2", ["party": "c"]),
        ])
        return graph
    }

    @Test func `an update reaches sub-entities under their own names`() throws {
        let graph = try graph()
        let result = try graph.writer.execute(BatchUpdateRequest("Party", set: ["level": .value(2)]))
        #expect(result.count == 3)
        #expect(
            try graph.history(after: 1).sorted() == [
                "update Company c level", "update Party a level", "update Person b level",
            ])
        #expect(try graph.store.inSQLite().verify().isSound)
    }

    @Test func `an update without sub-entities leaves their objects alone`() throws {
        let graph = try graph()
        var request = BatchUpdateRequest("Party", set: ["level": .value(2)])
        request.objects.includesSubentities = false
        #expect(try graph.writer.execute(request).count == 1)
        #expect(try graph.column("SELECT id FROM Party WHERE level = 2") == ["a"])
    }

    @Test func `a deletion includes objects of sub-entities unless the request says otherwise`() throws {
        let graph = try graph()
        var request = BatchDeleteRequest("Party")
        request.objects.includesSubentities = false
        #expect(try graph.writer.execute(request).count == 1)
        #expect(try graph.column("SELECT id FROM Party ORDER BY id") == ["b", "c"])
        #expect(try graph.writer.execute(BatchDeleteRequest("Party")).count == 2)
        #expect(try graph.column("SELECT id FROM Party") == [])
        #expect(try graph.damage() == "")
    }

    @Test func `each entity computes its own derived values`() throws {
        let graph = try Graph(
            yaml: """
                entities:
                  Party:
                    identity: id
                    attributes: { id: { type: string }, level: { type: integer64, default: 1 } }
                  Person:
                    parent: Party
                    attributes:
                      weight: { type: integer64, default: 5 }
                      heavier: { type: integer64, derived: level + weight }
                  Company:
                    parent: Party
                    attributes: { size: { type: integer64, default: 10 }, larger: { type: integer64, derived: size * level } }
                """)
        try graph.apply([graph.upsert("Party", "a"), graph.upsert("Person", "b"), graph.upsert("Company", "c")])
        _ = try graph.writer.execute(BatchUpdateRequest("Party", set: ["level": .expression("level + 2")]))
        #expect(
            try graph.rows("SELECT level, heavier, larger FROM Party ORDER BY id") == [
                [3, nil, nil], [3, 8, nil], [3, nil, 30],
            ])
        #expect(try graph.store.inSQLite().verify().isSound)
    }

    @Test func `an update of a sub-entity leaves the others alone`() throws {
        let graph = try graph()
        let result = try graph.writer.execute(
            BatchUpdateRequest(
                "Company", where: "size > 5", set: ["size": .expression("size * 2"), "level": .value(3)]))
        #expect(result.count == 1)
        #expect(try graph.column("SELECT level FROM Party ORDER BY id") == [1, 1, 3])
        #expect(try graph.history(after: 1) == ["update Company c level,size"])
    }

    @Test func `a deletion follows the rules of the whole hierarchy`() throws {
        let graph = try graph()
        let result = try graph.writer.execute(BatchDeleteRequest("Party", where: "id != 'b'"))
        #expect(result.count == 2)
        #expect(try graph.column("SELECT id FROM Party") == ["b"])
        #expect(try graph.identities("Note") == ["1"])
        #expect(
            try graph.history(after: 1).sorted() == ["delete Company c", "delete Note 2", "delete Party a"])
        #expect(try graph.store.inSQLite().verify().isSound)
        #expect(try graph.writer.execute(BatchDeleteRequest("Person")).count == 1)
        #expect(try graph.identities("Note").isEmpty)
    }

    @Test func `an insertion makes objects of the named entity`() throws {
        let graph = try graph()
        let result = try graph.writer.execute(
            BatchInsertRequest("Person", values: [["id": "d", "email": "d@e.f"], ["id": "b", "email": "b@e.f"]]))
        #expect(result.count == 2)
        #expect(
            try graph.rows("SELECT id, email, _entity FROM Party WHERE email IS NOT NULL ORDER BY id")
                == [["b", "b@e.f", "Person"], ["d", "d@e.f", "Person"]])
        #expect(try graph.history(after: 1).sorted() == ["insert Person d", "update Person b email"])
    }

    private func groups() throws -> Graph {
        let graph = try Graph(
            yaml: """
                entities:
                  Thing:
                    abstract: true
                    identity: id
                    attributes: { id: { type: string } }
                    relationships: { place: { to: Thing, inverse: none, optional: true } }
                  Party:
                    parent: Thing
                    attributes: { level: { type: integer64, default: 1 } }
                    relationships: { group: { to: Group, inverse: members, optional: true } }
                  Group:
                    parent: Party
                    attributes: { levels: { type: integer64, derived: members.level.@sum } }
                    relationships: { members: { to: Party, many: true, inverse: group } }
                """)
        try graph.apply([
            graph.upsert("Group", "g", ["level": 2]), graph.upsert("Party", "p", ["group": "g"]),
            graph.upsert("Group", "h", ["group": "g", "level": 3]),
        ])
        return graph
    }

    @Test func `derived changes are not counted as updates`() throws {
        let graph = try groups()
        let result = try graph.writer.execute(
            BatchUpdateRequest("Party", where: "id != 'g'", set: ["level": .value(4)]))
        #expect(result.count == 2)
        #expect(
            try graph.history(after: 1).sorted() == [
                "update Group g levels", "update Group h level", "update Party p level",
            ])
        #expect(try graph.store.inSQLite().verify().isSound)
    }

    @Test func `which objects of a sub-entity change is decided before others do`() throws {
        let graph = try groups()
        // The group is asked after the party has changed.
        let request = BatchUpdateRequest(
            "Party", where: "id = 'p' OR SUBQUERY(group.members, $m, $m.level = 1).@count > 0",
            set: ["level": .value(7)])
        #expect(try graph.writer.execute(request).count == 2)
        #expect(try graph.column("SELECT level FROM Thing WHERE id IN ('h', 'p')") == [7, 7])
    }

    @Test func `a deletion reaches placeholders of an abstract entity`() throws {
        let graph = try groups()
        try graph.apply(graph.upsert("Party", "p", ["place": "unknown"]))
        #expect(try graph.column("SELECT _entity FROM Thing WHERE id = 'unknown'") == ["Thing"])
        #expect(try graph.writer.execute(BatchDeleteRequest("Thing")).count == 4)
        #expect(try graph.identities("Thing") == [])
        #expect(try graph.store.inSQLite().verify().isSound)
    }
}
