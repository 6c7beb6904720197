import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct TruncationTests {
    private static let yaml = """
        model: rooms
        entities:
          Room:
            identity: id
            version: changed
            attributes:
              id: { type: string }
              changed: { type: date, optional: true }
              notesCount: { type: integer64, derived: notes.@count }
            relationships:
              notes: { to: Note, many: true, inverse: room, delete: cascade }
              keys:  { to: Key, many: true, inverse: room, delete: deny }
              owner: { to: Owner, inverse: rooms, optional: true }
          Note:
            identity: id
            attributes: { id: { type: string } }
            relationships: { room: { to: Room, inverse: notes, optional: true } }
          Key:
            identity: id
            attributes: { id: { type: string } }
            relationships: { room: { to: Room, inverse: keys, optional: true } }
          Owner:
            identity: id
            attributes:
              id: { type: string }
              roomsCount: { type: integer64, derived: rooms.@count }
            relationships: { rooms: { to: Room, many: true, inverse: owner } }
        """
    private let graph: Graph

    init() throws { graph = try Graph(yaml: Self.yaml) }

    /// - Parameter other: the graph; nil for the suite's.
    private func truncate(_ entity: String, time: Int64? = nil, in other: Graph? = nil) throws -> ChangeSet {
        var operation = ObjectOperation(
            .truncate, entity: try #require((other ?? graph).model.entity(named: entity)).index, identity: .null)
        operation.time = time
        return ChangeSet(operation)
    }

    private func room(_ id: String, changed: Int64? = nil) -> ChangeSet {
        guard let changed else { return graph.upsert("Room", .text(id), ["owner": .value(.text("o"))]) }
        return graph.upsert(
            "Room", .text(id), ["owner": .value(.text("o")), "changed": .value(.integer(changed))])
    }

    private func note(_ id: String, _ room: String) -> ChangeSet {
        graph.upsert("Note", .text(id), ["room": .value(.text(room))])
    }

    @Test func `a truncation deletes all objects by their rules between the events around it`() throws {
        let before = (0..<5).flatMap { [room("r\($0)"), note("n\($0)", "r\($0)"), note("m\($0)", "r\($0)")] }
        let outcomes = try graph.apply(before + [truncate("Room", time: 100), room("new"), note("late", "r1")])
        #expect(outcomes.outcomes.map(\.word).filter { $0 != "applied" } == [])
        // The late note leaves a tombstone, as those of the deleted rooms do.
        #expect(try graph.identities("Room") == [.text("new")])
        #expect(try graph.identities("Note") == [])
        #expect(try graph.value("Owner", "o", "roomsCount") == .integer(1))
        #expect(try (16...17).contains(graph.tombstones().count))
        #expect(try graph.damage() == "")
    }

    @Test func `newer objects and placeholders stay`() throws {
        try graph.apply(room("old", changed: 50), room("same", changed: 100), room("newer", changed: 150))
        try graph.apply(note("n", "awaited"), room("unversioned"))
        #expect(try graph.apply(truncate("Room", time: 100)) == ["applied"])
        #expect(try graph.identities("Room") == [.text("awaited"), .text("newer")])
        #expect(try graph.identities("Note") == [.text("n")])
        // A late event of a deleted one has no effect, a newer one makes it anew.
        #expect(try graph.apply(room("old", changed: 90), room("same", changed: 101)) == ["stale", "applied"])
        #expect(try graph.damage() == "")
    }

    @Test func `a rule that refuses leaves everything`() throws {
        try graph.apply(room("a"), room("b"), graph.upsert("Key", .text("k"), ["room": .value(.text("b"))]))
        let history = try graph.history()
        #expect(try graph.apply(truncate("Room"), note("n", "a")) == ["validation.1600", "applied"])
        #expect(try graph.identities("Room") == [.text("a"), .text("b")])
        #expect(try graph.tombstones().isEmpty)
        #expect(try graph.history().filter { $0.hasPrefix("delete") }.isEmpty && graph.history().count > history.count)
        #expect(try graph.damage() == "")
    }

    @Test func `an empty entity is truncated too`() throws {
        #expect(try graph.apply(truncate("Room", time: 5)) == ["applied"])
        #expect(try graph.history() == [])
        let mixed = ChangeSet(room("r").operations + (try truncate("Note")).operations)
        #expect(try graph.apply(mixed) == ["delete.too_large"])
        #expect(try graph.identities("Room") == [])
    }

    @Test func `nothing remains of an empty truncation before a refused one`() throws {
        let graph = try Graph(
            yaml: """
                entities:
                  Tag:
                    identity: id
                    attributes: { id: { type: string } }
                    relationships: { rooms: { to: Room, many: true, inverse: tags } }
                  Room:
                    identity: id
                    attributes: { id: { type: string } }
                    relationships: { tags: { to: Tag, many: true, inverse: rooms }, keys: { to: Key, many: true, inverse: room, delete: deny } }
                  Key:
                    identity: id
                    attributes: { id: { type: string } }
                    relationships: { room: { to: Room, inverse: keys, optional: true } }
                """)
        try graph.apply(graph.upsert("Key", "k", ["room": .value(.text("r"))]), graph.upsert("Room", "r"))
        let events = (try truncate("Tag", in: graph), try truncate("Room", in: graph))
        #expect(try graph.apply(events.0, events.1) == ["applied", "validation.1600"])
        #expect(try graph.store.read { try $0.lastToken() } == 1)
        #expect(try graph.damage() == "")
    }
}
