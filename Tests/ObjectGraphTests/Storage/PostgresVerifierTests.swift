import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage

/// A store in PostgreSQL is verified and repaired as one in SQLite: the same damage gives the same report.
@Suite struct PostgresVerifierTests {
    private func report(_ fixture: ReadingFixture) throws -> VerificationReport { try fixture.store.verify() }

    /// The lines of a report; those of one check come in any order.
    private func lines(_ report: VerificationReport, without checks: Set<String> = []) -> [String] {
        report.checks.filter { !checks.contains($0.name) }.flatMap { check in
            ["\(check.name) \(check.checkedCount)"] + check.problems.map { "\($0)" }.sorted()
        }
    }

    @Test func `a sound store is found sound, with as much checked as in SQLite`() throws {
        for make in [{ try StoreVerifierTests.workOrders($0) }, StoreVerifierTests.people] {
            let (there, here) = (try report(make(.postgres)), try report(make(.sqlite)))
            #expect(there.isSound, "\(there.text)")
            #expect(lines(there) == lines(here))
        }
        let hierarchy = try TestStorage.postgres.store(ObjectModel.parse(Models.derived))
        #expect(try hierarchy.verify().isSound)
    }

    struct Damage: Sendable, CustomTestStringConvertible {
        let check: String
        let sql: String
        var testDescription: String { "\(check): \(sql)" }
    }

    private static let firstChange = "(SELECT min(id) FROM _history_change)"

    @Test(arguments: [
        Damage(check: "required", sql: "UPDATE \"WorkOrder\" SET status = NULL WHERE id = 'w1'"),
        Damage(check: "identities", sql: "UPDATE \"WorkOrder\" SET id = NULL WHERE id = 'w2'"),
        Damage(check: "references", sql: "UPDATE \"WorkOrder\" SET asset = 999 WHERE id = 'w2'"),
        Damage(check: "foreignKeys", sql: "UPDATE \"ChecklistItem\" SET \"workOrder\" = 999 WHERE id = 'c1'"),
        Damage(check: "links", sql: "INSERT INTO \"Technician_workOrders\" VALUES (999, 1)"),
        Damage(check: "derived", sql: "UPDATE \"WorkOrder\" SET \"checklistCount\" = 7 WHERE id = 'w1'"),
        Damage(check: "derived", sql: "UPDATE \"WorkOrder\" SET \"checklistCount\" = NULL WHERE id = 'w1'"),
        Damage(check: "derived", sql: "UPDATE \"WorkOrder\" SET \"minutesPlanned\" = -1 WHERE id = 'w1'"),
        Damage(check: "derived", sql: "UPDATE \"WorkOrder\" SET \"totalCost\" = '1' WHERE id = 'w1'"),
        Damage(check: "derived", sql: "UPDATE \"Asset\" SET \"maintenanceCost\" = '1.5'"),
        Damage(check: "derived", sql: "UPDATE \"Asset\" SET \"workOrdersCount\" = 0"),
        Damage(check: "derived", sql: "UPDATE \"Technician\" SET \"workOrdersCount\" = 0 WHERE id = 't1'"),
        Damage(check: "history", sql: "DELETE FROM _history_change WHERE id = \(firstChange)"),
        Damage(check: "history", sql: "UPDATE _history_change SET token = 99 WHERE id = \(firstChange)"),
        Damage(check: "history", sql: "UPDATE _history_transaction SET \"firstChange\" = \"firstChange\" + 1"),
        Damage(check: "history", sql: "UPDATE _history_transaction SET \"changeCount\" = 0"),
        Damage(check: "history", sql: "DELETE FROM _history_transaction"),
        Damage(check: "history", sql: "UPDATE _history_change SET entity = 'Nothing' WHERE id = \(firstChange)"),
        Damage(check: "history", sql: "INSERT INTO _cursor VALUES ('publisher', 99, 0)"),
        Damage(
            check: "history",
            sql: "INSERT INTO _history_change (id, token, entity, object, change) VALUES (9999, 1, 'Asset', 1, 1)"),
        Damage(
            check: "history",
            sql: "INSERT INTO _history_range VALUES (9999, 2, 1, 'Asset', 1, 2, '[1]', 1, NULL)"),
        Damage(check: "history", sql: "DELETE FROM _history_range"),
        Damage(check: "history", sql: "UPDATE _history_range SET token = 99"),
        Damage(check: "history", sql: "UPDATE _history_range SET count = count - 1"),
        Damage(check: "history", sql: "UPDATE _history_range SET entity = 'Nothing'"),
        Damage(check: "values", sql: "UPDATE _history_change SET tombstone = '{' WHERE id = \(firstChange)"),
        Damage(check: "positions", sql: "INSERT INTO _position VALUES ('topic', 0, -1, NULL)"),
        Damage(check: "keys", sql: "UPDATE _sequence SET next = 3 WHERE entity = 'WorkOrder'"),
        Damage(check: "keys", sql: "DELETE FROM _sequence WHERE entity = 'WorkOrder'"),
    ])
    func `damage is found in the words of SQLite`(_ damage: Damage) throws {
        let (there, here) = (
            try StoreVerifierTests.workOrders(.postgres), try StoreVerifierTests.workOrders()
        )
        for fixture in [there, here] { try fixture.damage(damage.sql) }
        let (found, expected) = (try report(there), try report(here))
        #expect(found.check(named: damage.check)?.problemCount ?? 0 > 0, "\(found.text)")
        // Of a link, SQLite's own check of keys names no row.
        let other: Set = damage.check == "links" ? ["foreignKeys"] : []
        #expect(lines(found, without: other) == lines(expected, without: other))
    }

