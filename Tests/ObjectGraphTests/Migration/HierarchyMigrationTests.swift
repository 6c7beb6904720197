import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

/// Migrations of hierarchies, ordered relationships and compound constraints, each with rows.
@Suite struct HierarchyMigrationTests {
    private static func model(_ entities: String, version: String = "1") -> String {
        "model: m\nversion: \(version)\nentities:\n"
            + entities.split(separator: "\n").map { "  \($0)\n" }.joined()
    }

    private static let flat = model(
        """
        Item: { identity: id, attributes: { id: { type: string }, title: { type: string, optional: true }, size: { type: integer64, default: 1 } }, relationships: { box: { to: Box, inverse: items, optional: true } } }
        Box: { identity: id, attributes: { id: { type: string }, count: { type: integer64, derived: items.@count } }, relationships: { items: { to: Item, many: true, inverse: box } } }
        """)

    /// `Item` as a sub-entity, beside another one.
    private static let family = model(
        """
        Thing: { abstract: true, identity: id, attributes: { id: { type: string }, title: { type: string, optional: true } }, relationships: { box: { to: Box, inverse: items, optional: true } } }
        Item: { parent: Thing, attributes: { size: { type: integer64, default: 1 } } }
        Small: { parent: Item, attributes: { note: { type: string, default: none } } }
        Box: { identity: id, attributes: { id: { type: string }, count: { type: integer64, derived: items.@count } }, relationships: { items: { to: Thing, many: true, inverse: box } } }
        """, version: "2")

    private func flatStore() throws -> MigrationFixture {
        try MigrationFixture(Self.flat) { graph in
            try graph.apply([
                graph.upsert("Item", "i1", ["title": "x", "box": "b1"]), graph.upsert("Item", "i2", ["size": 7]),
                graph.upsert("Box", "b1"), graph.delete("Item", "gone", time: 9),
                graph.upsert("Item", "i3", ["box": "b2"]),
            ])
        }
    }

    @Test(arguments: [Int64.max, 0])
    func `changes from before an entity has a sub-entity keep the identities of deleted objects`(
        _ threshold: Int64
    ) throws {
        let names = (0..<10).map { Value.text("i\($0)") }
        let fixture = try MigrationFixture(Self.flat) { graph in
            try graph.apply(names.map { graph.upsert("Item", $0, ["size": 5]) })
        }
        try fixture.migrate(to: Self.family) { $0.copyRowThreshold = threshold }
        try fixture.use { graph in
            try graph.apply(graph.upsert("Small", "i3", ["note": "n"]))
            try graph.apply(graph.delete("Small", "i3"))
            let first = try #require(try graph.store.read { try $0.transaction(1, from: 0, limit: 100) })
            #expect(first.changes.map(\.identity) == names)
            #expect(try graph.column("SELECT identity FROM _history WHERE token = 1 ORDER BY identity") == names)
        }
    }

    private func familyStore() throws -> MigrationFixture {
        let fixture = try flatStore()
        try fixture.migrate(to: Self.family)
        try fixture.use { graph in
            try graph.apply([
                graph.upsert("Small", "s1", ["note": "n", "size": 3, "box": "b1"]), graph.upsert("Item", "i4"),
            ])
        }
        return fixture
    }

    @Test(arguments: [Int64.max, 0])
    func `an entity gets a parent and a child`(copyRowThreshold: Int64) throws {
        let fixture = try flatStore()
        let keys = try fixture.rows("SELECT pk, id FROM Item ORDER BY pk")
        try fixture.migrate(to: Self.family) { $0.copyRowThreshold = copyRowThreshold }
        #expect(try fixture.rows("SELECT pk, id FROM Thing ORDER BY pk") == keys)
        #expect(try fixture.rows("SELECT DISTINCT _entity FROM Thing") == [["Item"]])
        #expect(try fixture.rows("SELECT id, count FROM Box ORDER BY id") == [["b1", 1], ["b2", 1]])
        // Keys, tombstones and links are those of the hierarchy now.
        #expect(try fixture.rows("SELECT entity, identity FROM _tombstone") == [["Thing", "gone"]])
        #expect(try fixture.rows("SELECT next FROM _sequence WHERE entity = 'Thing'") == [[4]])
        try fixture.use { graph in
            try graph.apply([graph.upsert("Small", "s", ["box": "b1"])])
            #expect(try graph.value("Box", "b1", "count") == 2)
        }
    }

