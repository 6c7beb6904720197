import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

/// Staged migrations: which stages are run, what closures may do, and that a rehearsal changes nothing.
@Suite struct MigrationStageTests {
    private struct Fault: Error {}

    private func model(_ attributes: String, _ version: String) throws -> ObjectModel {
        try ObjectModel.parse(entityModel(attributes, version: version))
    }

    private func mapping(_ text: String) throws -> MigrationMapping { try MigrationMapping.parse(text) }

    private func versions() throws -> [ObjectModel] {
        [
            try model("priority: { type: string }", "1"), try model("priority: { type: integer16 }", "2"),
            try model("priority: { type: integer16 }\nlabel: { type: string }", "3"),
        ]
    }

    private func stages(_ versions: [ObjectModel]) throws -> [MigrationStage] {
        [
            .lightweight(
                to: versions[1],
                mapping: try mapping(
                    "entities: { Item: { priority: { from: priority, map: { low: 1, high: 3 }, otherwise: 0 } } }")),
            .lightweight(to: versions[2], mapping: try mapping("entities: { Item: { label: \"'p' + priority\" } }")),
        ]
    }

    private func filled(_ model: ObjectModel) throws -> MigrationFixture {
        try MigrationFixture(model.yaml) { graph in
            try graph.apply([
                graph.upsert("Item", "a", ["priority": "low"]), graph.upsert("Item", "b", ["priority": "odd"]),
            ])
        }
    }

