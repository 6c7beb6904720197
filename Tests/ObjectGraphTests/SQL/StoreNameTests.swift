import Foundation
import GRDB
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Names of tables, views and columns: docs/reference/store.md, "Names".
@Suite struct StoreNameTests {
    private static let siblings = """
        entities:
          Item: { abstract: true, identity: id, attributes: { id: { type: string }, title: { type: string, optional: true } } }
          Task:
            parent: Item
            attributes:
              amount: { type: integer32, optional: true, preserveAfterDeletion: true }
              same: { type: string, optional: true }
              Title: { type: string, optional: true }
            relationships:
              folder: { to: Folder, inverse: tasks, optional: true }
            indexes: [[amount]]
          Note:
            parent: Item
            attributes:
              amount: { type: string, optional: true, unique: true, preserveAfterDeletion: true }
              same: { type: string, optional: true }
            relationships:
              folder: { to: Folder, inverse: notes, optional: true }
          Folder:
            identity: id
            attributes:
              id: { type: string }
              taskCount: { type: integer64, derived: tasks.@count }
              noteCount: { type: integer64, derived: notes.@count }
              most: { type: integer32, optional: true, derived: tasks.amount.@max }
            relationships:
              tasks: { to: Task, many: true, inverse: folder, ordered: true }
              notes: { to: Note, many: true, inverse: folder, ordered: true }
        """

    private func columns(_ model: ObjectModel, _ entity: String) throws -> [String: String] {
        let entity = try #require(model.entity(named: entity))
        let names = entity.attributes.map(\.name) + entity.relationships.filter { $0.slot != nil }.map(\.name)
        return Dictionary(uniqueKeysWithValues: names.map { ($0, entity.columnName(of: $0) ?? "") })
    }

