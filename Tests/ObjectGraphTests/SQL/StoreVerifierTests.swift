import GRDB
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Sound stores are found sound, and every kind of damage is found: a store is spoilt by hand for each.
struct StoreVerifierTests {
    private static let relations = """
        model: relations
        version: 1
        entities:
          Person:
            identity: id
            attributes:
              id: { type: string }
              age: { type: integer64, optional: true }
              friendsCount: { type: integer64, derived: friends.@count }
              weights: { type: double, derived: things.weight.@sum }
              ages: { type: integer64, derived: things.age.@sum }
            relationships:
              spouse: { to: Person, inverse: spouse, delete: nullify, optional: true }
              friends: { to: Person, many: true, inverse: friends, delete: nullify }
              passport: { to: Passport, inverse: person, delete: cascade, optional: true }
              things: { to: Thing, many: true, inverse: owner, delete: noAction }
          Passport:
            identity: id
            attributes: { id: { type: uuid } }
            relationships:
              person: { to: Person, inverse: passport, delete: nullify }
          Thing:
            identity: id
            attributes:
              id: { type: string }
              weight: { type: double, optional: true }
              age: { type: integer32, default: 1 }
            relationships:
              owner: { to: Person, inverse: things, delete: nullify, optional: true }
        """

    static func workOrders(_ storage: TestStorage = .sqlite) throws -> ReadingFixture {
        let model = try ReadingFixture.model(.workOrders)
        func up(_ entity: String, _ id: String, _ said: [String: ReadingFixture.Said]) -> ChangeSet {
            ReadingFixture.upsert(model, entity, id, said)
        }
        var events = [up("Asset", "a1", ["name": .text("Pump")])]
        for number in 1...20 {
            events.append(
                up(
                    "WorkOrder", "w\(number)",
                    [
                        "cost": .text("\(number).25"), "taxRate": .text("0.19"),
                        "asset": .one(number % 2 == 0 ? "a1" : nil),
                        "technicians": .many(["t1", "t\(number)"]),
                    ]))
            events.append(
                up(
                    "ChecklistItem", "c\(number)",
                    ["workOrder": .one("w\(number % 5 + 1)"), "minutes": .text("\(number)")]))
        }
        events.append(ReadingFixture.delete(model, "WorkOrder", "w3", time: 1))
        return try ReadingFixture(model: model, events, storage: storage)
    }

    static func people(_ storage: TestStorage = .sqlite) throws -> ReadingFixture {
        let model = try ObjectModel.parse(relations)
        func up(_ entity: String, _ id: String, _ said: [String: ReadingFixture.Said]) -> ChangeSet {
            ReadingFixture.upsert(model, entity, id, said)
        }
        let passport = "123e4567-e89b-12d3-a456-426614174000"
        return try ReadingFixture(
            model: model,
            [
                up(
                    "Person", "p1", ["spouse": .one("p2"), "friends": .many(["p2", "p3"]), "passport": .one(passport)]),
                up("Person", "p2", ["friends": .many(["p1", "p4"])]), up("Person", "p3", [:]), up("Person", "p4", [:]),
                up("Passport", passport, [:]),
                up("Thing", "t1", ["owner": .one("p3"), "weight": .text("0.1")]),
                up("Thing", "t2", ["owner": .one("p3"), "weight": .text("0.2"), "age": .text("-7")]),
                up("Thing", "t3", ["owner": .one("p4"), "weight": .text("5")]),
                ReadingFixture.delete(model, "Person", "p4"),
            ], storage: storage)
    }

    @Test(arguments: [TestStorage.sqlite, .postgres])
    func `the share of a verification grows from 0 towards 1, also inside of checks with slices`(
        _ storage: TestStorage
    ) throws {
        let fixture = try Self.workOrders(storage)
        for slices in [VerificationSlices(rowCount: 2), VerificationSlices(rowCount: 2, renewsSnapshots: true)] {
            var steps: [VerificationStep] = []
            let report = try fixture.store.verify(slices) { steps.append($0) }
            #expect(report.isSound, "\(report.text)")
            #expect(steps.first?.share == 0 && steps.allSatisfy { $0.share < 1 })
            for (before, after) in zip(steps, steps.dropFirst()) {
                #expect(before.share <= after.share && before.checkedCount <= after.checkedCount, "\(before), \(after)")
            }
            let inValues = Set(steps.filter { $0.check == "values" }.map(\.share))
            #expect(inValues.count > 3 || storage == .postgres, "\(inValues)")
        }
    }