    @Test(arguments: [
        Damage(check: "inverses", sql: "UPDATE \"Person\" SET spouse = NULL WHERE id = 'p2'"),
        Damage(check: "inverses", sql: "UPDATE \"Passport\" SET person = 3"),
        Damage(check: "links", sql: "DELETE FROM \"Person_friends\" WHERE owner = 1 AND destination = 3"),
        Damage(check: "derived", sql: "UPDATE \"Person\" SET weights = 0.25 WHERE id = 'p3'"),
        Damage(check: "derived", sql: "UPDATE \"Person\" SET ages = 6 WHERE id = 'p3'"),
    ])
    func `damage between people is found in the words of SQLite`(_ damage: Damage) throws {
        let (there, here) = (try StoreVerifierTests.people(.postgres), try StoreVerifierTests.people())
        for fixture in [there, here] { try fixture.damage(damage.sql) }
        let (found, expected) = (try report(there), try report(here))
        #expect(found.check(named: damage.check)?.problemCount ?? 0 > 0, "\(found.text)")
        #expect(lines(found) == lines(expected))
    }

    @Test func `the verifier finds faults that only PostgreSQL can have`() throws {
        let damages = [
            ("identities", "DROP INDEX \"WorkOrder_id_idx\"; UPDATE \"WorkOrder\" SET id = 'w1' WHERE id = 'w2'"),
            ("integrity", "UPDATE pg_index SET indisvalid = false WHERE indexrelid = '\"WorkOrder_id_idx\"'::regclass"),
            ("tombstones", "INSERT INTO _tombstone VALUES ('WorkOrder', 'tw1', NULL, NULL, 1, 0)"),
            ("tombstones", "INSERT INTO _tombstone VALUES ('Nothing', 'tw1', NULL, NULL, 1, 0)"),
            ("history", "UPDATE _token SET token = 0"),
            ("limits", "ALTER TABLE \"WorkOrder\" DROP COLUMN status CASCADE"),
        ]
        for (name, sql) in damages {
            let fixture = try StoreVerifierTests.workOrders(.postgres)
            try fixture.damage(sql)
            let report = try report(fixture)
            #expect(report.check(named: name)?.problemCount ?? 0 > 0, "\(sql)\n\(report.text)")
            // The checks behind a statement that failed are made.
            #expect(report.check(named: "keys")?.checkedCount ?? 0 > 0)
        }
    }

