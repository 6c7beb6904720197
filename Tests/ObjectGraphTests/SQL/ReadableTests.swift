import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// The store is for anyone with the program `sqlite3`.
@Suite struct ReadableTests {
    @Test func `views show dates UUIDs and identities`() throws {
        let folder = try TemporaryFolder()
        let model = try ObjectModel.parse(
            """
            entities:
              Thing:
                identity: key
                attributes:
                  key: { type: uuid }
                  at: { type: date, optional: true }
                relationships:
                  next: { to: Thing, inverse: previous, optional: true }
                  previous: { to: Thing, inverse: next, optional: true }
                  tags: { to: Tag, many: true, inverse: none }
              Tag:
                identity: id
                attributes: { id: { type: integer32 } }
            """)
        let graph = try Graph(model, path: folder.path("s.sqlite"))
        let (one, two) = (Value.blob([UInt8](repeating: 0xAB, count: 16)), Value.blob(Array(0..<16)))
        try graph.apply(
            graph.upsert("Thing", one, ["at": 1_704_164_645_000_000, "next": .value(two), "tags": [7, 3]]),
            graph.upsert("Thing", two, ["at": -1]))
        try graph.writer.close()
        #expect(
            try SQLiteProgram.run(
                folder.path("s.sqlite"), "SELECT key, at, next, previous, tags, _placeholder FROM Thing_readable")
                    == """
                    abababab-abab-abab-abab-abababababab|2024-01-02T03:04:05Z|00010203-0405-0607-0809-0a0b0c0d0e0f||[3,7]|0
                    00010203-0405-0607-0809-0a0b0c0d0e0f|1969-12-31T23:59:59.999999Z||abababab-abab-abab-abab-abababababab|[]|0

                    """)
        #expect(
            try SQLiteProgram.run(folder.path("s.sqlite"), "PRAGMA foreign_key_check; PRAGMA integrity_check") == "ok\n"
        )
    }

    @Test func `configured stores are clean`() throws {
        let folder = try TemporaryFolder()
        for name in ["chat", "work-orders"] {
            let model = try configuredModel(name)
            let graph = try Graph(model, path: folder.path("\(name).sqlite"))
            var generator = EventGenerator(model, seed: 5)
            try graph.apply(generator.events(200))
            try graph.writer.close()
            for entity in model.entities {
                let sql = "SELECT count(*) > 0 FROM \(entity.name)_readable"
                #expect(try SQLiteProgram.run(folder.path("\(name).sqlite"), sql) == "1\n")
            }
            let checks = "PRAGMA foreign_key_check; PRAGMA integrity_check; SELECT count(*) > 0 FROM _history"
            #expect(try SQLiteProgram.run(folder.path("\(name).sqlite"), checks) == "ok\n1\n")
        }
    }

    /// The checker has to see what it is there for: a store damaged by hand.
    @Test(arguments: [
        ("UPDATE Person SET reportsCount = 5 WHERE id = 'a'", "reportsCount"),
        ("UPDATE Person SET reportsSalary = reportsSalary + 1 WHERE id = 'b'", "reportsSalary"),
        ("UPDATE Person SET friendsSalary = NULL WHERE id = 'b'", "friendsSalary"),
        ("DELETE FROM Person_friends WHERE owner = 1 AND destination = 2", "not symmetric"),
        ("UPDATE Person SET spouse = NULL WHERE id = 'a'", "not mutual"),
        ("PRAGMA foreign_keys = 0; UPDATE Person SET manager = 99 WHERE id = 'a'", "dangles"),
        ("PRAGMA foreign_keys = 0; UPDATE Person SET manager = 99 WHERE id = 'a'", "foreign key"),
        ("UPDATE Person SET salary = NULL WHERE id = 'c'", "required and null"),
        ("INSERT INTO _tombstone VALUES ('Person', 'a', NULL, NULL, 0, 0)", "has a tombstone"),
    ]) func `checker sees planted damage`(_ sql: String, _ finding: String) throws {
        let folder = try TemporaryFolder()
        let model = try ObjectModel.parse(Models.people)
        let graph = try Graph(model, path: folder.path("s.sqlite"))
        try graph.apply(
            graph.upsert("Person", "a", ["friends": ["b"], "spouse": "b", "manager": "b"]), graph.upsert("Person", "b"),
            graph.upsert("Person", "c"))
        #expect(try StoreCheck.problems(graph) == [])
        try SQLiteProgram.run(folder.path("s.sqlite"), sql)
        let problems = try StoreCheck.problems(graph)
        #expect(problems.contains { $0.contains(finding) }, "\(problems)")
    }
}
