import Foundation
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Several stages, and stages with closures, by copies: the same as in one transaction, and taken up where a kill left
/// them.
@Suite struct MigrationChainTests {
    private struct Fault: Error {}

    private static let texts = [
        MigrationFixture.chats + "\n  Old: { identity: id, attributes: { id: { type: string } } }",
        """
        model: m
        version: 2
        entities:
          Room:
            renamedFrom: Chat
            identity: id
            attributes: { id: { type: string }, title: { type: string, default: "-", maxLength: 3 }, n: { type: integer64 }, size: { type: integer64, derived: messages.size.@sum } }
            relationships: { messages: { to: Message, many: true, ordered: true, inverse: room, delete: cascade }, tags: { to: Tag, many: true, inverse: rooms } }
          Message:
            identity: id
            attributes: { id: { type: string }, size: { type: integer64, default: 2 } }
            relationships: { room: { to: Room, inverse: messages, optional: true, renamedFrom: chat } }
          Tag: { identity: id, attributes: { id: { type: string } }, relationships: { rooms: { to: Room, many: true, inverse: tags } } }
        """,
        """
        model: m
        version: 3
        entities:
          Room:
            renamedFrom: Chat
            identity: id
            attributes: { id: { type: string }, title: { type: string, default: none }, n: { type: integer64 }, count: { type: integer64, derived: messages.@count } }
            relationships: { messages: { to: Message, many: true, ordered: true, inverse: room, delete: cascade }, labels: { to: Label, many: true, inverse: rooms, renamedFrom: tags } }
          Message:
            identity: id
            attributes: { id: { type: string }, weight: { type: string } }
            relationships: { room: { to: Room, inverse: messages, optional: true, renamedFrom: chat } }
          Label: { renamedFrom: Tag, identity: id, attributes: { id: { type: string } }, relationships: { rooms: { to: Room, many: true, inverse: labels } } }
        """,
    ]

    private let models: [ObjectModel]

    init() throws { models = try Self.texts.map { try ObjectModel.parse($0) } }

    /// 3 chats, 2 tags and 40 messages that live on, 3 objects that do not, and 2 links.
    private func filled() throws -> MigrationFixture {
        try .chats(Self.texts[0], title: "title") { graph in
            ["o1", "o2", "o3"].map { graph.upsert("Old", $0) }
        }
    }

    private static let rowCount: Int64 = 50
    private static let objectCount: Int64 = 48
    /// How many rows each stage copies.
    private static let liveCount: Int64 = 45

    private func mapping(_ weight: String = "'w' + size") throws -> MigrationMapping {
        try MigrationMapping.parse("entities: { Message: { weight: \"\(weight)\" } }")
    }

    private func stages(weight: String = "'w' + size", title: String? = nil) throws -> [MigrationStage] {
        let first = try title.map { try MigrationMapping.parse("entities: { Room: { title: \"\($0)\" } }") }
        return [.lightweight(to: models[1], mapping: first), .lightweight(to: models[2], mapping: try mapping(weight))]
    }

    /// Stages that work on the rows before and after.
    private func closures(_ fault: @escaping () throws -> Void = {}) throws -> [MigrationStage] {
        [
            .custom(
                from: models[0], to: models[1],
                willMigrate: { context in
                    try context.delete("Message", pk: 1)
                    try context.update("Chat", pk: 2, ["title": "before"])
                },
                didMigrate: { context in
                    let tag = try context.insert("Tag", ["id": "made"])
                    try context.rows(of: "Room") { try context.link("Room", pk: $0.pk, "tags", to: tag) }
                }),
            .custom(
                from: models[1], to: models[2], mapping: try mapping(),
                didMigrate: { context in
                    var names: [String] = []
                    try context.rows(of: "Label") { names.append($0["id"]?.text ?? "") }
                    for name in names { try context.insert("Label", ["id": .text(name + "+")]) }
                    try fault()
                }),
        ]
    }

