import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

/// The changes that a migration infers, each with rows.
@Suite struct LightweightMigrationTests {
    private func filled(_ attributes: String, _ values: [KeyValuePairs<String, Property>]) throws -> MigrationFixture {
        try MigrationFixture(entityModel(attributes)) { graph in
            try graph.apply(
                values.enumerated().map { graph.upsert("Item", .text("i\($0)"), $1) })
        }
    }

    private func column(_ fixture: MigrationFixture, _ name: String) throws -> [Value] {
        try fixture.rows("SELECT \"\(name)\" FROM Item ORDER BY id").map { $0[0] }
    }

    // MARK: Attributes

    @Test func `a migration of no store does nothing`() throws {
        let path = try TemporaryFolder().path("none.sqlite")
        #expect(try Migrator(path: path).migrate(to: configuredModel("chat")).method == .none)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `adds removes and renames attributes`() throws {
        let fixture = try filled(
            "a: { type: string }\nb: { type: integer64, optional: true }",
            [["a": "x", "b": 1], ["a": "y"]])
        let plan = try fixture.migrate(
            to: entityModel(
                "title: { type: string, renamedFrom: a }\nn: { type: integer16, default: 7 }\no: { type: date, optional: true }"
            ))
        #expect(plan.method == .inPlace && plan.droppedValues == ["Item.b": 1])
        #expect(plan.text.contains("  Item.b: attribute removed: was integer64 — inferred; 1 value is dropped\n"))
        #expect(try column(fixture, "title") == ["x", "y"])
        #expect(try column(fixture, "n") == [7, 7])
        #expect(try column(fixture, "o") == [.null, .null])
        #expect(try fixture.rows("SELECT count(*) FROM pragma_table_info('Item') WHERE name IN ('a', 'b')") == [[0]])
    }

    @Test func `adding an attribute does not copy the rows`() throws {
        let fixture = try filled("a: { type: string }", [["a": "x"]])
        let plan = try fixture.migrator().plan(
            to: try ObjectModel.parse(entityModel("a: { type: string }\nb: { type: string, optional: true }")))
        #expect(plan.steps.first?.action == "alter" && plan.steps.first?.rowCount == 0)
    }

    @Test func `a required attribute needs a default or no rows`() throws {
        let fixture = try filled("a: { type: string }", [["a": "x"]])
        let (code, details) = try fixture.refusal(to: entityModel("a: { type: string }\nb: { type: string }"))
        #expect(code == "migration.rows" && details.contains("Item.b is required") && details.contains("pk 1"))
        let empty = try MigrationFixture(entityModel("a: { type: string }"))
        try empty.migrate(to: entityModel("a: { type: string }\nb: { type: string }"))
    }

    @Test func `optional becomes required with its default`() throws {
        let fixture = try filled("a: { type: string, optional: true }", [["a": "x"], [:]])
        let (code, _) = try fixture.refusal(to: entityModel("a: { type: string }"))
        #expect(code == "migration.rows")
        try fixture.migrate(to: entityModel("a: { type: string, default: none }"))
        #expect(try column(fixture, "a") == ["x", "none"])
    }

    @Test func `required becomes optional without migration`() throws {
        let fixture = try filled("a: { type: string }", [["a": "x"]])
        let plan = try fixture.migrate(to: entityModel("a: { type: string, optional: true }"))
        #expect(plan.method == .none)
    }

