import ObjectGraph
import Testing

@testable import GraphCore

/// Several delete rules that meet: diamonds, references to oneself, one object under every rule.
@Suite struct DeleteRuleCombinationTests {
    /// A root with two sides that lead to the same ends, each by a rule of its own.
    private static func diamond(_ left: String, _ right: String, required: Bool = false) -> String {
        """
        entities:
          Root:
            identity: id
            attributes: { id: { type: string } }
            relationships:
              lefts: { to: Left, many: true, inverse: root, delete: cascade }
              rights: { to: Right, many: true, inverse: root, delete: cascade }
          Left:
            identity: id
            attributes: { id: { type: string } }
            relationships:
              root: { to: Root, inverse: lefts, optional: true }
              ends: { to: End, many: true, inverse: left, delete: \(left) }
          Right:
            identity: id
            attributes: { id: { type: string } }
            relationships:
              root: { to: Root, inverse: rights, optional: true }
              ends: { to: End, many: true, inverse: right, delete: \(right) }
          End:
            identity: id
            attributes: { id: { type: string } }
            relationships:
              left: { to: Left, inverse: ends, optional: \(!required) }
              right: { to: Right, inverse: ends, optional: \(!required) }
        """
    }

    private func filled(_ way: DeletionWay, _ yaml: String) throws -> Graph {
        let graph = try way.graph(yaml)
        try graph.apply([
            graph.upsert("Root", "r"), graph.upsert("Left", "l", ["root": "r"]),
            graph.upsert("Right", "s", ["root": "r"]), graph.upsert("End", "e", ["left": "l", "right": "s"]),
        ])
        return graph
    }

    private func count(_ graph: Graph) throws -> Int {
        try ["Root", "Left", "Right", "End"].reduce(0) { try $0 + graph.identities($1).count }
    }

    // MARK: Diamonds

