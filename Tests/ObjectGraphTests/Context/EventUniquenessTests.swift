import ObjectGraph
import Testing

@testable import GraphCore

/// Events whose unique values are taken, policy by policy.
@Suite struct EventUniquenessTests {
    private func graph(_ policy: String?) throws -> Graph {
        let graph = try Graph(
            yaml: """
                model: unique
                entities:
                  Team:
                    identity: id
                    attributes: { id: { type: string } }
                    relationships: { members: { to: Member, many: true, inverse: team, delete: cascade } }
                  Member:
                    identity: id
                    version: at
                    \(policy.map { "mergePolicy: \($0)" } ?? "")
                    attributes:
                      id: { type: string }
                      at: { type: integer64, optional: true }
                      name: { type: string, optional: true }
                      email: { type: string, optional: true, unique: true }
                      age: { type: integer64, default: 18 }
                    relationships: { team: { to: Team, inverse: members, optional: true } }
                """)
        try graph.apply(
            graph.upsert("Member", "ann", ["email": "a@x", "name": "Ann", "age": 40, "team": "t", "at": 5]))
        return graph
    }

    private func members(_ graph: Graph) throws -> [[Value]] {
        try graph.rows("SELECT id, name, email, age, team IS NOT NULL, at FROM Member ORDER BY id")
    }

    private func notes(_ graph: Graph) throws -> [String] {
        try graph.store.read { try $0.conflicts() }.map {
            [$0.identity.text ?? "?", $0.property ?? "-", $0.local ?? "-", $0.stored ?? "-", $0.decision]
                .joined(separator: " ")
        }
    }

    private func newcomer(_ graph: Graph, at version: Int64 = 6) -> ChangeSet {
        graph.upsert("Member", "new", ["email": "a@x", "name": "New", "at": .value(.integer(version))])
    }

    @Test(arguments: [nil, "error"])
    func `without a policy the event is refused`(_ policy: String?) throws {
        let graph = try graph(policy)
        #expect(try graph.apply(newcomer(graph)) == ["validation.1551"])
        #expect(try notes(graph).isEmpty)
    }

    @Test func `object trump merges into the persisted object`() throws {
        let graph = try graph("objectTrump")
        #expect(try graph.apply(newcomer(graph)) == ["applied"])
        #expect(try members(graph) == [["ann", "New", "a@x", 40, 1, 6]])
        #expect(try notes(graph) == ["ann name \"New\" \"Ann\" context", "ann at 6 5 context"])
        #expect(try graph.store.read { try $0.conflicts() }[0].source == "test")
    }

    /// An older event wins what it states, but the object does not become older for it.
    @Test func `object trump takes no version back`() throws {
        let graph = try graph("objectTrump")
        try graph.apply(newcomer(graph, at: 4))
        #expect(try members(graph) == [["ann", "New", "a@x", 40, 1, 5]])
        #expect(try notes(graph) == ["ann name \"New\" \"Ann\" context", "ann at 4 5 store"])
    }

    @Test(arguments: [
        ("objectTrump", "u", ["b", "c"], "context"), ("storeTrump", "t", ["a", "b", "c"], "store"),
        ("rollback", "t", ["a"], "store"),
    ])
    func `links follow the policy too`(_ policy: String, _ boss: String, _ crew: [String], _ winner: String) throws {
        let graph = try Graph(
            yaml: """
                model: unique
                entities:
                  Boss: { identity: id, attributes: { id: { type: string } }, relationships: { ships: { to: Ship, many: true, inverse: boss } } }
                  Sailor: { identity: id, attributes: { id: { type: string } }, relationships: { ships: { to: Ship, many: true, inverse: crew } } }
                  Ship:
                    identity: id
                    mergePolicy: \(policy)
                    attributes: { id: { type: string }, name: { type: string, optional: true, unique: true } }
                    relationships:
                      boss: { to: Boss, inverse: ships, optional: true }
                      crew: { to: Sailor, many: true, inverse: ships }
                """)
        try graph.apply(graph.upsert("Ship", "s", ["name": "Argo", "boss": "t", "crew": ["a"]]))
        try graph.apply(graph.upsert("Ship", "new", ["name": "Argo", "boss": "u", "crew": ["b", "c"]]))
        #expect(try graph.identities("Ship") == ["s"])
        #expect(try graph.value("Ship", "s", "boss") == .text(boss))
        let sailors = "SELECT s.id FROM Sailor s JOIN Sailor_ships j ON j.owner = s.pk ORDER BY s.id"
        #expect(try graph.column(sailors) == crew.map { .text($0) })
        #expect(try notes(graph) == ["s boss \"u\" \"t\" \(winner)"])
        #expect(try StoreCheck.problems(graph).isEmpty)
    }