    @Test func `properties of one name in entities beside each other have columns of their own`() throws {
        let model = try ObjectModel.parse(Self.siblings)
        #expect(
            try columns(model, "Note")
                == ["id": "id", "title": "title", "amount": "amount", "same": "same", "folder": "folder"])
        #expect(
            try columns(model, "Task") == [
                "id": "id", "title": "title", "amount": "amount$Task", "same": "same", "Title": "Title$Task",
                "folder": "folder$Task",
            ])
        let graph = try Graph(model)
        let types = try graph.column("SELECT type FROM pragma_table_info('Item')").map(\.shown)
        #expect(!types.contains("") && !types.contains("\"\""), "no column is without a type: \(types)")
    }

    @Test func `events, queries, batches, deletions, history and derived values use the right columns`() throws {
        let graph = try Graph(yaml: Self.siblings, setDeletionThreshold: 1)
        let outcomes = try graph.apply(
            graph.upsert("Folder", "f"),
            graph.upsert("Task", "t", ["amount": 7, "Title": "T", "title": "t", "folder": "f"]),
            graph.upsert("Task", "u", ["amount": 9, "folder": "f"]),
            graph.upsert("Note", "n", ["amount": "seven", "folder": "f"]))
        #expect(outcomes == ["applied", "applied", "applied", "applied"])
        #expect(try graph.column("SELECT \"amount$Task\" FROM Item WHERE id = 't'") == [7])
        #expect(try graph.column("SELECT amount FROM Item WHERE id = 'n'") == ["seven"])
        #expect(try graph.column("SELECT Title$Task FROM Task_readable WHERE id = 't'") == ["T"])
        #expect(try graph.column("SELECT folder FROM Task_readable WHERE id = 't'") == ["f"])
        #expect(try graph.column("SELECT taskCount || noteCount || most FROM Folder") == ["219"])
        let found = try graph.store.read { context in
            try context.fetch(FetchRequest("Task", where: "amount > 7 AND folder.noteCount == 1")).map { $0["id"] }
        }
        #expect(found == ["u"])
        #expect(try graph.store.verify().isSound)
        let update = try graph.writer.execute(
            BatchUpdateRequest("Task", set: ["amount": .expression("amount + 1")]))
        #expect(update.count == 2)
        #expect(try graph.column("SELECT most FROM Folder") == [10])
        _ = try graph.writer.execute(BatchDeleteRequest("Task"))
        let tombstones = try graph.column("SELECT tombstone FROM _history WHERE change = 'delete' ORDER BY identity")
        #expect(tombstones == ["{\"amount\":8}", "{\"amount\":10}"])
        #expect(try graph.column("SELECT taskCount || noteCount FROM Folder") == ["01"])
        #expect(try graph.store.verify().isSound)
        #expect(try graph.damage() == "")
    }

    /// The same model with its lines in another order has the same shape, so it has to mean the same columns.
    @Test func `the order of lines does not count`() throws {
        let model = try ObjectModel.parse(Self.siblings)
        let parts = Self.siblings.components(separatedBy: "  Note:\n")
        let note = parts[1].components(separatedBy: "  Folder:\n")
        let other = try ObjectModel.parse(
            parts[0].replacing("  Task:\n", with: "  Note:\n\(note[0])  Task:\n") + "  Folder:\n\(note[1])")
        #expect(other.entities.map(\.name) != model.entities.map(\.name) && other.hash == model.hash)
        for name in ["Task", "Note"] { #expect(try columns(other, name) == columns(model, name)) }
    }

    @Test func `names that differ by case only, or that others use, load and stay distinct`() throws {
        let yaml = """
            entities:
              Chat:
                identity: id
                attributes:
                  id: { type: string }
                  title: { type: string, optional: true }
                  Title: { type: integer64, optional: true, indexed: true }
                  _title: { type: date, optional: true }
                  pk: { type: integer64, optional: true }
                  rowid: { type: string, optional: true }
                  _entity: { type: string, optional: true }
                  select: { type: string, optional: true }
                  "False": { type: string, optional: true }
                relationships:
                  members: { to: _history, many: true, inverse: none }
                  Members: { to: sqlite_x, many: true, inverse: none }
                  readable: { to: json_each, many: true, inverse: none }
                indexes: [[title], [Title], { on: [{ expression: "lowercase:(title)" }] }]
              CHAT: { identity: id, attributes: { id: { type: string }, ID: { type: string, optional: true } } }
              _history: { identity: id, attributes: { id: { type: string } } }
              sqlite_x: { identity: id, attributes: { id: { type: string } } }
              json_each: { identity: id, attributes: { id: { type: string } } }
              Chat_readable: { identity: id, attributes: { id: { type: string } } }
              Chat_members: { identity: id, attributes: { id: { type: string } } }
            """
        let model = try ObjectModel.parse(yaml)
        #expect(
            model.entities.map(\.tableName) == [
                "Chat$2", "CHAT", "entity$_history", "entity$sqlite_x", "entity$json_each", "entity$Chat_readable",
                "Chat_members",
            ])
        #expect(
            try columns(model, "Chat") == [
                "id": "id", "Title": "Title", "title": "title$Chat", "_title": "_title$Chat", "pk": "pk$Chat",
                "rowid": "rowid$Chat", "_entity": "_entity$Chat", "select": "select", "False": "False$Chat",
            ])
        #expect(Set(model.joinTables.map { $0.name.lowercased() }).count == model.joinTables.count)
        #expect(try ObjectModel.parse(model.yaml).hash == model.hash)
        let graph = try Graph(model)
        let outcomes = try graph.apply(
            graph.upsert(
                "Chat", "c",
                [
                    "title": "low", "Title": 5, "pk": 7, "rowid": "r", "_entity": "e", "select": "s", "False": "f",
                    "members": ["h"], "Members": ["x"], "readable": ["j"],
                ]), graph.upsert("CHAT", "c", ["ID": "upper"]), graph.upsert("_history", "h"),
            graph.upsert("Chat_readable", "r"))
        #expect(outcomes.allSatisfy { $0 == "applied" }, "\(outcomes)")
        #expect(try graph.store.verify().isSound)
        let row = try graph.rows(
            "SELECT Title, title$Chat, members, Members$Chat, False$Chat FROM \"Chat$2_readable\"")[0]
        #expect(row.map(\.shown).count == 5)
        let found = try graph.store.read { context in
            try context.fetch(
                FetchRequest("Chat", where: "title == 'low' AND Title == 5 AND pk == 7 AND _entity == 'e'"))
        }
        #expect(found.count == 1)
        #expect(try graph.damage() == "")
    }

    // MARK: Stores of the second layout

    private func oldStore(_ folder: TemporaryFolder) throws -> String {
        let path = folder.path("old.sqlite")
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA foreign_keys = OFF")
            try database.execute(sql: SecondLayout.sql)
        }
        try queue.close()
        return path
    }

    private func dump(_ store: Store) throws -> String {
        var text = ""
        try store.read { try $0.canonicalDump { text += $0 } }
        return text
    }

    @Test func `a store in which types shared a column is upgraded in place`() throws {
        let folder = try TemporaryFolder()
        let path = try oldStore(folder)
        let model = try ObjectModel.parse(SecondLayout.model)
        let error = #expect(throws: StoreError.self) { try Store.openForReading(path: path, model: model) }
        #expect(error?.code == .olderFormat)
        let planning = #expect(throws: StoreError.self) {
            let other = SecondLayout.model.replacing("body: { type: binary", with: "corpse: { type: binary")
            _ = try Migrator(path: path).plan(to: try ObjectModel.parse(other))
        }
        #expect(planning?.code == .olderFormat)
        let graph = try Graph(model, path: path)
        // The order of an entity's attributes is that of their columns.
        func lines(_ text: String) -> [String] { text.split(separator: "\n").map { String($0) }.sorted() }
        let upgraded = try dump(graph.store).components(separatedBy: "positions\n")[0]
        #expect(lines(upgraded) == lines(SecondLayout.dump))
        #expect(try graph.store.verify().isSound)
        #expect(try graph.column("SELECT body FROM Item WHERE id = 'l1'") == ["AQID"])
        #expect(try graph.column("SELECT hex(body$Visit) FROM Item WHERE id = 'v1'") == ["010203"])
        #expect(try graph.column("SELECT amount$Task FROM Item ORDER BY id").map(\.shown).count == 5)
        #expect(try graph.column("SELECT count(*) FROM Item WHERE amount$Task IS NOT NULL") == [2])
        #expect(try graph.history().count == 7)
        // It is as a new store would be, and lives on.
        let schema = try SchemaSnapshot(model)
        let current = try graph.store.sqlite().database.read { try SchemaSnapshot($0) }
        for object in schema.objects {
            #expect(current.table(object.name) == schema.table(object.name), "\(object.name)")
            #expect(current.has(object.type, object.name), "\(object.name)")
        }
        try graph.apply(
            graph.upsert("Task", "t9", ["amount": .value(.text("1.5")), "rank": 4]), graph.delete("Note", "n1"))
        #expect(try graph.damage() == "")
        try graph.writer.close()
        try graph.store.close()
        #expect(try Store.openForReading(path: path, model: model).verify().isSound)
    }

    @Test func `a migration of such a store upgrades it first`() throws {
        let folder = try TemporaryFolder()
        let path = try oldStore(folder)
        let text = SecondLayout.model.replacing(
            "amount: { type: decimal, optional: true, indexed: true, preserveAfterDeletion: true }",
            with: "sum: { type: decimal, optional: true, renamedFrom: amount }"
        ).replacing("indexes: [[amount, seen]]", with: "indexes: [[sum, seen]]")
        let model = try ObjectModel.parse(text)
        try Migrator(path: path).migrate(to: model)
        let graph = try Graph(model, path: path)
        #expect(try graph.column("SELECT sum FROM Item WHERE id = 't1'") == ["12.5"])
        #expect(try graph.column("SELECT amount FROM Item WHERE id = 'n1'") == ["007"])
        #expect(try graph.store.verify().isSound)
    }

    @Test func `a worker of the older version that writes is not disturbed`() throws {
        let folder = try TemporaryFolder()
        let path = try oldStore(folder)
        let queue = try DatabaseQueue(path: path)
        let expires = Int64(Date().timeIntervalSince1970 * 1_000_000) + 60_000_000
        try queue.write { database in
            try database.execute(
                sql: "INSERT OR REPLACE INTO _lease (id, epoch, holder, expires) VALUES (1, 1, ?, ?)",
                arguments: ["elsewhere|1|2|x", expires])
        }
        let model = try ObjectModel.parse(SecondLayout.model)
        let error = #expect(throws: StoreError.self) { try Store.open(path: path, model: model) }
        #expect(error?.code == .leased)
        let format = try queue.read {
            try String.fetchOne($0, sql: "SELECT value FROM _metadata WHERE key = 'formatVersion'")
        }
        #expect(format == "2")
        try queue.write { try $0.execute(sql: "UPDATE _lease SET expires = 0") }
        try queue.close()
        #expect(throws: Never.self) { try Store.open(path: path, model: model).close() }
    }
}
