import ObjectGraph

/// Keeps chats in a store, and returns what is in it in the end.
func keepChats(at path: String) throws -> [String] {
    let model = try ObjectModel.parse(
        """
        model: chats
        entities:
          Chat:
            identity: id
            attributes:
              id:            { type: string }
              title:         { type: string, maxLength: 40 }
              messagesCount: { type: integer64, derived: messages.@count }
            relationships:
              messages: { to: Message, many: true, inverse: chat, delete: cascade }
          Message:
            identity: id
            attributes:
              id:     { type: string }
              body:   { type: string }
              sentAt: { type: date, optional: true }
            relationships:
              chat: { to: Chat, inverse: messages }
        """)
    let store = try Store.open(path: path, model: model)
    let writer = try WriterContext(store: store)
    defer { try? writer.close() }

    // Objects are made and linked in memory, and saved together.
    let context = try EditingContext(writer)
    let chat = try context.insert("Chat", identity: "lunch", ["title": "Lunch"])
    for (number, body) in ["Soup today?", "Bread, too", "At noon"].enumerated() {
        let message = try context.insert("Message", ["body": body, "sentAt": "2026-03-0\(number + 1)"])
        try message.setObject("chat", chat)
    }
    try context.save()

    // Changes can be taken back until they are saved.
    try chat.set("title", "Dinner")
    context.undo()

    // A save that breaks a rule changes nothing and says all that is wrong.
    let broken = try context.insert("Message", ["body": "Where?"])
    do {
        try context.save()
    } catch let error as EditingError where error.code == .validation {
        try broken.setObject("chat", chat)
        try context.save()
    }

    // Somebody else changes the same chat: the policy decides who wins.
    var options = EditingContext.Options()
    options.mergePolicy = .objectTrump
    let other = try EditingContext(writer, options: options)
    let same = try other.object(with: chat.objectID)
    try same.set("title", "Supper")
    try chat.set("title", "Brunch")
    try context.save()
    try other.save()

    // Deleting follows the model's rules; the newest message goes.
    var request = FetchRequest("Message")
    request.sort = ["-sentAt"]
    request.limit = 1
    for message in try context.fetch(request, prefetch: ["chat"]) { try context.delete(message) }
    try context.save()

    return try store.read { snapshot in
        try snapshot.fetch(FetchRequest("Chat")).map { chat in
            "\(chat["title"]?.text ?? ""): \(chat["messagesCount"]?.integer ?? 0) messages"
        }
    }
}