    @Test func `finds sound stores sound`() throws {
        for fixture in [try Self.workOrders(), try Self.people(), try ReadingFixture(.chat)] {
            var names: [String] = []
            let report = try fixture.store.verify { names.append($0) }
            #expect(report.isSound, "\(report.text)")
            #expect(names == report.checks.map(\.name))
            #expect(report.checks.count == 17)
        }
        let report = try Self.workOrders().store.verify()
        #expect(report.check(named: "derived")?.checkedCount == 79)
        #expect(report.check(named: "links")?.checkedCount ?? 0 > 30)
    }

    @Test func `leaves dangling references of no action alone`() throws {
        let fixture = try Self.people()
        let queue = try DatabaseQueue(path: fixture.store.path)
        let dangling = "SELECT id FROM Thing WHERE owner IS NOT NULL AND owner NOT IN (SELECT pk FROM Person)"
        #expect(try queue.read { try String.fetchAll($0, sql: dangling) } == ["t3"])
        try queue.close()
        // Conditions read such a reference as null.
        #expect(try fixture.identities("Thing", "owner = nil") == ["t3"])
        #expect(try fixture.store.verify().isSound)
    }

    struct Canary: Sendable, CustomTestStringConvertible {
        let check: String
        let sql: String
        var property: String?
        var others: Set<String> = []
        var testDescription: String { "\(check): \(sql)" }
    }

    @Test(arguments: [
        Canary(check: "required", sql: "UPDATE WorkOrder SET status = NULL WHERE id = 'w1'", property: "status"),
        Canary(
            check: "identities",
            sql: "DROP INDEX \"WorkOrder.id\"; UPDATE WorkOrder SET id = 'w1' WHERE id = 'w2'", property: "id"),
        Canary(check: "identities", sql: "UPDATE WorkOrder SET id = NULL WHERE id = 'w2'", property: "id"),
        Canary(
            check: "references", sql: "UPDATE WorkOrder SET asset = 999 WHERE id = 'w2'", property: "asset",
            others: ["foreignKeys", "derived"]),
        Canary(
            check: "foreignKeys", sql: "UPDATE ChecklistItem SET workOrder = 999 WHERE id = 'c1'",
            others: ["references", "derived"]),
        Canary(
            check: "links", sql: "INSERT INTO Technician_workOrders VALUES (999, 1)", property: "owner",
            others: ["foreignKeys"]),
        Canary(
            check: "derived", sql: "UPDATE WorkOrder SET checklistCount = 7 WHERE id = 'w1'", property: "checklistCount"
        ),
        Canary(
            check: "derived", sql: "UPDATE WorkOrder SET checklistCount = NULL WHERE id = 'w1'",
            property: "checklistCount"),
        Canary(
            check: "derived", sql: "UPDATE WorkOrder SET minutesPlanned = -1 WHERE id = 'w1'",
            property: "minutesPlanned"),
        Canary(check: "derived", sql: "UPDATE WorkOrder SET totalCost = '1' WHERE id = 'w1'", property: "totalCost"),
        Canary(check: "derived", sql: "UPDATE Asset SET maintenanceCost = '1.5'", property: "maintenanceCost"),
        Canary(check: "derived", sql: "UPDATE Asset SET workOrdersCount = 0", property: "workOrdersCount"),
        Canary(
            check: "derived", sql: "UPDATE Technician SET workOrdersCount = 0 WHERE id = 't1'",
            property: "workOrdersCount"),
        Canary(check: "history", sql: "DELETE FROM _history_change WHERE id = (SELECT min(id) FROM _history_change)"),
        Canary(check: "history", sql: "UPDATE _history_change SET token = 99"),
        Canary(check: "history", sql: "UPDATE _history_transaction SET firstChange = firstChange + 1"),
        Canary(check: "history", sql: "UPDATE _history_transaction SET changeCount = 0"),
        Canary(check: "history", sql: "DELETE FROM _history_transaction"),
        Canary(check: "history", sql: "UPDATE _history_change SET entity = 'Nothing'"),
        Canary(check: "history", sql: "DELETE FROM _history_range WHERE id = (SELECT min(id) FROM _history_range)"),
        Canary(check: "history", sql: "UPDATE _history_range SET token = 99"),
        Canary(check: "history", sql: "UPDATE _history_range SET entity = 'Nothing'"),
        Canary(check: "history", sql: "UPDATE _history_range SET count = count - 1"),
        Canary(check: "history", sql: "INSERT INTO _cursor VALUES ('publisher', 99, 0)"),
        Canary(
            check: "history",
            sql: "INSERT INTO _history_change (id, token, entity, object, change) VALUES (9999, 1, 'Asset', 1, 1)"),
        Canary(check: "tombstones", sql: "INSERT INTO _tombstone VALUES ('WorkOrder', 'w1', NULL, NULL, 1, 0)"),
        Canary(check: "tombstones", sql: "INSERT INTO _tombstone VALUES ('Nothing', 'w1', NULL, NULL, 1, 0)"),
        Canary(check: "positions", sql: "INSERT INTO _position VALUES ('topic', 0, -1, NULL)", property: "nextOffset"),
        Canary(check: "keys", sql: "UPDATE _sequence SET next = 3 WHERE entity = 'WorkOrder'", property: "pk"),
        Canary(check: "keys", sql: "DELETE FROM _sequence WHERE entity = 'WorkOrder'", property: "pk"),
    ])
    func `the verifier finds damage`(_ canary: Canary) throws {
        try expect(canary, in: try Self.workOrders())
    }

