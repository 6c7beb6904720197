import Foundation
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// What can go wrong around a migration: the disk, other processes, leftovers, versions.
@Suite struct MigrationFailureTests {
    private struct Fault: Error {}

    private static let first = entityModel("text: { type: string }\nn: { type: integer64, default: 1 }")
    private static let second = entityModel(
        "text: { type: string }\nn: { type: string }\nlength: { type: integer64, default: 5 }", version: "2")

    private func filled(_ count: Int = 400) throws -> MigrationFixture {
        try MigrationFixture(Self.first) { graph in
            try graph.apply(
                (0..<count).map {
                    graph.upsert("Item", .text("i\($0)"), ["text": .value(.text(String(repeating: "x", count: 200)))])
                })
        }
    }

    private func code(_ body: () throws -> Void) throws -> StoreError.Code? {
        do {
            try body()
            return nil
        } catch let error as StoreError {
            return error.code
        }
    }

    // MARK: The disk

    @Test(arguments: [Int64.max, 0])
    func `a full disk leaves the old store`(copyRowThreshold: Int64) throws {
        let fixture = try filled()
        let before = try fixture.dump()
        let pages = Int(try fixture.rows("PRAGMA page_count")[0][0].integer ?? 0)
        let limit = copyRowThreshold == 0 ? pages / 2 : pages + 1
        let found = try code {
            try fixture.migrator {
                $0.maximumPageCount = limit
                $0.copyRowThreshold = copyRowThreshold
                $0.copyBatchRows = 50
            }.migrate(to: try ObjectModel.parse(Self.second))
        }
        #expect(found == .full)
        #expect(try fixture.dump() == before)
        // There is room again: the same call goes through.
        try fixture.migrate(to: Self.second) { $0.copyRowThreshold = copyRowThreshold }
        #expect(try fixture.rows("SELECT count(*), sum(length) FROM Item") == [[400, 2000]])
    }

    @Test func `a folder without room for a backup leaves the store`() throws {
        let fixture = try filled(3)
        let before = try fixture.dump()
        // A folder where the backup is to be: it can be neither removed nor replaced.
        let partial = fixture.path + ".before-migration"
        try FileManager.default.createDirectory(atPath: partial + "/x", withIntermediateDirectories: true)
        #expect(try code { try fixture.migrator().migrate(to: try ObjectModel.parse(Self.second)) } == .unavailable)
        #expect(try fixture.dump() == before)
        #expect(!FileManager.default.fileExists(atPath: partial + ".partial"))
        try FileManager.default.removeItem(atPath: partial)
        try fixture.migrate(to: Self.second)
    }

    // MARK: Other processes

    @Test func `a reader of the store keeps a copy from its place and the next run uses it`() throws {
        let fixture = try filled(20)
        let reader = try Store.openForReading(path: fixture.path, model: fixture.model)
        var copied: Int64 = 0
        func edit(_ options: inout Migrator.Options) {
            options.copyRowThreshold = 0
            options.progress = { copied += $0.copiedObjects }
        }
        let refused = try reader.read { _ in
            try code { try fixture.migrator(edit).migrate(to: try ObjectModel.parse(Self.second)) }
        }
        #expect(refused == .busy)
        try reader.close()
        #expect(copied == 20)
        try fixture.migrate(to: Self.second, edit)
        #expect(copied == 20)
    }

    @Test func `a copy whose lease was taken does not replace the store`() throws {
        let fixture = try filled(20)
        let found = try code {
            try fixture.migrator {
                $0.copyRowThreshold = 0
                $0.willExecute = { statement in
                    if statement == "swap" {
                        try SQLiteProgram.run(fixture.path, "UPDATE _lease SET epoch = epoch + 1, expires = 0")
                    }
                }
            }.migrate(to: try ObjectModel.parse(Self.second))
        }
        #expect(found == .fenced)
        try fixture.expectOld()
        try fixture.migrate(to: Self.second) { $0.copyRowThreshold = 0 }
    }

    @Test func `a long copy prolongs its lease`() throws {
        let fixture = try filled(20)
        var now: Int64 = 1_000_000_000_000_000
        var expiries: Set<String> = []
        try fixture.migrate(to: Self.second) {
            $0.copyRowThreshold = 0
            $0.copyBatchRows = 5
            $0.now = { now }
            $0.progress = { _ in
                now += 100_000_000
                expiries.insert((try? SQLiteProgram.run(fixture.path, "SELECT expires FROM _lease")) ?? "")
            }
        }
        #expect(expiries.count >= 3)
    }