    @Test(arguments: DeletionWay.allCases) func `the end of a diamond is deleted once`(_ way: DeletionWay) throws {
        let graph = try filled(way, Self.diamond("cascade", "cascade", required: true))
        #expect(try graph.apply(graph.delete("Root", "r", time: 5)) == ["applied"])
        #expect(try count(graph) == 0)
        #expect(
            try graph.history(after: 1).sorted() == [
                "delete End e", "delete Left l", "delete Right s", "delete Root r",
            ]
        )
        #expect(try graph.tombstones().count == 4)
    }

    @Test(arguments: DeletionWay.allCases, ["nullify", "deny", "noAction"])
    func `one cascade to the end of a diamond is enough`(_ way: DeletionWay, _ rule: String) throws {
        // Whichever side comes first: the deleted set is closed before any other rule is asked.
        for yaml in [Self.diamond("cascade", rule, required: true), Self.diamond(rule, "cascade", required: true)] {
            let graph = try filled(way, yaml)
            #expect(try graph.apply(graph.delete("Root", "r")) == ["applied"])
            #expect(try count(graph) == 0)
            #expect(try StoreCheck.problems(graph) == [])
        }
    }

    @Test(arguments: DeletionWay.allCases)
    func `deny below a cascade refuses the whole deletion`(_ way: DeletionWay) throws {
        let graph = try filled(way, Self.diamond("deny", "nullify"))
        let before = try StoreDump.lines(graph)
        #expect(try graph.apply(graph.delete("Root", "r")) == ["validation.1600"])
        #expect(try StoreDump.lines(graph) == before)
        #expect(try graph.apply(graph.delete("End", "e"), graph.delete("Root", "r")) == ["applied", "applied"])
    }

    @Test(arguments: DeletionWay.allCases)
    func `a required inverse below a cascade refuses the whole deletion`(_ way: DeletionWay) throws {
        let graph = try filled(way, Self.diamond("nullify", "nullify", required: true))
        let before = try StoreDump.lines(graph)
        let outcomes = try graph.apply(graph.delete("Root", "r"))
        #expect(["validation.1560", "validation.1570"].contains(outcomes[0]))
        #expect(try StoreDump.lines(graph) == before)
        #expect(try graph.tombstones() == [])
    }

    // MARK: References to oneself

    /// Nodes that lead to nodes by a rule; `next` is to-one on both sides.
    private static func nodes(_ rule: String, required: Bool = false) -> String {
        """
        entities:
          Node:
            identity: id
            attributes: { id: { type: string } }
            relationships:
              parent: { to: Node, inverse: children, optional: \(!required) }
              children: { to: Node, many: true, inverse: parent, delete: \(rule) }
              next: { to: Node, inverse: previous, optional: true, delete: \(rule) }
              previous: { to: Node, inverse: next, optional: true }
        """
    }

    @Test(arguments: DeletionWay.allCases, ["nullify", "cascade", "deny", "noAction"])
    func `an object that leads to itself goes under every rule`(_ way: DeletionWay, _ rule: String) throws {
        let graph = try way.graph(Self.nodes(rule, required: true))
        try graph.apply(graph.upsert("Node", "a", ["parent": "a", "next": "a"]))
        #expect(try graph.apply(graph.delete("Node", "a")) == ["applied"])
        #expect(try graph.identities("Node") == [])
        #expect(try graph.history(after: 1) == ["delete Node a"])
    }

    @Test(arguments: DeletionWay.allCases) func `a tree goes from the deleted node down`(_ way: DeletionWay) throws {
        let graph = try way.graph(Self.nodes("cascade"))
        try graph.apply([
            graph.upsert("Node", "a"), graph.upsert("Node", "b", ["parent": "a"]),
            graph.upsert("Node", "c", ["parent": "b"]), graph.upsert("Node", "d", ["parent": "c"]),
            graph.upsert("Node", "e", ["parent": "a"]),
        ])
        #expect(try graph.apply(graph.delete("Node", "b")) == ["applied"])
        #expect(try graph.identities("Node") == ["a", "e"])
    }

    @Test(arguments: DeletionWay.allCases) func `deny in a circle holds until all of it goes`(_ way: DeletionWay) throws
    {
        let graph = try way.graph(Self.nodes("deny"))
        try graph.apply([graph.upsert("Node", "a", ["next": "b"]), graph.upsert("Node", "b", ["next": "a"])])
        #expect(try graph.apply(graph.delete("Node", "a")) == ["validation.1600"])
        let context = try EditingContext(graph.writer)
        for id in ["a", "b"] as [Value] { try context.delete(try context.require("Node", id)) }
        try context.save()
        #expect(try graph.identities("Node") == [])
    }

    // MARK: One object under every rule

    private static let everyRule = """
        entities:
          Thing:
            identity: id
            attributes: { id: { type: string } }
            relationships:
              taker: { to: Taker, inverse: things, optional: true }
              guard: { to: Guard, inverse: things, optional: true }
              friend: { to: Friend, inverse: things, optional: true }
              holder: { to: Holder, inverse: things }
              ghost: { to: Ghost, inverse: things, optional: true }
          Taker: { identity: id, attributes: { id: { type: string } }, relationships: { things: { to: Thing, many: true, inverse: taker, delete: cascade } } }
          Guard: { identity: id, attributes: { id: { type: string } }, relationships: { things: { to: Thing, many: true, inverse: guard, delete: deny } } }
          Friend: { identity: id, attributes: { id: { type: string } }, relationships: { things: { to: Thing, many: true, inverse: friend, delete: nullify } } }
          Holder: { identity: id, attributes: { id: { type: string } }, relationships: { things: { to: Thing, many: true, inverse: holder, delete: nullify } } }
          Ghost: { identity: id, attributes: { id: { type: string } }, relationships: { things: { to: Thing, many: true, inverse: ghost, delete: noAction } } }
        """

    private func surrounded(_ way: DeletionWay) throws -> Graph {
        let graph = try way.graph(Self.everyRule)
        try graph.apply([
            graph.upsert("Taker", "t"), graph.upsert("Guard", "g"), graph.upsert("Friend", "f"),
            graph.upsert("Holder", "h"), graph.upsert("Ghost", "n"),
            graph.upsert("Thing", "x", ["taker": "t", "guard": "g", "friend": "f", "holder": "h", "ghost": "n"]),
        ])
        return graph
    }

    @Test(arguments: DeletionWay.allCases) func `each owner's own rule decides`(_ way: DeletionWay) throws {
        let graph = try surrounded(way)
        #expect(try graph.apply(graph.delete("Guard", "g")) == ["validation.1600"])
        #expect(try graph.apply(graph.delete("Holder", "h")) == ["validation.1570"])
        #expect(try graph.apply(graph.delete("Friend", "f"), graph.delete("Ghost", "n")) == ["applied", "applied"])
        #expect(try graph.rows("SELECT friend, ghost IS NULL, guard IS NULL FROM Thing") == [[nil, 0, 0]])
        // The thing goes with its taker; nobody else protects it, and nobody is left to protect the guard.
        #expect(try graph.apply(graph.delete("Taker", "t")) == ["applied"])
        #expect(try graph.identities("Thing") == [])
        #expect(try graph.apply(graph.delete("Guard", "g"), graph.delete("Holder", "h")) == ["applied", "applied"])
    }

    @Test(arguments: [
        ["Taker", "Guard", "Holder", "Friend", "Ghost"], ["Ghost", "Friend", "Holder", "Guard", "Taker"],
    ])
    func `of owners that go in one save a cascade lifts all other rules`(_ order: [String]) throws {
        let graph = try surrounded(.inMemory)
        let context = try EditingContext(graph.writer)
        let ids: [String: Value] = ["Taker": "t", "Guard": "g", "Holder": "h", "Friend": "f", "Ghost": "n"]
        for entity in order { try context.delete(try context.require(entity, ids[entity] ?? .null)) }
        try context.save()
        #expect(try graph.identities("Thing") == [])
        #expect(try order.allSatisfy { try graph.identities($0).isEmpty })
        #expect(try graph.damage() == "")
    }

    @Test func `every refusal of one save is named`() throws {
        let graph = try surrounded(.inMemory)
        let context = try EditingContext(graph.writer)
        try context.delete(try context.require("Guard", "g"))
        try context.delete(try context.require("Holder", "h"))
        let error = editingError { try context.save() }
        #expect(error?.coreDataCode == 1560)
        #expect(error?.failures.map(\.code).sorted() == [1570, 1600])
        // The thing itself goes too: both rules have nothing left to say.
        try context.delete(try context.require("Thing", "x"))
        try context.save()
        #expect(try graph.identities("Thing").isEmpty && graph.identities("Guard").isEmpty)
    }

    // MARK: Without an inverse

    private static let loose = """
        entities:
          Owner:
            identity: id
            attributes: { id: { type: string }, size: { type: integer64, default: 1 } }
            relationships:
              must: { to: Mark, inverse: none }
              may: { to: Mark, inverse: none, optional: true }
          Mark: { identity: id, attributes: { id: { type: string } } }
        """

    /// Nobody tells the owner: it is not marked changed, its requirement is not asked, and it reads nothing later.
    @Test(arguments: DeletionWay.allCases)
    func `without an inverse the owner is neither changed nor validated`(_ way: DeletionWay) throws {
        let graph = try way.graph(Self.loose)
        try graph.apply([graph.upsert("Mark", "m"), graph.upsert("Owner", "o", ["must": "m", "may": "m"])])
        #expect(try graph.apply(graph.delete("Mark", "m")) == ["applied"])
        #expect(try graph.value("Owner", "o", "must") == .null)
        #expect(try graph.value("Owner", "o", "may") == .null)
        #expect(try graph.history(after: 1) == ["delete Mark m"])
        // The next change of the owner is validated as any other.
        #expect(try graph.apply(graph.upsert("Owner", "o", ["size": 2])) == ["validation.1570"])
        #expect(try graph.apply(graph.upsert("Owner", "o", ["must": "n", "size": 2])) == ["applied"])
    }

    /// A storage that writes several rows in one statement must not bring the reference of another row back.
    @Test func `without an inverse a changed owner loses its reference to what its save deletes`() throws {
        let graph = try Graph(yaml: Self.loose)
        try graph.apply([
            graph.upsert("Mark", "kept"), graph.upsert("Mark", "gone"),
            graph.upsert("Owner", "a", ["must": "kept", "may": "gone"]), graph.upsert("Owner", "b", ["must": "kept"]),
        ])
        try graph.apply([
            graph.upsert("Owner", "a", ["size": 2]), graph.upsert("Owner", "b", ["may": "kept"]),
            graph.delete("Mark", "gone"),
        ])
        #expect(try graph.value("Owner", "a", "may") == .null)
        #expect(try graph.value("Owner", "a", "size") == 2)
        #expect(try graph.value("Owner", "b", "may") == graph.value("Owner", "a", "must"))
        #expect(try graph.history(after: 1).count == 3)
    }

    @Test func `without an inverse a context reads nothing after the save`() throws {
        let graph = try Graph(yaml: Self.loose)
        try graph.apply([graph.upsert("Mark", "m"), graph.upsert("Owner", "o", ["must": "m", "may": "m"])])
        let context = try EditingContext(graph.writer)
        let owner = try context.require("Owner", "o")
        _ = try owner["size"]
        try context.delete(try context.require("Mark", "m"))
        try context.save()
        #expect(try owner.object("must") == nil && owner.object("may") == nil && !owner.hasChanges)
        #expect(try graph.history(after: 1) == ["delete Mark m"])
    }
}
