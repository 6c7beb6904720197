import Foundation
import GRDB
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Whatever happens, the store is as it was or wholly migrated.
@Suite struct MigrationSafetyTests {
    private struct Fault: Error {}

    private static let second = """
        model: m
        version: 2
        entities:
          Room:
            renamedFrom: Chat
            identity: id
            attributes: { id: { type: string }, title: { type: string, default: none }, n: { type: integer64 }, count: { type: integer64, derived: messages.@count }, size: { type: integer64, derived: messages.size.@sum } }
            relationships: { messages: { to: Message, many: true, ordered: true, inverse: room, delete: cascade }, tags: { to: Tag, many: true, inverse: rooms } }
          Message:
            identity: id
            attributes: { id: { type: string }, size: { type: integer64, default: 2 } }
            relationships: { room: { to: Room, inverse: messages, optional: true, renamedFrom: chat } }
          Tag: { identity: id, attributes: { id: { type: string } }, relationships: { rooms: { to: Room, many: true, inverse: tags } } }
        """

    private func filled() throws -> MigrationFixture { try .chats(title: "t") }

    private func expectMigrated(_ fixture: MigrationFixture) throws {
        try fixture.adopt(try ObjectModel.parse(Self.second))
        #expect(
            try fixture.rows("SELECT id, title, n, count, size FROM Room ORDER BY id")
                == [["c0", "t", 1, 14, 28], ["c1", "none", 1, 13, 26], ["c2", .null, .null, 13, 26]])
        #expect(try fixture.rows("SELECT tags FROM Room_readable WHERE id = 'c0'") == [[.text(#"["t1","t2"]"#)]])
    }

    @Test(arguments: [0, Int64.max])
    func `the steps of a migration add up to all rows`(_ copyRowThreshold: Int64) throws {
        let fixture = try filled()
        var steps: [Migrator.Step] = []
        try fixture.migrator {
            $0.copyRowThreshold = copyRowThreshold
            $0.copyBatchRows = 7
            $0.progress = { steps.append($0) }
        }.migrate(to: try ObjectModel.parse(Self.second))
        var (total, copied, objects) = (Int64(-1), Int64(0), Int64(0))
        for step in steps {
            if case .copying(let rowCount, 1, 1) = step { total = rowCount }
            if case .copied(let rowCount, _) = step { copied += rowCount }
            objects += step.copiedObjects
        }
        // A chain copies the history, too. In place the tags stay where they are.
        let isChain = copyRowThreshold == 0
        #expect(total == copied && (isChain ? objects == 45 && copied > objects : objects == copied && copied > 0))
        #expect(steps.contains(.backingUp) != isChain && steps.last == .finishing)
    }

    @Test(arguments: [0, Int64.max])
    func `a migration follows a symbolic link, which stays one`(_ copyRowThreshold: Int64) throws {
        let fixture = try filled()
        let folder = try TemporaryFolder()
        let link = folder.path("link.sqlite")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: fixture.path)
        var options = Migrator.Options()
        options.copyRowThreshold = copyRowThreshold
        try Migrator(path: link, options: options).migrate(to: try ObjectModel.parse(Self.second))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == fixture.path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("")) == ["link.sqlite"])
        try expectMigrated(fixture)
    }

    @Test(arguments: [0, Int64.max])
    func `a store whose disk failed is verified before it is migrated`(_ copyRowThreshold: Int64) throws {
        let fixture = try filled()
        try fixture.use { graph in graph.store.storage.note(StoreError(resultCode: 10, action: "save the chunk")) }
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(path: fixture.path, configuration: configuration)
        try queue.write { try $0.execute(sql: "UPDATE Message SET chat = 4242 WHERE id = 'm1'") }
        try queue.close()
        let migrator = fixture.migrator { $0.copyRowThreshold = copyRowThreshold }
        let error = #expect(throws: StoreError.self) { try migrator.migrate(to: try ObjectModel.parse(Self.second)) }
        #expect(error?.code == .corrupt)
        #expect(try StoreDescription.read(path: fixture.path) != nil)
        #expect(FileManager.default.fileExists(atPath: fixture.path + "-suspect"))
    }

    @Test func `after a fault at any statement the old store is whole`() throws {
        let fixture = try filled()
        let before = try fixture.dump()
        var failAt = 0
        while true {
            var count = 0
            do {
                try fixture.migrator {
                    $0.willExecute = { _ in
                        count += 1
                        if count > failAt { throw Fault() }
                    }
                }.migrate(to: try ObjectModel.parse(Self.second))
                break
            } catch is Fault {
                failAt += 1
                #expect(try fixture.dump() == before)
            }
        }
        #expect(failAt > 20)
        try expectMigrated(fixture)
    }

    /// A copy that is cut short is resumed; until its end the old store is in its place.
    @Test func `after a fault at any statement a copy goes on`() throws {
        let fixture = try filled()
        var copied: [Int64] = []
        var failAt = 0
        while true {
            var count = 0
            do {
                try fixture.migrator {
                    $0.copyRowThreshold = 0
                    $0.copyBatchRows = 5
                    $0.progress = { copied.append($0.copiedObjects) }
                    $0.willExecute = { _ in
                        count += 1
                        if count > failAt { throw Fault() }
                    }
                }.migrate(to: try ObjectModel.parse(Self.second))
                break
            } catch is Fault {
                failAt = max(1, failAt + (count <= failAt ? 1 : 3))
                let store = try Store.openForReading(path: fixture.path, model: fixture.model)
                #expect(try store.identity() != "")
                try store.close()
            }
        }
        // No batch was copied twice.
        #expect(copied.reduce(0, +) == 45)
        try expectMigrated(fixture)
    }

    @Test func `a copy begins again where the store was written since`() throws {
        let fixture = try filled()
        var count = 0
        #expect(throws: Fault.self) {
            try fixture.migrator {
                $0.copyRowThreshold = 0
                $0.copyBatchRows = 5
                $0.willExecute = { _ in
                    count += 1
                    if count > 5 { throw Fault() }
                }
            }.migrate(to: try ObjectModel.parse(Self.second))
        }
        try fixture.use { try $0.apply([$0.upsert("Message", "m0", ["size": 100])]) }
        try fixture.migrate(to: Self.second) { $0.copyRowThreshold = 0 }
        #expect(try fixture.rows("SELECT size FROM Room WHERE id = 'c0'") == [[126]])
    }

    @Test func `both ways give the same store`() throws {
        let (moved, copied) = (try filled(), try filled())
        try moved.migrate(to: Self.second)
        try copied.migrate(to: Self.second) {
            $0.copyRowThreshold = 0
            $0.copyBatchRows = 7
        }
        #expect(try moved.dump() == copied.dump())
    }

    @Test func `a dry run changes nothing`() throws {
        let fixture = try filled()
        let before = try Data(contentsOf: URL(fileURLWithPath: fixture.path))
        let plan = try fixture.migrator().plan(to: try ObjectModel.parse(Self.second))
        #expect(plan.rowCount > 40 && plan.problems.isEmpty && plan.method == .inPlace)
        #expect(plan.text.contains("copy the rows of") || plan.text.contains("alter the table"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.path)) == before)
    }

    @Test func `a store keeps its identity numbering and cursors`() throws {
        let fixture = try filled()
        func facts() throws -> [[Value]] {
            try fixture.rows(
                """
                SELECT (SELECT value FROM _metadata WHERE key = 'storeID'), (SELECT max(id) FROM _history_change), \
                (SELECT count(*) FROM _tombstone), (SELECT max(pk) FROM Message)
                """)
        }
        let before = try facts()
        let token = try fixture.rows("SELECT max(token) FROM _history_transaction")[0][0].integer ?? 0
        try fixture.migrate(to: Self.second)
        #expect(try facts() == before)
        #expect(
            try fixture.rows("SELECT author, context, changeCount FROM _history_transaction WHERE token = \(token + 1)")
                == [["migration", "m 1 → m 2", 0]])
        try fixture.use { try $0.apply([$0.upsert("Tag", "t9")]) }
        #expect(try fixture.rows("SELECT max(token) FROM _history_transaction") == [[.integer(token + 2)]])
    }

    @Test func `the backup is the old store`() throws {
        let fixture = try filled()
        let before = try fixture.dump()
        let migrator = fixture.migrator { $0.keepsBackup = true }
        let plan = try migrator.migrate(to: try ObjectModel.parse(Self.second))
        let path = try #require(plan.backup)
        #expect(path.hasPrefix(fixture.path + ".backup-"))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        // It is no leftover: migrating again, which does nothing, lets it be.
        try fixture.migrate(to: Self.second)
        let backup = try Store.openForReading(path: path, model: try ObjectModel.parse(MigrationFixture.chats))
        var text = ""
        try backup.read { try $0.canonicalDump { text += $0 } }
        #expect(text == before)
    }

    @Test func `a worker's lease keeps a migration out`() throws {
        let fixture = try filled()
        try fixture.use { _ in
            #expect(throws: StoreError.self) {
                try fixture.migrator().migrate(to: try ObjectModel.parse(Self.second))
            }
        }
    }

    @Test func `a newer store is refused unharmed`() throws {
        let fixture = try filled()
        let old = fixture.model
        try fixture.migrate(to: Self.second)
        let after = try fixture.dump()
        #expect(try fixture.refusal(to: MigrationFixture.chats).0 == "migration.newer_model")
        do {
            _ = try Store.open(path: fixture.path, model: old)
            Issue.record("an older model opened the store")
        } catch {
            #expect(error.code == .modelMismatch && error.remedy.contains("newer"))
        }
        #expect(try fixture.dump() == after)
    }

    @Test func `another model says which command migrates`() throws {
        let fixture = try filled()
        do {
            _ = try Store.open(path: fixture.path, model: try ObjectModel.parse(Self.second))
            Issue.record("another model opened the store")
        } catch let error as StoreError {
            #expect(error.code == .modelMismatch && error.remedy.contains("ingest-worker migrate"))
        }
    }

    // MARK: The stored model

    @Test func `a store without its model gets it at the next opening`() throws {
        let fixture = try filled()
        try SQLiteProgram.run(fixture.path, "DELETE FROM _metadata WHERE key = 'modelYAML'")
        #expect(try fixture.refusal(to: Self.second).0 == "migration.missing_source")
        try fixture.use { _ in }
        #expect(
            try fixture.rows("SELECT value FROM _metadata WHERE key = 'modelYAML'") == [[.text(fixture.model.yaml)]])
        try SQLiteProgram.run(fixture.path, "DELETE FROM _metadata WHERE key = 'modelYAML'")
        try fixture.migrate(to: Self.second) { $0.sourceModel = try? ObjectModel.parse(MigrationFixture.chats) }
    }

    // MARK: Own work on the rows

    @Test func `a mapping computes what cannot be inferred`() throws {
        let fixture = try MigrationFixture(
            entityModel("priority: { type: string }\nfirst: { type: string }\nat: { type: date }")
        ) {
            try $0.apply([
                $0.upsert("Item", "a", ["priority": "low", "first": " x ", "at": .value(.integer(0))]),
                $0.upsert("Item", "b", ["priority": "high", "first": "y", "at": .value(.integer(0))]),
            ])
        }
        let target = entityModel(
            "priority: { type: integer16 }\nlabel: { type: string }\nat: { type: integer64 }", version: "2")
        #expect(try fixture.refusal(to: target).0 == "migration.not_inferable")
        try fixture.migrate(to: target) {
            $0.mapping = try? MigrationMapping.parse(
                """
                entities:
                  Item:
                    priority: { from: priority, map: { low: 1, high: 3 } }
                    label: "upper(trim(first)) + '-' + id"
                    at: length(string(at)) * 2
                """)
        }
        #expect(
            try fixture.rows("SELECT priority, label, at FROM Item ORDER BY id") == [[1, "X-a", 40], [3, "Y-b", 40]])
    }

    @Test(arguments: [Int64.max, 0])
    func `a mapping reads attributes by their old names while they are renamed`(_ threshold: Int64) throws {
        let fixture = try MigrationFixture(
            entityModel("priority: { type: string, optional: true }\nprice: { type: double, optional: true }")
        ) {
            try $0.apply([$0.upsert("Item", "a", ["priority": "low", "price": .value(.double(12.5))])])
        }
        let target = entityModel(
            """
            priorityText: { type: string, optional: true, renamedFrom: priority }
            priority: { type: integer64 }
            cost: { type: double, optional: true, renamedFrom: price }
            cents: { type: integer64, optional: true }
            """, version: "2")
        try fixture.migrate(to: target) {
            $0.copyRowThreshold = threshold
            $0.mapping = try? MigrationMapping.parse(
                """
                entities:
                  Item:
                    priority: { from: priority, map: { low: 1, high: 3 } }
                    cents: round(price * 100)
                """)
        }
        #expect(
            try fixture.rows("SELECT priorityText, priority, cost, cents FROM Item") == [["low", 1, 12.5, 1250]])
    }

    /// The chats and their tags with one more attribute.
    private static let noted = MigrationFixture.chats.replacing("version: 1", with: "version: 2")
        .replacing("{ id: { type: string }", with: "{ id: { type: string }, note: { type: string, optional: true }")

    @Test(arguments: [Int64.max, 0])
    func `a mapping computes identities of placeholders too`(_ threshold: Int64) throws {
        let fixture = try filled()
        let links = try fixture.rows("SELECT id, chat FROM Message ORDER BY id")
        try fixture.migrate(to: Self.noted) {
            $0.copyRowThreshold = threshold
            // The new identity of one is the old one of the next.
            $0.mapping = try? MigrationMapping.parse(
                "entities: { Chat: { id: { from: id, map: { c0: c1, c1: c2, c2: c3 } } } }")
        }
        #expect(
            try fixture.rows("SELECT id, _placeholder FROM Chat ORDER BY id") == [["c1", 0], ["c2", 0], ["c3", 1]])
        #expect(try fixture.rows("SELECT id, chat FROM Message ORDER BY id") == links)
    }

    @Test(arguments: [Int64.max, 0])
    func `a mapping that makes one identity of two is refused`(_ threshold: Int64) throws {
        let fixture = try filled()
        let before = try fixture.dump()
        let (code, details) = try fixture.refusal(to: Self.noted) {
            $0.copyRowThreshold = threshold
            $0.mapping = try? MigrationMapping.parse("entities: { Tag: { id: \"'t'\" } }")
        }
        #expect(code == "migration.rows" && details == "Tag: the values of id are not unique: 1 row, as that with pk 1")
        #expect(try fixture.dump() == before)
    }

    @Test func `a mapping that does not cover a row is refused`() throws {
        let fixture = try MigrationFixture(entityModel("priority: { type: string }")) {
            try $0.apply([$0.upsert("Item", "a", ["priority": "odd"])])
        }
        let (code, details) = try fixture.refusal(to: entityModel("priority: { type: integer16 }")) {
            $0.mapping = try? MigrationMapping.parse(
                "entities: { Item: { priority: { from: priority, map: { low: 1 } } } }")
        }
        #expect(code == "migration.rows" && details.contains("Item.priority is required"))
    }

    @Test func `stages run in one transaction`() throws {
        let versions = try [
            entityModel("name: { type: string }"),
            entityModel("name: { type: string }\nfirst: { type: string, optional: true }", version: "2"),
            entityModel("first: { type: string }", version: "3"),
        ].map { try ObjectModel.parse($0) }
        func stages(_ fails: Bool) -> [MigrationStage] {
            [
                .custom(
                    from: versions[0], to: versions[1],
                    willMigrate: { context in
                        let count = try context.count(of: "Item")
                        #expect(count == 1)
                    },
                    didMigrate: { context in
                        try context.rows(of: "Item") { row in
                            let name = row["name"]?.text ?? ""
                            try context.update("Item", pk: row.pk, ["first": .text(String(name.prefix(1)))])
                        }
                        if fails { throw Fault() }
                    }),
                .lightweight(to: versions[2]),
            ]
        }
        let fixture = try MigrationFixture(entityModel("name: { type: string }")) {
            try $0.apply([$0.upsert("Item", "a", ["name": "Ada"])])
        }
        let before = try fixture.dump()
        #expect(throws: Fault.self) { try fixture.migrator().migrate(through: stages(true)) }
        #expect(try fixture.dump() == before)
        try fixture.migrator().migrate(through: stages(false))
        try fixture.adopt(versions[2])
        #expect(try fixture.rows("SELECT first FROM Item") == [["A"]])
        // A store at the last stage is left alone; one at no stage is refused.
        #expect(try fixture.migrator().migrate(through: stages(true)).method == .none)
        let other = try MigrationFixture(entityModel("else: { type: string, optional: true }"))
        #expect(throws: MigrationError.self) { try other.migrator().migrate(through: stages(false)) }
    }
}