    @Test(arguments: [
        Canary(check: "inverses", sql: "UPDATE Person SET spouse = NULL WHERE id = 'p2'", property: "spouse"),
        Canary(check: "inverses", sql: "UPDATE Person SET spouse = 3 WHERE id = 'p2'", property: "spouse"),
        Canary(
            check: "inverses", sql: "UPDATE Passport SET person = 3", property: "passport"),
        Canary(
            check: "links", sql: "DELETE FROM Person_friends WHERE owner = 1 AND destination = 3", property: "friends",
            others: ["derived"]),
        Canary(check: "derived", sql: "UPDATE Person SET friendsCount = 9 WHERE id = 'p1'", property: "friendsCount"),
        Canary(check: "derived", sql: "UPDATE Person SET weights = 0.25 WHERE id = 'p3'", property: "weights"),
        Canary(check: "derived", sql: "UPDATE Person SET ages = 6 WHERE id = 'p3'", property: "ages"),
    ])
    func `finds damage between people`(_ canary: Canary) throws {
        try expect(canary, in: try Self.people())
    }

    /// A number made of such a key would begin the slices again.
    @Test func `a verification ends where keys of links are texts`() throws {
        let fixture = try Self.people()
        try fixture.damage("INSERT INTO Person_friends (owner, destination) VALUES ('x', 'y'), ('x', 'z'), ('y', 'x')")
        let report = try fixture.store.verify(VerificationSlices(rowCount: 1, renewsSnapshots: true))
        #expect(report.check(named: "links")?.problemCount ?? 0 > 0, "\(report.text)")
    }