    @Test func `the tombstone of an object that is there is found for each type of identity`() throws {
        let fixture = try StoreVerifierTests.people(.postgres)
        try fixture.damage(
            """
            INSERT INTO _tombstone SELECT 'Passport', '\\x78'::bytea || uuid_send(id), NULL, NULL, 1, 0 FROM "Passport"
            """)
        let check = try #require(report(fixture).check(named: "tombstones"))
        #expect(
            check.problems.map(\.description) == [
                "Passport 123e4567-e89b-12d3-a456-426614174000: is there and has a tombstone"
            ])
    }

    @Test(arguments: [1, 2, 20_000]) func `slices of tombstones find all objects that are there`(_ length: Int) throws {
        let fixture = try StoreVerifierTests.workOrders(.postgres)
        // A number, and a text that no column holds, are bounds of slices too.
        try fixture.damage(
            """
            INSERT INTO _tombstone SELECT 'WorkOrder', '\\x74'::bytea || convert_to(id, 'UTF8'), NULL, NULL, 1, 0 \
            FROM "WorkOrder" UNION VALUES ('WorkOrder', '\\x690000000000000001'::bytea, NULL::bytea, NULL::int8, 1, 0), \
            ('WorkOrder', '\\x747700', NULL, NULL, 1, 0)
            """)
        let check = try #require(
            fixture.store.verify(VerificationSlices(rowCount: length)).check(named: "tombstones"))
        let count = try fixture.store.read { try $0.count(FetchRequest("WorkOrder")) }
        #expect(count > 1 && check.problemCount == count)
    }

    // MARK: Repair

    @Test(arguments: [1, 7, 5000]) func `a repair mends what it mends in SQLite`(_ chunkLength: Int) throws {
        var (texts, dumps, changes) = ([String](), [String](), [[String]]())
        for storage in [TestStorage.postgres, .sqlite] {
            let graph = try StoreRepairTests.graph(storage)
            try graph.writer.commit()
            let fixture = ReadingFixture(graph.store)
            for sql in [
                "UPDATE \"Chat\" SET count = 3, size = NULL, largest = 99, cheapest = '4', weight = 9, team = 77",
                "UPDATE \"Message\" SET \"chatTitle\" = 'X' WHERE id IN ('m3', 'm4')",
                "UPDATE \"Team\" SET spread = -1, \"messagesCount\" = 0",
                "UPDATE \"Message\" SET loud = NULL WHERE id = 'm5'",
                "UPDATE \"Message\" SET pin = 77 WHERE id IN ('m1', 'm2')",
                "INSERT INTO \"Chat_tags\" (owner, destination) VALUES (1, 55), (56, 1)",
                "INSERT INTO \"Chat_marks\" (owner, destination) VALUES (1, 58)",
            ] { try fixture.damage(sql) }
            #expect(try !graph.store.verify().isSound)
            let report = try graph.writer.repair(chunkLength: chunkLength)
            #expect(report.remaining.isSound && report.danglingReferenceCount == 3, "\(report.text)")
            texts.append(report.text)
            dumps.append(try graph.store.canonicalText())
            changes.append(try graph.history(after: 1).sorted())
            try graph.apply(graph.upsert("Message", "n", ["chat": "c"]))
            #expect(try graph.store.verify().isSound)
        }
        #expect(texts[0] == texts[1] && changes[0] == changes[1])
        #expect(dumps[0] == dumps[1])
    }
}

extension Store {
    /// The canonical dump.
    func canonicalText() throws -> String {
        var text = ""
        try read { try $0.canonicalDump { text += $0 } }
        return text
    }
}
