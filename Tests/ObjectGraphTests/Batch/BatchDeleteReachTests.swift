import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Which survivors are counted anew, by the ways on which a deletion came to the objects that they counted.
@Suite struct BatchDeleteReachTests {
    private static let yaml = """
        entities:
          Space:
            identity: id
            attributes: { id: { type: string } }
            relationships:
              chats: { to: Chat, many: true, inverse: space, delete: cascade }
              members: { to: Member, many: true, inverse: space, delete: cascade }
          Chat:
            identity: id
            attributes: { id: { type: string }, count: { type: integer64, derived: messages.@count } }
            relationships:
              space: { to: Space, inverse: chats, optional: true }
              messages: { to: Message, many: true, inverse: chat, delete: cascade }
          Member:
            identity: id
            attributes: { id: { type: string }, count: { type: integer64, derived: messages.@count } }
            relationships:
              space: { to: Space, inverse: members, optional: true }
              messages: { to: Message, many: true, inverse: sender, delete: cascade }
          Message:
            identity: id
            attributes: { id: { type: string } }
            relationships:
              chat: { to: Chat, inverse: messages, optional: true }
              sender: { to: Member, inverse: messages, optional: true }
              answers: { to: Message, many: true, inverse: question, delete: cascade }
              question: { to: Message, inverse: answers, optional: true }
        """

    /// Two chats and two members, one of each in the space, with a message for each pair; 'again' answers the message of
    /// the first pair in the second chat.
    private func graph() throws -> Graph {
        let graph = try Graph(yaml: Self.yaml)
        try graph.apply([
            graph.upsert("Space", "s"),
            graph.upsert("Chat", "a", ["space": "s"]), graph.upsert("Chat", "b"),
            graph.upsert("Member", "m", ["space": "s"]), graph.upsert("Member", "n"),
            graph.upsert("Message", "am", ["chat": "a", "sender": "m"]),
            graph.upsert("Message", "an", ["chat": "a", "sender": "n"]),
            graph.upsert("Message", "bm", ["chat": "b", "sender": "m"]),
            graph.upsert("Message", "bn", ["chat": "b", "sender": "n"]),
            graph.upsert("Message", "again", ["chat": "b", "sender": "n", "question": "am"]),
        ])
        return graph
    }

    private func counts(_ graph: Graph) throws -> [String] {
        #expect(try graph.store.inSQLite().verify().isSound)
        return try graph.rows("SELECT id, count FROM Chat UNION ALL SELECT id, count FROM Member ORDER BY id")
            .map { "\($0[0].text ?? "?") \($0[1].integer ?? -1)" }
    }

    @Test func `by one owner the other is counted again`() throws {
        let graph = try graph()
        #expect(try counts(graph) == ["a 2", "b 3", "m 2", "n 3"])
        _ = try graph.writer.execute(BatchDeleteRequest("Member", where: "id = 'n'"))
        #expect(try counts(graph) == ["a 1", "b 1", "m 2"])
    }

    @Test func `by an owner and by another message both are counted again`() throws {
        let graph = try graph()
        _ = try graph.writer.execute(BatchDeleteRequest("Chat", where: "id = 'a'"))
        #expect(try counts(graph) == ["b 2", "m 1", "n 1"])
    }

    @Test func `by both owners the others are counted again`() throws {
        let graph = try graph()
        _ = try graph.writer.execute(BatchDeleteRequest("Space"))
        #expect(try counts(graph) == ["b 1", "n 1"])
    }

    @Test func `deleted for themselves their owners are counted again`() throws {
        let graph = try graph()
        _ = try graph.writer.execute(BatchDeleteRequest("Message", where: "id = 'am'"))
        #expect(try counts(graph) == ["a 1", "b 2", "m 1", "n 2"])
    }

    @Test func `owners are looked up by the other columns only`() throws {
        let model = try ObjectModel.parse(Self.yaml)
        let chat = try #require(model.entity(named: "Chat")?.ownRelationships.first { $0.name == "messages" })
        let sender = try #require(model.entity(named: "Member")?.ownRelationships.first { $0.name == "messages" })
        let message = try #require(model.entity(named: "Message"))
        var reach = CascadeReach()
        #expect(reach.takesOwners(of: chat, model))
        reach.note(chat, model)
        #expect(reach.takesOwners(of: chat, model))
        #expect(!reach.takesOwners(of: sender, model))
        var both = reach
        both.note(sender, model)
        #expect(!both.takesOwners(of: chat, model))
        reach.noteSeed(of: message.rootIndex)
        #expect(!reach.takesOwners(of: chat, model))
    }
}