    private func migrate(
        _ path: String, _ stages: [MigrationStage], _ edit: (inout Migrator.Options) -> Void = { _ in }
    ) throws -> (plan: MigrationPlan, copied: Int64) {
        var copied: Int64 = 0
        var options = Migrator.Options()
        options.copyRowThreshold = 0
        options.copyBatchRows = 10
        options.progress = { copied += $0.copiedObjects }
        edit(&options)
        return (try Migrator(path: path, options: options).migrate(through: stages), copied)
    }

    /// Runs until a step, and tells how many rows were copied.
    private func interrupt(_ path: String, _ stages: [MigrationStage], at step: String) throws -> Int64 {
        var copied: Int64 = 0
        #expect(throws: Fault.self) {
            _ = try migrate(path, stages) {
                $0.progress = { copied += $0.copiedObjects }
                $0.willExecute = { if $0 == step { throw Fault() } }
            }
        }
        return copied
    }

    /// All that a store holds, but for times and the lease.
    private func content(_ path: String, _ model: ObjectModel) throws -> String {
        let store = try Store.openForReading(path: path, model: model)
        defer { try? store.close() }
        let report = try store.verify()
        #expect(report.isSound, "\(report.text)")
        var text = ""
        try store.read { try $0.canonicalDump { text += $0 } }
        return try text
            + SQLiteProgram.run(
                path,
                """
                SELECT token, author, context, source, firstChange, changeCount FROM _history_transaction ORDER BY token;
                SELECT * FROM _history_change ORDER BY id; SELECT * FROM _history_range ORDER BY id;
                SELECT * FROM _metadata WHERE key <> 'storeID'; SELECT * FROM _sequence; SELECT * FROM _cursor;
                SELECT * FROM sqlite_sequence ORDER BY name;
                SELECT name FROM sqlite_master ORDER BY name;
                """)
    }

    // MARK: Kills

    /// A store with all its files as a kill would have left them.
    private func remains(of fixture: MigrationFixture) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        // By another process: closing a file here would give up the locks that SQLite holds on it.
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/cp")
        process.arguments = ["-a", fixture.folderPath + "/.", folder.url.path]
        try process.run()
        process.waitUntilExit()
        return folder
    }

    @Test(arguments: [false, true])
    func `after a kill at any step the same call does what was left`(hasClosures: Bool) throws {
        let stages = hasClosures ? try closures() : try stages()
        let moved = try filled()
        let whole = try migrate(moved.path, stages) { $0.copyRowThreshold = .max }
        #expect(whole.plan.method == .inPlace)
        let expected = try content(moved.path, models[2])
        let fixture = try filled()
        let before = try fixture.dump()
        var remains: [(folder: TemporaryFolder, step: String, copied: Int64)] = []
        var copied: Int64 = 0
        let done = try migrate(fixture.path, stages) {
            $0.progress = { copied += $0.copiedObjects }
            $0.willExecute = { step in remains.append((try self.remains(of: fixture), step, copied)) }
        }
        #expect(done.plan.method == .copy && done.plan.text == whole.plan.text.replacing("inPlace", with: "copy"))
        #expect(try content(fixture.path, models[2]) == expected)
        #expect(remains.count > 60 && remains.contains { $0.step == "rename" })
        let landmarks = ["willMigrate", "didMigrate", "done", "swap", "rename", "clean"]
        for (index, (folder, step, earlier)) in remains.enumerated() {
            // Between the landmarks of closures every third will do: the statements are the same.
            if hasClosures, !landmarks.contains(step), index % 3 != 0 { continue }
            let path = folder.path("store.sqlite")
            // The process of the lease is gone after a kill; here it is this one.
            try SQLiteProgram.run(path, "UPDATE _lease SET expires = 0")
            if step != "clean" {
                let store = try Store.open(path: path, model: models[0])
                var text = ""
                try store.read { try $0.canonicalDump { text += $0 } }
                try store.close()
                #expect(text == before, "at \(step)")
            }
            let rest = try migrate(path, stages) { $0.keepsBackup = true }
            #expect(earlier + rest.copied == copied, "at \(step)")
            #expect(try content(path, models[2]) == expected, "at \(step)")
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
            #expect(!files.contains { $0.contains("migrati") }, "at \(step): \(files)")
            let backup = try #require(files.first { $0.contains(".backup-") })
            let store = try Store.openForReading(path: folder.path(backup), model: models[0])
            var text = ""
            try store.read { try $0.canonicalDump { text += $0 } }
            try store.close()
            #expect(text == before, "at \(step)")
        }
    }

    /// A run that was killed before it came to the copies has taken the lease, and changed nothing.
    @Test func `runs that only took the lease do not lose the copies`() throws {
        let fixture = try filled()
        let earlier = try interrupt(fixture.path, try stages(), at: "swap")
        #expect(earlier == 2 * Self.liveCount)
        for run in 0..<3 {
            let file = try MigrationFile(path: fixture.path, isReadOnly: false)
            _ = try file.takeMigrationLease(models[0], now: Int64(run) * 4_000_000_000)
            try file.close()
        }
        #expect(try migrate(fixture.path, try stages()).copied == 0)
        try fixture.adopt(models[2])
    }

    /// What a run says that finds its stages done is what there is to be known still.
    @Test func `a migration's notes outlive a kill`() throws {
        let fixture = try filled()
        _ = try interrupt(fixture.path, try stages(), at: "swap")
        let plan = try migrate(fixture.path, try stages()).plan
        #expect(plan.notes.count == 1 && plan.notes[0].contains("Room.title has values beyond its limits: 1 row"))
        #expect(plan.steps.filter { $0.action == "stage" }.count == 2 && plan.method == .copy)
        #expect(plan.rowCount == Self.rowCount)
        try fixture.adopt(models[2])
    }

    @Test func `where the disk was full the next run goes on`() throws {
        let fixture = try filled()
        let before = try fixture.dump()
        var pages = 5
        while true {
            do {
                let done = try migrate(fixture.path, try stages()) { $0.maximumPageCount = pages }
                #expect(done.plan.method == .copy && done.copied < 2 * Self.liveCount)
                break
            } catch let error as StoreError {
                #expect(error.code == .full && pages < 200)
                #expect(try fixture.dump() == before)
                pages += 1
            }
        }
        #expect(pages > 10)
        try fixture.adopt(models[2])
    }

    // MARK: Other copies

    @Test func `copies begin again where the store was written since`() throws {
        let fixture = try filled()
        _ = try interrupt(fixture.path, try stages(), at: "swap")
        try fixture.use { try $0.apply([$0.upsert("Message", "m0", ["size": 100])]) }
        #expect(try migrate(fixture.path, try stages()).copied == 2 * Self.liveCount)
        try fixture.adopt(models[2])
        #expect(try fixture.rows("SELECT weight FROM Message WHERE id = 'm0'") == [["w100"]])
    }

    /// The stages before a mapping that was corrected are not done again.
    @Test func `copies of other stages are made again from the first that differs`() throws {
        let fixture = try filled()
        _ = try interrupt(fixture.path, try stages(), at: "swap")
        let files = try FileManager.default.contentsOfDirectory(atPath: fixture.folderPath)
        #expect(files.contains("store.sqlite.migrating") && !files.contains("store.sqlite.migrating-1"))
        // The first stage's file went when the second one's was whole.
        var list = try stages(weight: "'x' + size")
        #expect(try interrupt(fixture.path, list, at: "done") == Self.liveCount)
        #expect(try interrupt(fixture.path, list, at: "PRAGMA foreign_key_check") == Self.liveCount)
        list = try stages(weight: "'y' + size")
        #expect(try interrupt(fixture.path, list, at: "PRAGMA foreign_key_check") == Self.liveCount)
        list = try stages(weight: "'y' + size", title: "'T'")
        #expect(try migrate(fixture.path, list).copied == 2 * Self.liveCount)
        try fixture.adopt(models[2])
        #expect(try fixture.rows("SELECT DISTINCT weight FROM Message") == [["y2"]])
        #expect(try fixture.rows("SELECT title FROM Room WHERE id = 'c0'") == [["T"]])
    }

    @Test func `a migration removes the files of other migrations`() throws {
        let fixture = try filled()
        for suffix in [".migrating", ".migrating-journal", ".migrating-1", ".migrating-7", ".migrating-7-journal"] {
            try Data("half".utf8).write(to: URL(fileURLWithPath: fixture.path + suffix))
        }
        #expect(try migrate(fixture.path, try stages()).copied == 2 * Self.liveCount)
        try fixture.adopt(models[2])
        let files = try FileManager.default.contentsOfDirectory(atPath: fixture.folderPath)
        #expect(!files.contains { $0.contains("migrating") })
    }

    /// Nobody can tell what another program's closures do.
    @Test func `a migration with closures of another program begins again`() throws {
        let fixture = try filled()
        func run(_ program: String) throws -> Int64 {
            var copied: Int64 = 0
            #expect(throws: Fault.self) {
                _ = try migrate(fixture.path, try closures { throw Fault() }) {
                    $0.progress = { copied += $0.copiedObjects }
                    $0.program = { program }
                }
            }
            return copied
        }
        // The rows as they were, 48, less the message that the first closure deletes.
        #expect(try run("one") == Self.objectCount + 2 * (Self.liveCount - 1) + 1)
        #expect(try run("one") == 0)
        #expect(try run("other") == Self.objectCount + 2 * (Self.liveCount - 1) + 1)
        #expect(try fixture.rows("SELECT count(*) FROM Message") == [[40]])
        _ = try migrate(fixture.path, try closures()) { $0.program = { "other" } }
        try fixture.adopt(models[2])
    }

    // MARK: Plans and refusals

    @Test func `a dry run says which way is taken`() throws {
        let fixture = try filled()
        let before = try fixture.dump()
        for (threshold, method) in [(Self.rowCount, "copy"), (Self.rowCount + 1, "inPlace")] {
            for stages in [try stages(), try closures()] {
                let plan = try fixture.migrator { $0.copyRowThreshold = threshold }.plan(through: stages)
                #expect(plan.text.hasPrefix("m 1 → m 3: 50 rows, \(method)\n"))
                #expect(plan.notes.count == 1)
            }
        }
        #expect(try fixture.dump() == before)
        let files = try FileManager.default.contentsOfDirectory(atPath: fixture.folderPath)
        #expect(!files.contains { $0.contains("migrating") })
    }

    @Test func `a stage that rows stand against is named and the store unharmed`() throws {
        let fixture = try filled()
        let before = try fixture.dump()
        func refuse(_ stages: [MigrationStage], _ text: String) throws {
            do {
                _ = try migrate(fixture.path, stages)
                Issue.record("it was migrated: \(text)")
            } catch let error as MigrationError {
                #expect(error.code == .rows && error.message.contains("Stage 2, m 2 → m 3"))
                #expect(error.details.contains { $0.contains(text) }, "\(error)")
            }
            #expect(try fixture.dump() == before)
            try fixture.expectOld()
        }
        try refuse(
            [.lightweight(to: models[1]), .lightweight(to: models[2])], "Message.weight is required")
        try refuse(
            [
                .lightweight(to: models[1]),
                .custom(
                    from: models[1], to: models[2], mapping: try mapping(),
                    didMigrate: { try $0.update("Message", pk: 1, ["room": 99]) }),
            ], "Message → Room")
        // What the first stage copied is of use once the second is corrected.
        let earlier = try interrupt(fixture.path, try stages(), at: "PRAGMA foreign_key_check")
        #expect(earlier == Self.liveCount)
        #expect(throws: MigrationError.self) {
            _ = try migrate(fixture.path, [.lightweight(to: models[1]), .lightweight(to: models[2])])
        }
    }
}
