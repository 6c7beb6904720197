import Foundation
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// A store with rows that is migrated from model to model.
final class MigrationFixture {
    private let folder: TemporaryFolder
    let path: String
    private(set) var model: ObjectModel

    init(_ yaml: String, _ fill: (Graph) throws -> Void = { _ in }) throws {
        folder = try TemporaryFolder()
        path = folder.path("store.sqlite")
        model = try ObjectModel.parse(yaml)
        try use(fill)
    }

    /// A model of chats with messages and tags.
    static let chats = """
        model: m
        version: 1
        entities:
          Chat:
            identity: id
            attributes: { id: { type: string }, title: { type: string, optional: true }, n: { type: string, default: "1" } }
            relationships: { messages: { to: Message, many: true, inverse: chat, delete: cascade }, tags: { to: Tag, many: true, inverse: none } }
          Message:
            identity: id
            attributes: { id: { type: string }, size: { type: integer64, default: 2 } }
            relationships: { chat: { to: Chat, inverse: messages, optional: true } }
          Tag: { identity: id, attributes: { id: { type: string } } }
        """

    /// 3 chats, 2 tags and 40 messages that live on, an object that does not, and 2 links.
    ///
    /// - Parameters:
    ///   - yaml: the model, with these entities.
    ///   - title: the first chat's title.
    ///   - events: what is applied besides.
    static func chats(
        _ yaml: String = chats, title: String, also events: (Graph) -> [ChangeSet] = { _ in [] }
    ) throws -> MigrationFixture {
        try MigrationFixture(yaml) { graph in
            try graph.apply(
                (0..<40).map { graph.upsert("Message", .text("m\($0)"), ["chat": .value(.text("c\($0 % 3)"))]) })
            try graph.apply(
                [
                    graph.upsert("Chat", "c0", ["title": .value(.text(title)), "tags": .replace(["t1", "t2"])]),
                    graph.upsert("Chat", "c1"), graph.delete("Chat", "gone"), graph.upsert("Tag", "t1"),
                ] + events(graph))
        }
    }

    /// Opens the store with its present model.
    func use(_ body: (Graph) throws -> Void) throws {
        let graph = try Graph(model, path: path)
        try body(graph)
        try graph.writer.close()
        try graph.store.close()
    }

    func migrator(_ edit: (inout Migrator.Options) throws -> Void = { _ in }) rethrows -> Migrator {
        var options = Migrator.Options()
        try edit(&options)
        return Migrator(path: path, options: options)
    }

    /// Migrates the store and checks that it is sound.
    @discardableResult
    func migrate(to yaml: String, _ edit: (inout Migrator.Options) -> Void = { _ in }) throws -> MigrationPlan {
        let model = try ObjectModel.parse(yaml)
        let plan = try migrator(edit).migrate(to: model)
        try adopt(model)
        return plan
    }

    /// Takes a model for the store's own, and checks the store against it.
    func adopt(_ model: ObjectModel, _ run: String = "") throws {
        self.model = model
        try expectSound(run)
    }

    /// - Parameter run: what tells which run it was, where there are many.
    func expectSound(_ run: String = "") throws {
        let store = try Store.openForReading(path: path, model: model)
        let report = try store.verify()
        #expect(report.isSound, "\(run) \(report.text)")
        try store.close()
        try use { graph in
            let problems = try StoreCheck.problems(graph, hasMigrated: true)
            #expect(problems == [], "\(run)")
        }
        #expect(!FileManager.default.fileExists(atPath: path + ".before-migration"))
        #expect(!FileManager.default.fileExists(atPath: path + ".migrating"))
    }

    /// Checks that the store is of the old model, sound, and not held by anybody.
    func expectOld() throws {
        let store = try Store.openForReading(path: path, model: model)
        let report = try store.verify()
        #expect(report.isSound, "\(report.text)")
        try store.close()
        try use { _ in }
    }

    var folderPath: String { folder.url.path }

    func rows(_ sql: String) throws -> [[Value]] {
        var rows: [[Value]] = []
        try use { rows = try $0.rows(sql) }
        return rows
    }

    /// Why a migration is refused: its code and all that stands against it.
    func refusal(to yaml: String, _ edit: (inout Migrator.Options) -> Void = { _ in }) throws -> (String, String) {
        let model = try ObjectModel.parse(yaml)
        do {
            try migrator(edit).migrate(to: model)
            return ("none", "")
        } catch let error as MigrationError {
            return (error.code.rawValue, error.details.joined(separator: "\n"))
        }
    }

    func dump() throws -> String {
        let store = try Store.openForReading(path: path, model: model)
        defer { try? store.close() }
        var text = ""
        try store.read { try $0.canonicalDump { text += $0 } }
        return text
    }
}

/// One entity in a line, for models that differ in one thing.
func entityModel(_ attributes: String, _ rest: String = "", version: String = "1") -> String {
    """
    model: small
    version: \(version)
    entities:
      Item:
        identity: id
        attributes:
          id: { type: string }
    \(attributes.split(separator: "\n").map { "      \($0)" }.joined(separator: "\n"))
    \(rest)
    """
}

extension Migrator.Step {
    /// The rows of objects that were copied.
    var copiedObjects: Int64 { if case .copied(let rowCount, areObjects: true) = self { rowCount } else { 0 } }
}