    @Test func `a placeholder stays one and gets no defaults`() throws {
        let yaml = { (more: String) in
            entityModel("\(more)", "    relationships: { next: { to: Item, inverse: none, optional: true } }")
        }
        let fixture = try MigrationFixture(yaml("a: { type: string, optional: true }")) { graph in
            try graph.apply([graph.upsert("Item", "i0", ["next": "i1"])])
        }
        try fixture.migrate(to: yaml("a: { type: string, default: d }\nb: { type: integer64, default: 1 }"))
        #expect(
            try fixture.rows("SELECT id, a, b, _placeholder FROM Item ORDER BY id")
                == [["i0", "d", 1, 0], ["i1", .null, .null, 1]])
    }

    // MARK: Types

    @Test func `types widen and convert without loss`() throws {
        let fixture = try filled(
            "a: { type: integer16 }\nb: { type: integer64 }\nc: { type: string }\nd: { type: date }\ne: { type: uuid }",
            [
                [
                    "a": 3, "b": 5, "c": "12", "d": .value(.integer(1_000_000)),
                    "e": .value(.blob([UInt8](repeating: 17, count: 16))),
                ]
            ])
        try fixture.migrate(
            to: entityModel(
                "a: { type: integer64 }\nb: { type: double }\nc: { type: integer32 }\nd: { type: string }\ne: { type: string }"
            ))
        #expect(
            try fixture.rows("SELECT a, b, c, d, e FROM Item")
                == [[3, .double(5), 12, "1970-01-01T00:00:01Z", "11111111-1111-1111-1111-111111111111"]])
    }

    @Test func `a conversion that loses is refused with the row`() throws {
        let fixture = try filled("a: { type: string }", [["a": "1"], ["a": "two"], ["a": "three"]])
        let before = try fixture.dump()
        let (code, details) = try fixture.refusal(to: entityModel("a: { type: integer64 }"))
        #expect(code == "migration.rows" && details.contains("2 rows") && details.contains("pk 2"))
        #expect(try fixture.dump() == before)
        #expect(try fixture.refusal(to: entityModel("a: { type: binary }")).0 == "migration.rows")
        let dates = try filled("a: { type: date }", [["a": .value(.integer(0))]])
        #expect(try dates.refusal(to: entityModel("a: { type: integer64 }")).0 == "migration.not_inferable")
    }

    @Test(arguments: [
        ("decimal", "115792089237316195423570985008687907853269984665640564039457584007913129639935"),
        ("decimal", "1.00000000000000000000000000000000000000000001"), ("double", "12345678901234567890123"),
        ("double", "0x1p4"), ("float", "16777217"),
    ]) func `a text whose digits have no room is refused with the row`(_ type: String, _ text: String) throws {
        let fixture = try filled("a: { type: string }", [["a": "1.50"], ["a": .value(.text(text))]])
        let (code, details) = try fixture.refusal(to: entityModel("a: { type: \(type) }"))
        #expect(code == "migration.rows" && details.contains("1 row") && details.contains("pk 2"), "\(details)")
        // An expression loses nothing either.
        let mapping = try MigrationMapping.parse("entities:\n  Item:\n    a: trim(a)")
        #expect(try fixture.refusal(to: entityModel("a: { type: \(type) }")) { $0.mapping = mapping }.0 == code)
    }

    @Test(arguments: [
        ("integer64", "2134", "02134"), ("integer64", "5", "+5"), ("integer64", "5", "5.0"),
        ("double", "7.50", "007.5"),
        ("decimal", "12.50", "+12.50"), ("boolean", "true", "yes"),
        ("date", "2026-01-02", "2026-01-02T03:04:05.1234567Z"),
        ("date", "2026-01-02T03:04:05.123456000+01:00", "2016-12-31T23:59:60Z"), ("uri", "http://x/y", "http://x y"),
        ("uuid", "0f8fad5b-d9cb-469f-a165-70867728950e", "0F8FAD5B-D9CB-469F-A165-70867728950E"),
        ("binary", "QQ==", "QR=="),
    ]) func `a text that would lose something is refused with the row`(
        _ type: String, _ kept: String, _ lost: String
    ) throws {
        let fixture = try filled("a: { type: string }", [["a": .value(.text(kept))], ["a": .value(.text(lost))]])
        let (code, details) = try fixture.refusal(to: entityModel("a: { type: \(type) }"))
        #expect(code == "migration.rows" && details.contains("1 row") && details.contains("pk 2"), "\(details)")
        try filled("a: { type: string }", [["a": .value(.text(kept))]]).migrate(to: entityModel("a: { type: \(type) }"))
    }

    // MARK: Entities

    @Test func `entities are added removed and renamed`() throws {
        let first = """
            model: m
            entities:
              A: { identity: id, attributes: { id: { type: string }, n: { type: integer64, default: 1 } }, relationships: { b: { to: B, inverse: as, optional: true } } }
              B: { identity: id, attributes: { id: { type: string }, count: { type: integer64, derived: as.@count } }, relationships: { as: { to: A, many: true, inverse: b }, tags: { to: T, many: true, inverse: bs } } }
              T: { identity: id, attributes: { id: { type: string } }, relationships: { bs: { to: B, many: true, inverse: tags } } }
              Gone: { identity: id, attributes: { id: { type: string } } }
            """
        let fixture = try MigrationFixture(first) { graph in
            try graph.apply([
                graph.upsert("B", "b1", ["tags": .replace(["t1", "t2"])]), graph.upsert("A", "a1", ["b": "b1"]),
                graph.upsert("T", "t1"), graph.upsert("Gone", "g"), graph.delete("B", "b0"), graph.upsert("T", "t2"),
            ])
        }
        try fixture.migrate(
            to: """
                model: m
                version: 2
                entities:
                  A: { identity: id, attributes: { id: { type: string }, n: { type: integer64, default: 1 } }, relationships: { parent: { to: Box, inverse: as, optional: true, renamedFrom: b } } }
                  Box: { renamedFrom: B, identity: id, attributes: { id: { type: string }, count: { type: integer64, derived: as.@count }, sum: { type: integer64, derived: as.n.@sum } }, relationships: { as: { to: A, many: true, inverse: parent }, labels: { to: T, many: true, inverse: boxes, renamedFrom: tags } } }
                  T: { identity: id, attributes: { id: { type: string } }, relationships: { boxes: { to: Box, many: true, inverse: labels, renamedFrom: bs } } }
                  New: { identity: id, attributes: { id: { type: string } } }
                """)
        #expect(try fixture.rows("SELECT id, count, sum FROM Box") == [["b1", 1, 1]])
        #expect(try fixture.rows("SELECT labels FROM Box_readable") == [[.text(#"["t1","t2"]"#)]])
        #expect(try fixture.rows("SELECT entity, identity FROM _tombstone") == [["Box", "b0"]])
        #expect(
            try fixture.rows("SELECT DISTINCT entity FROM _history_change ORDER BY 1")
                == [["A"], ["Box"], ["Gone"], ["T"]])
        try fixture.use { graph in
            try graph.apply([graph.upsert("A", "a2", ["parent": "b1"]), graph.upsert("New", "n")])
            #expect(try graph.value("Box", "b1", "count") == 2)
        }
    }

    @Test(arguments: [false, true])
    func `an entity that goes leaves the identities of its objects in the history`(isCopied: Bool) throws {
        let kept = "model: m\nentities:\n  A: { identity: id, attributes: { id: { type: string } } }\n"
        let names = (0..<20).map { Value.text("gone \($0)") }
        let fixture = try MigrationFixture(
            kept
                + "  Gone: { identity: id, attributes: { id: { type: string }, n: { type: integer64, optional: true } } }"
        ) { graph in
            try graph.apply(names.map { graph.upsert("Gone", $0) } + [graph.upsert("A", "a")])
            try graph.apply(names[5..<15].map { graph.upsert("Gone", $0, ["n": .value(.integer(1))]) })
            try graph.apply([graph.delete("Gone", names[7])])
        }
        let before = try fixture.rows("SELECT token, entity, identity, change, properties FROM _history ORDER BY 1, 3")
        try fixture.migrate(to: kept) { if isCopied { $0.copyRowThreshold = 0 } }
        let after = try fixture.rows(
            "SELECT token, entity, identity, change, properties FROM _history WHERE token < 4 ORDER BY 1, 3")
        #expect(before.count == 32 && after == before)
        #expect(try fixture.rows("SELECT count(*) FROM _history_range WHERE entity = 'Gone'") == [[0]])
    }

    @Test func `two entities may exchange their names`() throws {
        let fixture = try MigrationFixture(
            """
            model: m
            entities:
              A: { identity: id, attributes: { id: { type: string } } }
              B: { identity: id, attributes: { id: { type: string } } }
            """
        ) { graph in
            try graph.apply([graph.upsert("A", "a"), graph.upsert("B", "b1"), graph.upsert("B", "b2")])
        }
        try fixture.migrate(
            to: """
                model: m
                entities:
                  A: { renamedFrom: B, identity: id, attributes: { id: { type: string } } }
                  B: { renamedFrom: A, identity: id, attributes: { id: { type: string } } }
                """)
        #expect(try fixture.rows("SELECT id FROM A ORDER BY 1") == [["b1"], ["b2"]])
        #expect(try fixture.rows("SELECT entity, next FROM _sequence ORDER BY 1") == [["A", 3], ["B", 2]])
    }

    /// Renaming identifiers are canonical: the first name leads from any version to any later one.
    @Test func `renaming works across versions`() throws {
        let versions = [
            entityModel("a: { type: string }"), entityModel("b: { type: string, renamedFrom: a }", version: "2"),
            entityModel("c: { type: string, renamedFrom: a }", version: "3"),
        ]
        for path in [[0, 2], [0, 1, 2]] {
            let fixture = try MigrationFixture(versions[0]) { try $0.apply([$0.upsert("Item", "i", ["a": "x"])]) }
            for index in path.dropFirst() { try fixture.migrate(to: versions[index]) }
            #expect(try column(fixture, "c") == ["x"])
        }
    }

    // MARK: Hierarchies

    @Test func `an entity gets a parent and its properties move up`() throws {
        let fixture = try MigrationFixture(
            entityModel("name: { type: string }\nsize: { type: integer64 }")
        ) { try $0.apply([$0.upsert("Item", "i", ["name": "x", "size": 3])]) }
        try fixture.migrate(
            to: """
                model: small
                entities:
                  Thing: { abstract: true, identity: id, attributes: { id: { type: string }, name: { type: string } } }
                  Item: { parent: Thing, attributes: { size: { type: integer64 } } }
                  Other: { parent: Thing }
                """)
        #expect(try fixture.rows("SELECT pk, id, name, size, _entity FROM Thing") == [[1, "i", "x", 3, "Item"]])
        // And back again, down the hierarchy.
        try fixture.migrate(to: entityModel("name: { type: string }\nsize: { type: integer64 }", version: "0.1")) {
            $0.allowsOlderModel = true
        }
        #expect(try fixture.rows("SELECT pk, id, name, size FROM Item") == [[1, "i", "x", 3]])
    }

    @Test func `hierarchies without common parent are not merged`() throws {
        let fixture = try MigrationFixture(
            """
            model: m
            entities:
              A: { identity: id, attributes: { id: { type: string } } }
              B: { identity: id, attributes: { id: { type: string } } }
            """)
        let (code, details) = try fixture.refusal(
            to: """
                model: m
                entities:
                  P: { abstract: true, identity: id, attributes: { id: { type: string } } }
                  A: { parent: P }
                  B: { parent: P }
                """)
        #expect(code == "migration.not_inferable" && details.contains("no common parent"))
    }

    // MARK: Relationships

    private func pair(_ a: String, _ b: String) -> String {
        """
        model: m
        entities:
          A: { identity: id, attributes: { id: { type: string } }, relationships: { \(a) } }
          B: { identity: id, attributes: { id: { type: string } }, relationships: { \(b) } }
        """
    }

    private let one = ("b: { to: B, inverse: as, optional: true }", "as: { to: A, many: true, inverse: b }")
    private let many = ("b: { to: B, many: true, inverse: as }", "as: { to: A, many: true, inverse: b }")
    private let ordered = (
        "b: { to: B, inverse: as, optional: true }", "as: { to: A, many: true, ordered: true, inverse: b }"
    )

    private func linked(_ model: (String, String), several: Bool = false) throws -> MigrationFixture {
        try MigrationFixture(pair(model.0, model.1)) { graph in
            try graph.apply([
                graph.upsert("B", "b1"), graph.upsert("B", "b2"),
                graph.upsert(
                    "A", "a1", ["b": model.0.contains("many") ? .replace(several ? ["b1", "b2"] : ["b1"]) : "b1"]),
                graph.upsert("A", "a2", ["b": model.0.contains("many") ? .replace(["b1"]) : "b1"]),
            ])
        }
    }

    @Test func `to-one becomes to-many and back`() throws {
        let fixture = try linked(one)
        try fixture.migrate(to: pair(many.0, many.1))
        #expect(
            try fixture.rows("SELECT id, b FROM A_readable") == [
                ["a1", .text("[\"b1\"]")], ["a2", .text("[\"b1\"]")],
            ])
        try fixture.migrate(to: pair(one.0, one.1)) { $0.allowsOlderModel = true }
        #expect(try fixture.rows("SELECT id, b FROM A_readable") == [["a1", "b1"], ["a2", "b1"]])
        let crowded = try linked(many, several: true)
        let (code, details) = try crowded.refusal(to: pair(one.0, one.1))
        #expect(code == "migration.rows" && details.contains("A.b may lead to one object only"))
    }

    @Test func `unordered becomes ordered and back`() throws {
        let fixture = try linked(one)
        try fixture.migrate(to: pair(ordered.0, ordered.1))
        #expect(try fixture.rows("SELECT id FROM A WHERE _b_position IS NULL") == [])
        try fixture.migrate(to: pair(one.0, one.1)) { $0.allowsOlderModel = true }
        #expect(try fixture.rows("SELECT id, b FROM A_readable") == [["a1", "b1"], ["a2", "b1"]])
    }

    @Test func `an inverse is added to a relationship that had none`() throws {
        let fixture = try linked(("b: { to: B, inverse: none, optional: true }", ""))
        try fixture.migrate(to: pair(one.0, one.1))
        #expect(try fixture.rows("SELECT count(*) FROM A WHERE b = 1") == [[2]])
        let (code, _) = try fixture.refusal(
            to: pair("b: { to: B, inverse: a, optional: true }", "a: { to: A, inverse: b, optional: true }"))
        #expect(code == "migration.rows")
    }

    @Test func `relationships are added and removed`() throws {
        let fixture = try linked(one)
        try fixture.migrate(to: pair("", ""))
        #expect(try fixture.rows("SELECT count(*) FROM A") == [[2]])
        try fixture.migrate(to: pair(one.0, one.1)) { $0.allowsOlderModel = true }
        #expect(try fixture.rows("SELECT count(b) FROM A") == [[0]])
        let (code, details) = try fixture.refusal(
            to: pair("b: { to: B, inverse: as, optional: true }, c: { to: B, inverse: none }", one.1))
        #expect(code == "migration.rows" && details.contains("A.c is required"))
    }

    // MARK: Constraints and identities

    @Test func `a uniqueness constraint needs unique rows`() throws {
        let fixture = try filled("a: { type: string }", [["a": "x"], ["a": "y"], ["a": "x"]])
        let (code, details) = try fixture.refusal(to: entityModel("a: { type: string, unique: true }"))
        #expect(code == "migration.rows" && details.contains("not unique"))
        let good = try filled("a: { type: string }", [["a": "x"], ["a": "y"]])
        try good.migrate(to: entityModel("a: { type: string, unique: true }"))
    }

    @Test func `another attribute becomes the identity`() throws {
        let fixture = try filled("code: { type: string }", [["code": "x"], ["code": "y"]])
        try fixture.use { try $0.apply([$0.delete("Item", "old")]) }
        try fixture.migrate(
            to: """
                model: small
                entities:
                  Item: { identity: code, attributes: { id: { type: string }, code: { type: string } } }
                """)
        #expect(try fixture.rows("SELECT count(*) FROM _tombstone") == [[0]])
        try fixture.use { try $0.apply([$0.upsert("Item", "x", ["id": "new"])]) }
        #expect(try fixture.rows("SELECT id FROM Item WHERE code = 'x'") == [["new"]])
    }

    @Test func `a hidden identity is filled`() throws {
        let fixture = try filled("a: { type: string }", [["a": "x"], ["a": "y"]])
        let hidden = try CoreDataModels.read(
            "<entity name=\"Item\"><attribute name=\"id\" attributeType=\"String\"/><attribute name=\"a\" attributeType=\"String\"/></entity>"
        )
        try fixture.migrator().migrate(to: hidden)
        try fixture.adopt(hidden)
        #expect(try fixture.rows("SELECT count(DISTINCT _identity), min(length(_identity)) FROM Item") == [[2, 16]])
    }
}