    @Test func `store trump fills what is missing`() throws {
        let graph = try graph("storeTrump")
        try graph.apply(graph.upsert("Member", "ann", ["name": nil, "at": 5]))
        try graph.apply(newcomer(graph))
        #expect(try members(graph) == [["ann", "New", "a@x", 40, 1, 5]])
    }

    @Test func `rollback changes nothing`() throws {
        let graph = try graph("rollback")
        #expect(try graph.apply(newcomer(graph)) == ["applied"])
        #expect(try members(graph) == [["ann", "Ann", "a@x", 40, 1, 5]])
        #expect(try notes(graph).count == 2)
    }

    @Test func `overwrite deletes the other object`() throws {
        let graph = try graph("overwrite")
        try graph.apply(newcomer(graph))
        #expect(try members(graph) == [["new", "New", "a@x", 18, 0, 6]])
        #expect(try graph.tombstones().map { $0[1] } == ["ann"])
        #expect(try StoreCheck.problems(graph).isEmpty)
    }

    @Test(arguments: [(4, "Ann"), (6, "New")])
    func `last writer wins by the version`(_ version: Int64, _ name: String) throws {
        let graph = try graph("lastWriterWins")
        try graph.apply(newcomer(graph, at: version))
        #expect(try members(graph)[0][1] == .text(name))
    }

    @Test(arguments: [("objectTrump", "validation.1551"), ("storeTrump", "applied"), ("overwrite", "applied")])
    func `two objects that are there do not become one`(_ policy: String, _ outcome: String) throws {
        let graph = try graph(policy)
        try graph.apply(graph.upsert("Member", "bob", ["name": "Bob", "at": 1]))
        #expect(try graph.apply(graph.upsert("Member", "bob", ["email": "a@x", "name": "Rob", "at": 7])) == [outcome])
        switch policy {
        case "objectTrump": #expect(try graph.value("Member", "bob", "name") == "Bob")
        case "storeTrump": #expect(try graph.rows("SELECT name, email FROM Member WHERE id = 'bob'") == [["Rob", nil]])
        default: #expect(try graph.identities("Member") == ["bob"])
        }
    }

    @Test func `chunks make no difference`() throws {
        for policy in ["objectTrump", "storeTrump", "rollback", "overwrite", "lastWriterWins"] {
            let (one, two) = (try graph(policy), try graph(policy))
            let events = [
                one.upsert("Member", "x", ["email": "x@x", "name": "X"]), newcomer(one),
                one.upsert("Member", "y", ["email": "x@x", "age": 3]), one.upsert("Member", "x", ["email": "z@x"]),
                one.upsert("Member", "y", ["email": "x@x", "name": "Y"]), one.delete("Member", "x"),
                one.upsert("Member", "z", ["email": "z@x"]),
            ]
            let together = try one.apply(events).outcomes.map(\.word)
            let apart = try events.flatMap { try two.apply([$0]).outcomes.map(\.word) }
            #expect(together == apart)
            #expect(try StoreDump.lines(one) == StoreDump.lines(two))
            #expect(try notes(one) == notes(two))
        }
    }

