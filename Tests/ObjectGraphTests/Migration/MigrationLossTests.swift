import Foundation
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Rows, links and values that a new model has no place for: counted, asked about, and kept in a backup.
@Suite struct MigrationLossTests {
    private static let chats = """
        Chat: { identity: id, attributes: { id: { type: string }, title: { type: string, optional: true } }, relationships: { messages: { to: Message, many: true, inverse: chat }, tags: { to: Tag, many: true, inverse: none }, twin: { to: Twin, inverse: chat, optional: true } } }
        Message: { identity: id, attributes: { id: { type: string } }, relationships: { chat: { to: Chat, inverse: messages, optional: true } } }
        Tag: { identity: id, attributes: { id: { type: string } } }
        Twin: { identity: id, attributes: { id: { type: string } }, relationships: { chat: { to: Chat, inverse: twin, optional: true } } }
        """

    private static func model(_ entities: String, version: String = "2") -> String {
        "model: m\nversion: \(version)\nentities:\n"
            + entities.split(separator: "\n").map { "  \($0)\n" }.joined()
    }

    /// Returns the model without parts of its text.
    private static func model(without parts: String...) -> String {
        model(parts.reduce(chats) { $0.replacing($1, with: "") })
    }

    private static let messages = "messages: { to: Message, many: true, inverse: chat }, "
    private static let chat = ", relationships: { chat: { to: Chat, inverse: messages, optional: true } }"
    private static let tags = ", tags: { to: Tag, many: true, inverse: none }"
    private static let tag = "Tag: { identity: id, attributes: { id: { type: string } } }\n"
    private static let twin = ", twin: { to: Twin, inverse: chat, optional: true }"
    private static let twins =
        "Twin: { identity: id, attributes: { id: { type: string } }, relationships: { chat: { to: Chat, inverse: twin, optional: true } } }"
    private static let title = ", title: { type: string, optional: true }"

    /// 2 chats with a title and one without, 4 messages in chats and one in none, 3 links to 2 tags, 2 pairs of twins.
    private func filled() throws -> MigrationFixture {
        try MigrationFixture(Self.model(Self.chats, version: "1")) { graph in
            try graph.apply(
                (0..<4).map { graph.upsert("Message", .text("m\($0)"), ["chat": .value(.text("c\($0 % 2)"))]) }
                    + [graph.upsert("Message", "m4")])
            try graph.apply([
                graph.upsert("Chat", "c0", ["title": "a", "tags": .replace(["t1", "t2"]), "twin": "w0"]),
                graph.upsert("Chat", "c1", ["title": "b", "tags": .replace(["t1"]), "twin": "w1"]),
                graph.upsert("Chat", "c2"),
            ])
        }
    }

    private func losses(_ model: String) throws -> [String] {
        let fixture = try filled()
        let plan = try fixture.migrator().plan(to: try ObjectModel.parse(model))
        let migrated = try fixture.migrate(to: model)
        #expect(migrated.losses == plan.losses && migrated.backup == nil)
        #expect(plan.losses.isEmpty || plan.text.contains("dropped:\n  \(plan.losses.lines[0])\n"), "\(plan.text)")
        return plan.losses.lines
    }

    @Test func `rows, links and values that are dropped are counted`() throws {
        #expect(try losses(Self.model(without: Self.title)) == ["Chat.title: 2 values"])
        #expect(try losses(Self.model(without: Self.tags)) == ["Chat.tags: 3 links"])
        #expect(try losses(Self.model(without: Self.tags, Self.tag)) == ["Tag: 2 rows", "Chat.tags: 3 links"])
        #expect(try losses(Self.model(without: Self.messages, Self.chat)) == ["Message.chat: 4 links"])
        let pair = ", relationships: { chat: { to: Chat, inverse: twin, optional: true } }"
        #expect(try losses(Self.model(without: Self.twin, pair)) == ["Chat.twin: 2 links"])
        // The references of chats end. The references of twins go with the rows of twins.
        #expect(try losses(Self.model(without: Self.twin, Self.twins)) == ["Twin: 2 rows", "Chat.twin: 2 links"])
    }

