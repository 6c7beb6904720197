import ObjectGraph

/// The models of the comparisons.
enum Models {
    /// Chats with messages: what a deletion reaches, and what a batch update changes.
    static let messages = """
        model: chat
        version: 1
        entities:
          Chat:
            identity: id
            attributes:
              id: { type: string }
              title: { type: string, optional: true }
              messagesCount: { type: integer64, derived: messages.@count }
            relationships:
              messages: { to: Message, many: true, inverse: chat, delete: cascade }
            indexes: [[messagesCount]]
          Message:
            identity: id
            attributes:
              id: { type: string }
              body: { type: string, optional: true }
              sentAt: { type: date, optional: true }
              seq: { type: integer64, default: 0, min: 0 }
            relationships:
              chat: { to: Chat, inverse: messages }
            indexes: [[chat, sentAt]]
        """

    /// Chats with members and messages, all relationships with inverses, three derived counts: what a context saves.
    static let graph = """
        model: chat
        version: 1
        entities:
          Chat:
            identity: id
            attributes:
              id: { type: string, maxLength: 100 }
              title: { type: string, optional: true, maxLength: 200 }
              membersCount: { type: integer64, derived: members.@count }
              messagesCount: { type: integer64, derived: messages.@count }
            relationships:
              messages: { to: Message, many: true, inverse: chat, delete: cascade }
              members: { to: Member, many: true, inverse: chats }
          Member:
            identity: id
            attributes:
              id: { type: string, maxLength: 100 }
              name: { type: string, optional: true, maxLength: 200 }
              messagesCount: { type: integer64, derived: messages.@count }
            relationships:
              chats: { to: Chat, many: true, inverse: members }
              messages: { to: Message, many: true, inverse: sender }
          Message:
            identity: id
            attributes:
              id: { type: string, maxLength: 100 }
              body: { type: string, optional: true, maxLength: 10000 }
              sentAt: { type: date, optional: true }
              seq: { type: integer64, default: 0, min: 0 }
            relationships:
              chat: { to: Chat, inverse: messages }
              sender: { to: Member, inverse: messages, optional: true }
            indexes: [[chat, sentAt]]
        """

    /// Makes an empty store.
    static func makeStore(_ model: String, path: String) throws {
        try Store.open(path: path, model: try ObjectModel.parse(model)).close()
    }

    static func open(_ model: String, path: String) throws -> Store {
        try Store.open(path: path, model: try ObjectModel.parse(model))
    }
}