    @Test func `each stage has its mapping`() throws {
        let versions = try versions()
        let fixture = try filled(versions[0])
        let plan = try fixture.migrator().migrate(through: try stages(versions))
        try fixture.adopt(versions[2])
        #expect(
            try fixture.rows("SELECT id, priority, label FROM Item ORDER BY id") == [["a", 1, "p1"], ["b", 0, "p0"]])
        #expect(plan.steps.filter { $0.action == "stage" }.count == 2)
        #expect(
            try fixture.rows("SELECT context FROM _history_transaction WHERE author = 'migration' ORDER BY token")
                == [["small 1 → small 2"], ["small 2 → small 3"]])
    }

    /// The stages that a store has behind it do not count: the last one, left alone, is copied.
    @Test func `the last stage of several is copied when it is all that is left`() throws {
        let versions = try versions()
        let fixture = try MigrationFixture(versions[1].yaml) { graph in
            try graph.apply([graph.upsert("Item", "a", ["priority": 1])])
        }
        let plan = try fixture.migrator { $0.copyRowThreshold = 1 }.migrate(through: try stages(versions))
        #expect(plan.method == .copy && plan.notes.isEmpty)
        try fixture.adopt(versions[2])
    }

    @Test func `a rehearsal of stages changes nothing`() throws {
        let versions = try versions()
        let fixture = try filled(versions[0])
        let before = try fixture.dump()
        let plan = try fixture.migrator().plan(through: try stages(versions))
        #expect(plan.steps.contains { $0.text == "stage 2: small 2 → small 3" } && plan.rowCount == 2)
        #expect(try fixture.dump() == before)
        try fixture.expectOld()
    }

    @Test func `a stage that rows stand against is named`() throws {
        let versions = try versions()
        let fixture = try filled(versions[0])
        let before = try fixture.dump()
        var list = try stages(versions)
        list[1] = .lightweight(to: versions[2])
        do {
            try fixture.migrator().migrate(through: list)
            Issue.record("a required attribute came from nowhere")
        } catch let error as MigrationError {
            #expect(error.code == .rows && error.message.contains("Stage 2, small 2 → small 3"))
        }
        #expect(try fixture.dump() == before)
        list[0] = .lightweight(to: try model("priority: { type: binary }\nx: { type: date }", "2"))
        list[1] = .lightweight(to: try model("priority: { type: binary }\nx: { type: boolean }", "3"))
        #expect(throws: MigrationError.self) { try fixture.migrator().migrate(through: list) }
        #expect(try fixture.dump() == before)
    }

    /// Whichever way it goes: what a later stage's models forbid is not found only when rows no longer stand against the
    /// first.
    @Test(arguments: [0, Int64.max]) func `refusals by any stage's model come before the first row is read`(
        _ threshold: Int64
    ) throws {
        let versions = try [
            model("priority: { type: string }", "1"), model("priority: { type: integer16 }", "2"),
            model("priority: { type: uuid }", "3"),
        ]
        let fixture = try filled(versions[0])
        let list: [MigrationStage] = [
            .lightweight(
                to: versions[1],
                mapping: try mapping("entities: { Item: { priority: { from: priority, map: { low: 1 } } } }")),
            .lightweight(to: versions[2]),
        ]
        for isRehearsal in [true, false] {
            let migrator = fixture.migrator { $0.copyRowThreshold = threshold }
            let error = #expect(throws: MigrationError.self) {
                if isRehearsal { _ = try migrator.plan(through: list) } else { try migrator.migrate(through: list) }
            }
            #expect(
                error?.code == .notInferable && error?.message.hasPrefix("Stage 2,") == true,
                "\(String(describing: error))")
        }
        try fixture.expectOld()
    }

    @Test func `a store in the middle begins there`() throws {
        let versions = try versions()
        let fixture = try filled(versions[0])
        let all = try stages(versions)
        try fixture.migrator().migrate(through: [all[0]])
        let plan = try fixture.migrator().migrate(through: all)
        #expect(plan.source == "small 2")
        try fixture.adopt(versions[2])
        #expect(try fixture.migrator().migrate(through: all).method == .none)
    }

    /// The very model counts: a stage may change rows without changing what a store looks like.
    @Test func `a stage that changes only rows is run once`() throws {
        let (one, two) = (try model("n: { type: integer64 }", "1"), try model("n: { type: integer64, max: 9 }", "2"))
        let fixture = try MigrationFixture(one.yaml) { try $0.apply([$0.upsert("Item", "a", ["n": 12])]) }
        var count = 0
        let stage = MigrationStage.custom(
            from: one, to: two,
            didMigrate: { context in
                count += 1
                try context.rows(of: "Item") { row in
                    try context.update("Item", pk: row.pk, ["n": .integer(min(9, row["n"]?.integer ?? 0))])
                }
            })
        try fixture.migrator().migrate(through: [stage])
        try fixture.migrator().migrate(through: [stage])
        try fixture.adopt(two)
        #expect(count == 1)
        #expect(try fixture.rows("SELECT n FROM Item") == [[9]])
    }

    // MARK: Closures

    private static let flat = """
        model: m
        version: 1
        entities:
          Person: { identity: id, attributes: { id: { type: string }, street: { type: string, optional: true } } }
        """
    private static let split = """
        model: m
        version: 2
        entities:
          Person: { identity: id, attributes: { id: { type: string }, street: { type: string, optional: true } }, relationships: { home: { to: Place, inverse: people, optional: true }, tags: { to: Tag, many: true, ordered: true, inverse: people } } }
          Place: { identity: name, attributes: { name: { type: string }, kind: { type: string, default: home }, count: { type: integer64, derived: people.@count } }, relationships: { people: { to: Person, many: true, ordered: true, inverse: home } } }
          Tag: { identity: name, attributes: { name: { type: string } }, relationships: { people: { to: Person, many: true, inverse: tags } } }
        """

    private func people() throws -> MigrationFixture {
        try MigrationFixture(Self.flat) { graph in
            try graph.apply([
                graph.upsert("Person", "a", ["street": "Elm"]), graph.upsert("Person", "b", ["street": "Oak"]),
                graph.upsert("Person", "c", ["street": "Elm"]), graph.upsert("Person", "gone"),
            ])
        }
    }

    private func splitting(_ more: @escaping MigrationStage.Body = { _ in }) throws -> [MigrationStage] {
        [
            .custom(
                from: try ObjectModel.parse(Self.flat), to: try ObjectModel.parse(Self.split),
                didMigrate: { context in
                    var places: [String: Int64] = [:]
                    let tag = try context.insert("Tag", ["name": .text("old")])
                    try context.rows(of: "Person") { row in
                        guard let street = row["street"]?.text else {
                            try context.delete("Person", pk: row.pk)
                            return
                        }
                        let place = try places[street] ?? context.insert("Place", ["name": .text(street)])
                        places[street] = place
                        try context.link("Person", pk: row.pk, "home", to: place)
                        try context.link("Person", pk: row.pk, "tags", to: tag)
                    }
                    try more(context)
                })
        ]
    }

    @Test func `closures split an entity`() throws {
        let fixture = try people()
        try fixture.migrator().migrate(through: try splitting())
        try fixture.adopt(try ObjectModel.parse(Self.split))
        #expect(
            try fixture.rows("SELECT name, kind, count FROM Place ORDER BY name") == [
                ["Elm", "home", 2], ["Oak", "home", 1],
            ])
        #expect(try fixture.rows("SELECT id FROM Person ORDER BY id") == [["a"], ["b"], ["c"]])
        #expect(try fixture.rows("SELECT count(*), count(destinationPosition) FROM Person_tags") == [[3, 3]])
        try fixture.use { graph in
            try graph.apply([graph.upsert("Place", "Ash")])
            #expect(try graph.value("SELECT pk FROM Place WHERE name = 'Ash'") == 3)
        }
    }

    @Test func `a migration refuses rows that a closure breaks`() throws {
        let fixture = try people()
        let before = try fixture.dump()
        let bodies: [(String, MigrationStage.Body)] = [
            ("dangling", { try $0.update("Person", pk: 1, ["home": 99]) }),
            ("required", { try $0.update("Place", pk: 1, ["kind": .null]) }),
            ("no entity", { try $0.update("Nobody", pk: 1, [:]) }),
            ("no property", { try $0.update("Person", pk: 1, ["age": 1]) }),
            ("type", { try $0.update("Person", pk: 1, ["street": 1]) }),
            ("identity", { try $0.insert("Place", [:]) }),
            ("unique", { try $0.insert("Place", ["name": "Elm"]) }),
            ("relationship", { try $0.link("Person", pk: 1, "street", to: 1) }),
            ("derived", { try $0.update("Place", pk: 1, ["people": 1]) }),
        ]
        for (name, body) in bodies {
            #expect(throws: (any Error).self, "\(name)") {
                try fixture.migrator().migrate(through: try splitting(body))
            }
            #expect(try fixture.dump() == before, "\(name)")
        }
    }

    /// The deletion of a destination asks no rule of a relationship without inverse.
    @Test func `a custom stage takes objects that break a rule lawfully`() throws {
        let folder = try TemporaryFolder()
        let graph = try StoreVerifierTests.visit(.sqlite, path: folder.path("store.sqlite"))
        let old = graph.model
        try graph.writer.close()
        try graph.store.close()
        let new = try ObjectModel.parse(
            StoreVerifierTests.loose.replacingFirst("note: {", "mark: { type: string, optional: true }, note: {"))
        try Migrator(path: folder.path("store.sqlite")).migrate(through: [
            .custom(from: old, to: new, didMigrate: { try $0.update("Visit", pk: 1, ["mark": .text("seen")]) })
        ])
        let store = try Store.openForReading(path: folder.path("store.sqlite"), model: new)
        #expect(try !store.verify().isDamaged)
        try store.close()
    }

    @Test func `a fault in either closure leaves the store`() throws {
        let fixture = try people()
        let before = try fixture.dump()
        #expect(throws: Fault.self) {
            try fixture.migrator().migrate(through: try splitting { _ in throw Fault() })
        }
        let (old, new) = (try ObjectModel.parse(Self.flat), try ObjectModel.parse(Self.split))
        #expect(throws: Fault.self) {
            try fixture.migrator().migrate(through: [
                .custom(
                    from: old, to: new,
                    willMigrate: { context in
                        try context.delete("Person", pk: 1)
                        throw Fault()
                    })
            ])
        }
        #expect(try fixture.dump() == before)
    }

    @Test func `no stage begins at the store's model`() throws {
        let fixture = try people()
        let other = try model("n: { type: integer64 }", "1")
        do {
            try fixture.migrator().migrate(through: [.custom(from: other, to: try ObjectModel.parse(Self.split))])
            Issue.record("a stage from another model was run")
        } catch let error as MigrationError {
            #expect(error.code == .missingStage && error.remedy.contains("unharmed"))
        }
        #expect(throws: MigrationError.self) { try fixture.migrator().migrate(through: []) }
    }

    // MARK: Files

    @Test func `stages are read from a file`() throws {
        let folder = try TemporaryFolder()
        let versions = try versions()
        for (index, version) in versions.enumerated() {
            try version.yaml.write(toFile: folder.path("m\(index + 1).yaml"), atomically: true, encoding: .utf8)
        }
        let file = folder.path("stages.yaml")
        try """
        stages:
          - model: m2.yaml
            entities:
              Item:
                priority: { from: priority, map: { low: 1, high: 3 }, otherwise: 0 }
          - model: m3.yaml
            entities: { Item: { label: "'p' + priority" } }
        """.write(toFile: file, atomically: true, encoding: .utf8)
        let fixture = try filled(versions[0])
        try fixture.migrator().migrate(through: try MigrationStage.load(path: file))
        try fixture.adopt(versions[2])
        #expect(try fixture.rows("SELECT label FROM Item ORDER BY id") == [["p1"], ["p0"]])
    }

    @Test(arguments: [
        ("stages: [", "not YAML"), ("models: []", "no list of stages"), ("stages: []", "no list of stages"),
        ("stages:\n  - entities: {}", ":2: A stage names no model"),
        ("stages:\n  - model: none.yaml", "none.yaml"),
        ("stages:\n  - model: m.yaml\n    mapping: x", ":3: 'mapping' is no key"),
        ("stages:\n  - model: m.yaml\n    entities:\n      Item:\n        a: upper(", ":5: The expression of Item.a"),
    ])
    func `a wrong file of stages is refused with its place`(_ text: String, _ complaint: String) throws {
        let folder = try TemporaryFolder()
        try entityModel("a: { type: string }").write(
            toFile: folder.path("m.yaml"), atomically: true, encoding: .utf8)
        try text.write(toFile: folder.path("stages.yaml"), atomically: true, encoding: .utf8)
        do throws(ModelError) {
            _ = try MigrationStage.load(path: folder.path("stages.yaml"))
            Issue.record("it was read")
        } catch {
            #expect(error.description.contains(complaint), "\(error)")
        }
        #expect(throws: ModelError.self) { try MigrationStage.load(path: folder.path("absent.yaml")) }
    }
}