    private func expect(_ canary: Canary, in fixture: ReadingFixture) throws {
        try fixture.damage(canary.sql)
        let report = try fixture.store.verify()
        let check = try #require(report.check(named: canary.check))
        #expect(check.problemCount > 0, "\(report.text)")
        #expect(!report.isSound)
        if let property = canary.property {
            #expect(check.problems.contains { $0.property == property }, "\(report.text)")
        }
        let found = Set(report.checks.filter { $0.problemCount > 0 }.map(\.name))
        #expect(found == canary.others.union([canary.check]), "\(report.text)")
        // Slices of two rows find the same.
        let sliced = try fixture.store.verify(VerificationSlices(rowCount: 2, renewsSnapshots: true))
        #expect(sliced.checks.dropFirst() == report.checks.dropFirst(), "\(sliced.text)")
    }

    static let loose = """
        model: loose
        entities:
          Visit:
            identity: id
            attributes: { id: { type: string }, note: { type: string, optional: true } }
            relationships:
              host:   { to: Person, inverse: none }
              guests: { to: Person, many: true, inverse: none, optional: false, minCount: 2 }
          Person:
            identity: id
            attributes: { id: { type: string } }
        """

    /// A visit whose host and one of its two guests were deleted, which the missing inverses allow.
    static func visit(_ storage: TestStorage, path: String? = nil) throws -> Graph {
        let graph = try Graph(ObjectModel.parse(loose), path: path, storage: storage)
        try graph.apply(
            graph.upsert("Visit", "v", ["note": "long", "host": "a", "guests": ["a", "b"]]),
            graph.upsert("Person", "a"), graph.upsert("Person", "b"), graph.delete("Person", "a"))
        return graph
    }

    /// The model of ``visit(_:path:)`` after its limit was tightened, which needs no migration.
    static func tightened() throws -> ObjectModel {
        try ObjectModel.parse(
            loose.replacingFirst("note: { type: string,", "note: { type: string, maxLength: 3,"))
    }