    // MARK: Leftovers

    @Test func `the next run removes the files that a crash left`() throws {
        let fixture = try filled(3)
        for suffix in [".before-migration", ".migrating", ".migrating-journal"] {
            try Data("half".utf8).write(to: URL(fileURLWithPath: fixture.path + suffix))
        }
        try fixture.migrate(to: Self.second)
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folderPath).count <= 3)
    }

    @Test func `a file that is no store is refused`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("none.sqlite")
        let model = try ObjectModel.parse(Self.first)
        #expect(try code { _ = try Migrator(path: path).plan(to: model) } == .unavailable)
        #expect(!FileManager.default.fileExists(atPath: path))
        try SQLiteProgram.run(path, "CREATE TABLE a (b)")
        #expect(try code { try Migrator(path: path).migrate(to: model) } == .corrupt)
        try Data(String(repeating: "no database ", count: 100).utf8).write(to: URL(fileURLWithPath: path))
        #expect(try code { try Migrator(path: path).migrate(to: model) } == .corrupt)
        #expect(try code { _ = try Migrator(path: path).plan(to: model) } == .corrupt)
    }

    // MARK: Versions

    @Test func `going back and forth is allowed where it is said`() throws {
        let fixture = try MigrationFixture(entityModel("a: { type: string, optional: true }", version: "x"))
        let other = entityModel("b: { type: string, optional: true }", version: "y")
        try fixture.migrate(to: other)
        let back = entityModel("a: { type: string, optional: true }", version: "x")
        #expect(try fixture.refusal(to: back).0 == "migration.newer_model")
        try fixture.migrate(to: back) { $0.allowsOlderModel = true }
        // What was left behind by going back is new again.
        try fixture.migrate(to: other)
    }

    @Test func `versions of numbers are ordered as numbers`() throws {
        let fixture = try MigrationFixture(entityModel("a: { type: string, optional: true }", version: "1.9"))
        try fixture.migrate(to: entityModel("b: { type: string, optional: true }", version: "1.10"))
        let older = entityModel("c: { type: string, optional: true }", version: "1.2")
        #expect(try fixture.refusal(to: older).0 == "migration.newer_model")
    }

    // MARK: What rides along

    @Test func `values beyond new limits are noted and not refused`() throws {
        let fixture = try filled(3)
        let limited = try ObjectModel.parse(
            entityModel("text: { type: string, maxLength: 3 }\nm: { type: integer64, default: 1 }", version: "2"))
        let plan = try fixture.migrator().plan(to: limited)
        #expect(plan.notes.count == 1 && plan.notes[0].contains("Item.text has values beyond its limits: 3 rows"))
        #expect(plan.text.contains("notes:"))
        #expect(try fixture.migrator().migrate(to: limited).notes == plan.notes)
    }

    @Test func `tombstones keep their versions in the present form`() throws {
        func model(_ type: String, _ version: String, _ rest: String = "") -> String {
            entityModel("v: { type: \(type), optional: true }\nw: { type: integer64, optional: true }", rest)
                .replacingOccurrences(of: "identity: id", with: "identity: id\n    version: \(version)")
        }
        let fixture = try MigrationFixture(model("integer64", "v")) { graph in
            try graph.apply([graph.delete("Item", "gone", version: 7, time: 5)])
        }
        #expect(try fixture.rows("SELECT version FROM _tombstone") == [[7]])
        try fixture.migrate(to: model("string", "v"))
        #expect(try fixture.rows("SELECT version FROM _tombstone") == [["7"]])
        try fixture.migrate(to: model("string", "w"))
        #expect(try fixture.rows("SELECT version, time FROM _tombstone") == [[.null, 5]])
    }

    @Test func `conflicts follow a renamed entity`() throws {
        let fixture = try filled(1)
        try SQLiteProgram.run(
            fixture.path,
            """
            INSERT INTO _conflict (token, time, kind, entity, policy, decision) \
            VALUES (1, 1, 'changed', 'Item', 'objectTrump', 'context')
            """)
        try fixture.migrate(to: Self.first.replacingOccurrences(of: "Item:", with: "Thing:\n    renamedFrom: Item"))
        #expect(try fixture.rows("SELECT entity FROM _conflict") == [["Thing"]])
    }
}