    @Test func `a parent is removed and its properties move down`() throws {
        let fixture = try flatStore()
        try fixture.migrate(to: Self.family)
        try fixture.migrate(to: Self.flat.replacingOccurrences(of: "version: 1", with: "version: 3"))
        #expect(
            try fixture.rows("SELECT id, title, size FROM Item ORDER BY id")
                == [["i1", "x", 1], ["i2", .null, 7], ["i3", .null, 1]])
        #expect(try fixture.rows("SELECT entity FROM _tombstone") == [["Item"]])
    }

    @Test func `a sub-entity is removed with its objects and what led to them is empty`() throws {
        let fixture = try familyStore()
        let without = Self.family.split(separator: "\n").filter { !$0.contains("Small:") }.joined(separator: "\n")
        try fixture.migrate(to: without.replacingOccurrences(of: "version: 2", with: "version: 3"))
        #expect(try fixture.rows("SELECT id FROM Thing ORDER BY id") == [["i1"], ["i2"], ["i3"], ["i4"]])
        #expect(try fixture.rows("SELECT count FROM Box WHERE id = 'b1'") == [[1]])
    }

    @Test func `entities of a hierarchy are renamed`() throws {
        let fixture = try familyStore()
        let renamed = Self.family.replacingOccurrences(of: "Small: {", with: "Tiny: { renamedFrom: Small,")
            .replacingOccurrences(of: "Thing: {", with: "Entry: { renamedFrom: Thing,")
            .replacingOccurrences(of: "parent: Thing", with: "parent: Entry")
            .replacingOccurrences(of: "to: Thing", with: "to: Entry")
            .replacingOccurrences(of: "version: 2", with: "version: 3")
        try fixture.migrate(to: renamed)
        #expect(
            try fixture.rows("SELECT id, _entity FROM Entry WHERE _entity <> 'Item'") == [["s1", "Tiny"]])
        #expect(try fixture.rows("SELECT next FROM _sequence WHERE entity = 'Entry'") == [[6]])
        try fixture.use { graph in
            let history = try graph.history()
            #expect(history.contains("insert Tiny s1"))
        }
    }

    @Test func `properties move up and down between parent and child`() throws {
        let fixture = try familyStore()
        let moved = Self.model(
            """
            Thing: { abstract: true, identity: id, attributes: { id: { type: string }, size: { type: integer64, default: 1 } }, relationships: { box: { to: Box, inverse: items, optional: true } } }
            Item: { parent: Thing, attributes: { title: { type: string, optional: true } } }
            Small: { parent: Item, attributes: { note: { type: string, default: none } } }
            Box: { identity: id, attributes: { id: { type: string }, count: { type: integer64, derived: items.@count } }, relationships: { items: { to: Thing, many: true, inverse: box } } }
            """, version: "3")
        let difference = ModelDifference(from: try ObjectModel.parse(Self.family), to: try ObjectModel.parse(moved))
        #expect(difference.changes.filter { $0.kind == .attributeMoved }.count == 2, "\(difference.text)")
        try fixture.migrate(to: moved)
        #expect(
            try fixture.rows("SELECT id, title, size, note FROM Thing WHERE id IN ('i1', 's1') ORDER BY id")
                == [["i1", "x", 1, .null], ["s1", .null, 3, "n"]])
    }

    @Test func `an entity becomes abstract only without objects of its own`() throws {
        let fixture = try familyStore()
        let abstract = Self.family.replacingOccurrences(of: "Item: { parent", with: "Item: { abstract: true, parent")
            .replacingOccurrences(of: "version: 2", with: "version: 3")
        let (code, details) = try fixture.refusal(to: abstract)
        #expect(code == "migration.rows" && details.contains("Item is abstract now"))
        // And back: what was abstract may be an entity of objects.
        try fixture.migrate(
            to: Self.family.replacingOccurrences(of: "abstract: true, ", with: "")
                .replacingOccurrences(of: "version: 2", with: "version: 3"))
        try fixture.use { try $0.apply([$0.upsert("Thing", "t")]) }
    }

    @Test func `a destination becomes a narrower entity if all objects are of it`() throws {
        let fixture = try familyStore()
        let narrow = Self.family
            .replacingOccurrences(
                of:
                    "title: { type: string, optional: true } }, relationships: { box: { to: Box, inverse: items, optional: true } }",
                with: "title: { type: string, optional: true } }"
            )
            .replacingOccurrences(
                of: "size: { type: integer64, default: 1 } }",
                with:
                    "size: { type: integer64, default: 1 } }, relationships: { box: { to: Box, inverse: items, optional: true } }"
            )
            .replacingOccurrences(of: "to: Thing", with: "to: Item")
            .replacingOccurrences(of: "version: 2", with: "version: 3")
        try fixture.migrate(to: narrow)
        #expect(try fixture.rows("SELECT count FROM Box ORDER BY id") == [[2], [1]])
    }

    // MARK: Order

    private static func lists(_ entries: String, _ lists: String, version: String) -> String {
        model(
            """
            List: { identity: id, attributes: { id: { type: string } }, relationships: { entries: { to: Entry, \(entries) } } }
            Entry: { identity: id, attributes: { id: { type: string } }, relationships: { list: { to: List, \(lists) } } }
            """, version: version)
    }

    private let orderedMany = Self.lists(
        "many: true, ordered: true, inverse: list", "inverse: entries, optional: true", version: "1")
    private let orderedPairs = Self.lists(
        "many: true, ordered: true, inverse: list", "many: true, inverse: entries", version: "2")
    private let orderedBoth = Self.lists(
        "many: true, ordered: true, inverse: list", "many: true, ordered: true, inverse: entries", version: "3")
    private let unordered = Self.lists("many: true, inverse: list", "many: true, inverse: entries", version: "4")
    private let orderedManyAgain = Self.lists(
        "many: true, ordered: true, inverse: list", "inverse: entries, optional: true", version: "5")

    private func order(_ fixture: MigrationFixture, _ sql: String) throws -> [[Value]] {
        try fixture.rows(sql)
    }

    /// An order follows from the destination's column to a join table and back, and is there once it is asked for.
    @Test(arguments: [Int64.max, 0])
    func `order follows the links`(copyRowThreshold: Int64) throws {
        let fixture = try MigrationFixture(orderedMany) { graph in
            try graph.apply([graph.upsert("List", "l", ["entries": .replace(["c", "a", "b"])])])
            try graph.apply((["a", "b", "c"] as [Value]).map { graph.upsert("Entry", $0) })
        }
        let places = "SELECT e.id FROM List_entries j JOIN Entry e ON e.pk = j.destination ORDER BY destinationPosition"
        let column = "SELECT id FROM Entry ORDER BY _list_position"
        let expected = try fixture.rows(column)
        #expect(try fixture.rows("SELECT DISTINCT _list_position FROM Entry").count == 3)
        func go(_ yaml: String) throws { try fixture.migrate(to: yaml) { $0.copyRowThreshold = copyRowThreshold } }
        let names = try ObjectModel.parse(orderedPairs).joinTables.map(\.name)
        let join = try #require(names.first)
        let isOwner = join == "List_entries"
        let pairs =
            isOwner
            ? places
            : places.replacingOccurrences(of: "List_entries", with: join)
                .replacingOccurrences(of: "j.destination", with: "j.owner")
                .replacingOccurrences(of: "destinationPosition", with: "ownerPosition")
        try go(orderedPairs)
        #expect(try fixture.rows(pairs) == expected)
        try go(orderedBoth)
        #expect(try fixture.rows(pairs) == expected)
        #expect(
            try fixture.rows("SELECT count(*) FROM \(join) WHERE ownerPosition IS NULL OR destinationPosition IS NULL")
                == [[0]])
        try go(orderedManyAgain)
        #expect(try fixture.rows(column) == expected)
        try go(unordered.replacingOccurrences(of: "version: 4", with: "version: 6"))
        #expect(try fixture.rows("SELECT count(*) FROM \(join)") == [[3]])
        try go(orderedPairs.replacingOccurrences(of: "version: 2", with: "version: 7"))
        #expect(try fixture.rows(pairs).count == 3)
    }

    // MARK: Constraints

    private static func constrained(_ unique: String, version: String = "2") -> String {
        model(
            """
            Box: { identity: id, attributes: { id: { type: string } }, relationships: { items: { to: Item, many: true, inverse: box } } }
            Item: { identity: id, attributes: { id: { type: string }, place: { type: integer64, optional: true } }, relationships: { box: { to: Box, inverse: items, optional: true } }\(unique) }
            """, version: version)
    }

    private func boxes(_ places: [Property]) throws -> MigrationFixture {
        try MigrationFixture(Self.constrained("", version: "1")) { graph in
            try graph.apply(
                places.enumerated().map { index, place in
                    graph.upsert("Item", .text("i\(index)"), ["place": place, "box": "b"])
                })
        }
    }

    @Test func `a compound constraint needs rows that keep it`() throws {
        let yaml = Self.constrained(", unique: [[box, place]]")
        let crowded = try boxes([1, 2, 1])
        let (code, details) = try crowded.refusal(to: yaml)
        #expect(code == "migration.rows" && details.contains("the values of box, place are not unique"))
        // Where one of the values is null there is no conflict.
        let sparse = try boxes([1, .value(.null), .value(.null)])
        try sparse.migrate(to: yaml)
        #expect(
            try sparse.rows("SELECT count(*) FROM pragma_index_list('Item') WHERE name = 'Item.box.place.unique'") == [
                [1]
            ])
        try sparse.migrate(to: Self.constrained("", version: "3"))
        #expect(try sparse.rows("SELECT count(*) FROM pragma_index_list('Item') WHERE \"unique\"") == [[1]])
    }

    @Test func `a constraint of a parent binds all its objects`() throws {
        let fixture = try familyStore()
        let unique = Self.family.replacingOccurrences(
            of: "Thing: { abstract: true,", with: "Thing: { abstract: true, unique: [[title, box]],"
        )
        .replacingOccurrences(of: "version: 2", with: "version: 3")
        try fixture.use { try $0.apply([$0.upsert("Small", "s1", ["title": "x"])]) }
        let (code, details) = try fixture.refusal(to: unique)
        #expect(code == "migration.rows" && details.contains("Thing: the values of title, box are not unique"))
        try fixture.use { try $0.apply([$0.upsert("Small", "s1", ["title": "y"])]) }
        try fixture.migrate(to: unique)
    }

    @Test(arguments: [Int64.max, 0])
    func `an identity that a mapping computes for a sub-entity is unique in the whole hierarchy`(
        _ threshold: Int64
    ) throws {
        let fixture = try familyStore()
        try fixture.use { try $0.apply([$0.upsert("Small", "s1", ["note": "i1"])]) }
        let before = try fixture.dump()
        let next = Self.family.replacingOccurrences(of: "version: 2", with: "version: 3")
            .replacingOccurrences(
                of: "default: none }", with: "default: none }, more: { type: string, optional: true }")
        let (code, details) = try fixture.refusal(to: next) {
            $0.copyRowThreshold = threshold
            $0.mapping = try? MigrationMapping.parse("entities: { Small: { id: note } }")
        }
        #expect(code == "migration.rows")
        #expect(details.contains("Thing: the values of id are not unique: 1 row"))
        #expect(try fixture.dump() == before)
    }
}