    @Test func `an event that fails leaves no note`() throws {
        let graph = try graph("objectTrump")
        let event = ChangeSet([
            graph.model.upsert("Member", "new", [("email", "a@x"), ("name", "New")]),
            graph.model.upsert("Member", "ann", [("age", nil), ("at", 9)]),
        ])
        #expect(try graph.apply(event) == ["validation.1570"])
        #expect(try notes(graph).isEmpty)
    }

    @Test(arguments: ["rollback", "storeTrump", "objectTrump", "overwrite"])
    func `a reference that dangles takes no unique value`(_ policy: String) throws {
        func graph() throws -> Graph {
            let graph = try Graph(
                yaml: """
                    model: unique
                    entities:
                      Badge:
                        identity: id
                        attributes: { id: { type: string } }
                        relationships: { owner: { to: Guest, inverse: badge, optional: true, delete: noAction } }
                      Guest:
                        identity: id
                        mergePolicy: \(policy)
                        unique: [[badge]]
                        attributes: { id: { type: string } }
                        relationships: { badge: { to: Badge, inverse: owner, optional: true, delete: nullify } }
                    """)
            try graph.apply(graph.upsert("Guest", "first", ["badge": "b"]))
            return graph
        }
        let (one, two) = (try graph(), try graph())
        let deletion = one.model.delete("Badge", "b")
        let newcomer = one.model.upsert("Guest", "second", [("badge", "b")])
        #expect(try one.apply(ChangeSet([deletion, newcomer])) == ["applied"])
        #expect(try two.apply(ChangeSet(deletion)) == ["applied"])
        #expect(try two.apply(ChangeSet(newcomer)) == ["applied"])
        #expect(try StoreDump.lines(one) == StoreDump.lines(two))
        #expect(try one.identities("Guest") == ["first", "second"])
        #expect(try notes(one).isEmpty)
    }

    @Test(arguments: ["rollback", "storeTrump", "objectTrump", "overwrite"])
    func `an event that mistakes the entity fails, whoever holds its values`(_ policy: String) throws {
        let graph = try Graph(
            yaml: """
                model: unique
                entities:
                  Person:
                    identity: id
                    attributes: { id: { type: string }, name: { type: string, optional: true } }
                  Guest:
                    parent: Person
                    mergePolicy: \(policy)
                    unique: [[name]]
                  Member:
                    parent: Person
                """)
        try graph.apply([graph.upsert("Guest", "a", ["name": "Ann"]), graph.upsert("Member", "b", ["name": "Bob"])])
        #expect(try graph.apply(graph.upsert("Guest", "b", ["name": "Ann"])) == ["entity.mismatch"])
        #expect(try graph.history(after: 1).isEmpty)
        #expect(try notes(graph).isEmpty)
    }

    @Test func `objects that a reference makes ones of a sub-entity collide as others do`() throws {
        let graph = try Graph(
            yaml: """
                model: unique
                entities:
                  Person:
                    identity: id
                    attributes: { id: { type: string } }
                  Guest:
                    parent: Person
                    unique: [[table]]
                    attributes: { table: { type: integer64, default: 1 } }
                  Party:
                    identity: id
                    attributes: { id: { type: string } }
                    relationships: { guests: { to: Guest, inverse: none, many: true, delete: nullify } }
                """)
        #expect(try graph.apply([graph.upsert("Person", "a"), graph.upsert("Person", "b")]).outcomes.count == 2)
        #expect(try graph.apply(graph.upsert("Party", "p", ["guests": ["a", "b"]])) == ["validation.1560"])
        #expect(try graph.apply(graph.upsert("Party", "p", ["guests": ["a"]])) == ["applied"])
        #expect(try graph.apply(graph.upsert("Party", "q", ["guests": ["b"]])) == ["validation.1551"])
    }
}