    @Test(arguments: [TestStorage.sqlite, .postgres])
    func `objects that break a rule lawfully are problems and no damage`(_ storage: TestStorage) throws {
        let store = try Self.visit(storage).store
        let report = try store.verify()
        #expect(
            report.checks.flatMap(\.problems).map(\.description) == [
                "Visit v.host: is required and has no value (1570, validation.required)",
                "Visit v.guests: needs at least 2 objects, this one has 1 (1580, validation.min_count)",
            ])
        #expect(!report.isSound && !report.isDamaged && report.damage.isEmpty)
        try ReadingFixture(store).damage("UPDATE \"Visit\" SET note = NULL, id = NULL")
        let damaged = try store.verify()
        #expect(damaged.isDamaged && damaged.damageNumber == "1 problem", "\(damaged.text)")
        #expect(damaged.problemCount == 3)
    }

    /// A check of rules that cannot read the rows may have met damage.
    @Test func `a check that cannot be made is damage`() throws {
        var check = VerificationReport.Check(name: "limits")
        for number in 1...200 { check.report("Visit", "v\(number)", "note", "is too long") }
        #expect(!VerificationReport(checks: [check]).isDamaged)
        check.reportUnreadable("the disk image is malformed")
        #expect(VerificationReport(checks: [check]).isDamaged && check.problemCount == 201)
        #expect(check.problems.count == VerificationReport.Check.maximumProblemCount)
    }

    @Test func `finds a damaged index`() throws {
        let fixture = try Self.workOrders()
        try fixture.damage(
            """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_master SET sql = replace(sql, '("startDate")', '("updatedAt")') WHERE name = 'WorkOrder.startDate';
            UPDATE WorkOrder SET updatedAt = 5 WHERE id = 'w1'
            """)
        let other = try Store.openForReading(path: fixture.store.path, model: fixture.model)
        let report = try other.verify()
        #expect(report.isFileDamaged, "\(report.text)")
        #expect(!other.needsVerification)
        other.noteDamage()
        #expect(other.needsVerification)
        other.storage.noteSound()
        let sliced = try other.verify(.ofManySnapshots)
        #expect(sliced.check(named: "integrity")?.problemCount ?? 0 > 0, "\(sliced.text)")
        try other.close()
    }

    @Test func `keeps a hundred problems and counts all`() throws {
        let model = try ReadingFixture.model(.chat)
        let fixture = try ReadingFixture(
            model: model, (1...150).map { ReadingFixture.upsert(model, "Message", "x\($0)", ["chat": .one("c1")]) })
        try fixture.damage("UPDATE Message SET seq = NULL")
        let report = try fixture.store.verify()
        let check = try #require(report.check(named: "required"))
        #expect(check.problemCount == 150)
        #expect(check.problems.count == 100)
        #expect(report.text.contains("and 50 more"))
        #expect(report.text.contains("The store has 150 problems."))
        let json = report.json
        #expect(json.hasPrefix(#"{"isSound":false,"isDamaged":true,"problemCount":150,"checks":[{"name":"integrity","#))
        #expect(
            json.contains(
                #"{"entity":"Message","identity":"x1","property":"seq","what":"is required and has no value (1570, validation.required)"}"#
            ))
    }

    @Test func `sums whole numbers beyond 32 bits`() throws {
        let model = try ObjectModel.parse(
            """
            model: m
            entities:
              Box:
                identity: id
                attributes:
                  id: { type: string }
                  total: { type: integer64, derived: items.size.@sum }
                relationships:
                  items: { to: Item, many: true, inverse: box, delete: cascade }
              Item:
                identity: id
                attributes: { id: { type: string }, size: { type: integer64 } }
                relationships:
                  box: { to: Box, inverse: items, delete: nullify }
            """)
        let sizes = ["9000000000000000", "-1", "-4294967296", "4294967295"]
        let fixture = try ReadingFixture(
            model: model,
            sizes.enumerated().map {
                ReadingFixture.upsert(model, "Item", "i\($0)", ["size": .text($1), "box": .one("b")])
            })
        #expect(try fixture.identities("Box", "total = 8999999999999998") == ["b"])
        #expect(try fixture.store.verify().isSound)
    }

    @Test func `stays sound after a purge`() throws {
        let fixture = try Self.workOrders()
        let writer = try WriterContext(store: fixture.store)
        _ = try writer.purgeHistory(before: .max)
        try writer.close()
        #expect(try fixture.store.verify().isSound)
        try fixture.apply([fixture.upsert("Asset", "a9")])
        let report = try fixture.store.verify()
        #expect(report.isSound, "\(report.text)")
        try fixture.damage("UPDATE _history_transaction SET token = 1")
        #expect(try fixture.store.verify().check(named: "history")?.problemCount == 2)
    }

    @Test func `finds values beyond the limits of today`() throws {
        func yaml(_ limits: String, _ counts: String) -> String {
            """
            entities:
              Box:
                identity: id
                attributes: { id: { type: string }, name: { type: string, optional: true\(limits) } }
                relationships: { items: { to: Item, many: true, inverse: box\(counts) } }
              Item:
                identity: id
                attributes: { id: { type: string } }
                relationships: { box: { to: Box, inverse: items, optional: true } }
            """
        }
        let folder = try TemporaryFolder()
        let path = folder.path("store.sqlite")
        let graph = try Graph(ObjectModel.parse(yaml("", "")), path: path)
        try graph.apply(
            graph.upsert("Box", "a", ["name": "AB", "items": ["i"]]),
            graph.upsert("Box", "b", ["items": ["j", "k", "l"]]),
            graph.upsert("Box", "c"))
        #expect(try graph.store.verify().isSound)
        let model = try ObjectModel.parse(yaml(", maxLength: 1, pattern: '^[a-z]*$'", ", minCount: 2, maxCount: 2"))
        let report = try Store.openForReading(path: path, model: model).verify()
        #expect(
            report.check(named: "limits")?.problems.map { $0.what } == [
                "may have at most 1 character, this one has 2 (1660, validation.max_length)",
                "has to match the pattern ^[a-z]*$ (1680, validation.pattern)",
            ])
        #expect(
            report.check(named: "counts")?.problems.map { $0.description } == [
                "Box a.items: needs at least 2 objects, this one has 1 (1580, validation.min_count)",
                "Box b.items: may have at most 2 objects, this one has 3 (1590, validation.max_count)",
            ])
    }
}
