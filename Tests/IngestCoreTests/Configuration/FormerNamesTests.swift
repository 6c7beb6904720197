import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

/// The lines that routes need for records with the names from before a migration.
@Suite("Former names")
struct FormerNamesTests {
    private static let old = """
        model: m
        entities:
          Chat: { identity: id, attributes: { id: { type: string }, title: { type: string, optional: true } } }
          WorkNote:
            identity: key
            attributes: { key: { type: string }, text: { type: string, optional: true }, rank: { type: integer64, default: 0 } }
            relationships: { chat: { to: Chat, inverse: none, optional: true } }
        """
    private static let new = """
        model: m
        version: 2
        entities:
          Chat: { identity: id, attributes: { id: { type: string }, name: { type: string, optional: true, renamedFrom: title } } }
          Remark:
            renamedFrom: WorkNote
            identity: key
            attributes: { key: { type: string }, body: { type: string, optional: true, renamedFrom: text }, rank: { type: integer64, default: 0 } }
            relationships: { talk: { to: Chat, inverse: none, optional: true, renamedFrom: chat } }
        """

    private func lines(_ yaml: String, from old: String = old, to new: String = new) throws -> [String] {
        let (old, new) = (try ObjectModel.parse(old), try ObjectModel.parse(new))
        let configuration = try WorkerConfiguration.load(yaml: yaml, name: "w.yaml").configuration
        return FormerNames(ModelDifference(from: old, to: new), new).lines(for: configuration)
    }

    private static let head = "routes need these lines for records with the former names:"
    private static let unrouted = "# for records without a route; write types and tables as the records do"

    @Test
    func `events without a route get one for each type, deletions only where they need it`() throws {
        let found = try lines("topics: [events]")
        #expect(found.prefix(3) == [Self.head, Self.unrouted, "routes:"])
        let chats = ["created", "patched", "updated", "upserted"].map {
            "  - { type: \"chat.\($0)\", entity: Chat, aliases: { title: name } }"
        }
        let notes = ["created", "deleted", "patched", "removed", "updated", "upserted"].map {
            "  - { type: \"work-note.\($0)\", entity: Remark, aliases: { chat: talk, text: body } }"
        }
        #expect(Array(found.dropFirst(3)) == chats + notes)
    }

    @Test(arguments: ["debezium", "maxwell", "canal", "dms"])
    func `rows of tables get a route for each table`(format: String) throws {
        let found = try lines("topics: [{ name: rows, format: \(format) }]")
        #expect(
            found == [
                Self.head, Self.unrouted, "routes:", "  - { table: chat, entity: Chat, aliases: { title: name } }",
                "  - { table: work_note, entity: Remark, aliases: { chat: talk, text: body } }",
            ])
    }

    @Test
    func `each route of the configuration is named with what it needs`() throws {
        let found = try lines(
            """
            topics:
              - name: notes
                format: json
                routes:
                  - { entity: WorkNote, aliases: { memo: text, chat_id: chat }, ignore: [text], types: { text: number } }
                  - { entity: Remark, aliases: { text: body, chat: talk } }
                  - entity: Chat
                    ignore: [title]
                    split: [{ field: notes, entity: WorkNote, parent: chat }]
                  - { type: x, typeField: kind, verb: drop }
            """)
        #expect(
            found == [
                Self.head, "# in the route at w.yaml:5:9", "entity: Remark",
                "aliases: { chat: talk, chat_id: talk, memo: body }", "# 'text' is 'body' in its other keys",
                "# in the split at w.yaml:9:17", "entity: Remark", "aliases: { chat: talk, text: body }",
                "# 'chat' is 'talk' in its other keys",
            ], "\(found.joined(separator: "\n"))")
    }

    @Test
    func `without a rename, or where the former name is another property's, there are no lines`() throws {
        #expect(try lines("topics: [events]", from: Self.new) == [])
        let swapped = """
            model: m
            entities:
              E: { identity: id, attributes: { id: { type: string }, a: { type: string, renamedFrom: b }, b: { type: string, renamedFrom: a } } }
            """
        let before = """
            model: m
            entities:
              E: { identity: id, attributes: { id: { type: string }, a: { type: string }, b: { type: string } } }
            """
        #expect(try lines("topics: [events]", from: before, to: swapped) == [])
    }

    @Test
    func `an alias of a reference takes the column's spellings too`() throws {
        let model = try ObjectModel.parse(Self.new)
        var route = RouteConfiguration(entity: "Remark")
        (route.table, route.aliases) = ("work_note", ["chat": "talk", "text": "body"])
        let decoder = try TestDecoder(model, format: .debezium, routes: [route])
        let source = DebeziumRecords.source(table: "work_note")
        for column in ["chat", "chat_id", "CHAT_ID", "chatId"] {
            let row = "{\"key\":\"k\",\"\(column)\":\"c1\",\"TEXT\":\"t\"}"
            let shown = try decoder.shown(DebeziumRecords.change("c", after: row, source: source))
            #expect(shown == ["upsert Remark k body=t talk=c1"], "\(column)")
        }
    }
}