    @Test func `nothing is dropped where names change or one side of a relationship stays`() throws {
        #expect(
            try losses(
                Self.model(
                    Self.chats.replacing("tags:", with: "marks:").replacing(
                        "to: Tag, many: true", with: "to: Tag, many: true, renamedFrom: tags"))) == [])
        let oneSided = Self.chats.replacing(Self.messages, with: "").replacing(
            "inverse: messages", with: "inverse: none")
        #expect(try losses(Self.model(oneSided)) == [])
    }

    @Test func `values that a mapping reads are not dropped`() throws {
        let fixture = try filled()
        let model = try ObjectModel.parse(
            Self.model(
                Self.chats.replacing(
                    "title: { type: string, optional: true }", with: "name: { type: string, default: none }")))
        let mapping = try MigrationMapping.parse("entities: { Chat: { name: upper(title) } }")
        #expect(try fixture.migrator().plan(to: model).losses.lines == ["Chat.title: 2 values"])
        #expect(try fixture.migrator { $0.mapping = mapping }.plan(to: model).losses.isEmpty)
    }

    @Test func `a reference to an object of a removed sub-entity is a link that is dropped`() throws {
        let family = """
            Thing: { identity: id, attributes: { id: { type: string } } }
            Small: { parent: Thing }
            Box: { identity: id, attributes: { id: { type: string } }, relationships: { thing: { to: Thing, inverse: none, optional: true }, all: { to: Thing, many: true, inverse: none } } }
            """
        let fixture = try MigrationFixture(Self.model(family, version: "1")) { graph in
            try graph.apply([graph.upsert("Small", "s1"), graph.upsert("Thing", "t1")])
            try graph.apply([
                graph.upsert("Box", "b1", ["thing": "s1", "all": .replace(["s1", "t1"])]),
                graph.upsert("Box", "b2", ["thing": "t1"]),
            ])
        }
        let plan = try fixture.migrate(to: Self.model(family.replacing("Small: { parent: Thing }\n", with: "")))
        #expect(plan.losses.lines == ["Small: 1 row", "Box.all: 1 link", "Box.thing: 1 link"])
        #expect(try fixture.rows("SELECT count(thing) FROM Box") == [[1]])
    }

    private func stages() throws -> [MigrationStage] {
        [
            .lightweight(to: try ObjectModel.parse(Self.model(without: Self.tags))),
            .lightweight(
                to: try ObjectModel.parse(
                    Self.model(without: Self.tags, Self.tag, Self.title)
                        .replacing("version: 2", with: "version: 3"))),
        ]
    }

    @Test(arguments: [1, 2], [Int64.max, 0])
    func `a loss that is not allowed leaves the store as it was`(stageCount: Int, threshold: Int64) throws {
        let fixture = try filled()
        let before = try fixture.dump()
        let migrator = fixture.migrator {
            $0.copyRowThreshold = threshold
            $0.allowsLosses = { _ in false }
            $0.keepsBackupOfLosses = true
        }
        let error = #expect(throws: MigrationError.self) {
            try migrator.migrate(through: Array(try stages().suffix(stageCount)))
        }
        #expect(error?.code == .losses && error?.remedy.contains("--allow-loss") == true)
        // A chain of copies asks before each stage, a transaction once.
        let all = ["Tag: 2 rows", "Chat.tags: 3 links", "Chat.title: 2 values"]
        #expect(error?.details == (stageCount == 2 && threshold == 0 ? ["Chat.tags: 3 links"] : all))
        #expect(try fixture.dump() == before)
        let files = try FileManager.default.contentsOfDirectory(atPath: fixture.folderPath)
        #expect(!files.contains { $0.contains("backup") || $0.contains("before-migration") }, "\(files)")
    }

    @Test(arguments: [Int64.max, 0])
    func `the backup stays where something was dropped`(threshold: Int64) throws {
        let fixture = try filled()
        let before = try fixture.dump()
        var asked: [MigrationLosses] = []
        let migrator = fixture.migrator {
            $0.copyRowThreshold = threshold
            $0.keepsBackupOfLosses = true
            $0.allowsLosses = {
                asked.append($0)
                return true
            }
        }
        let plan = try migrator.migrate(through: try stages())
        #expect(plan.losses.lines == ["Tag: 2 rows", "Chat.tags: 3 links", "Chat.title: 2 values"])
        #expect(asked.count == (threshold == 0 ? 2 : 1))
        let backup = try Store.openForReading(path: try #require(plan.backup), model: fixture.model)
        var text = ""
        try backup.read { try $0.canonicalDump { text += $0 } }
        #expect(text == before)
        #expect(try migrator.migrate(through: try stages()).backup == nil)
    }

    @Test func `a run that goes on after a kill keeps the backup for the losses of the earlier run`() throws {
        struct Killed: Error {}
        for landmark in ["done", "clean"] {
            let fixture = try filled()
            func migrate(_ willExecute: @escaping (String) throws -> Void = { _ in }) throws -> MigrationPlan {
                try fixture.migrator {
                    $0.copyRowThreshold = 0
                    $0.keepsBackupOfLosses = true
                    $0.willExecute = willExecute
                }.migrate(through: [try stages()[0]])
            }
            #expect(throws: Killed.self) { try migrate { if $0 == landmark { throw Killed() } } }
            let plan = try migrate()
            #expect(plan.backup != nil, "\(landmark)")
            if landmark == "done" { #expect(plan.losses.lines == ["Chat.tags: 3 links"]) }
        }
    }
}
