import ObjectGraph
import Testing

@testable import GraphCore

/// A store with a writer, and as many contexts as a test wants.
struct EditingFixture {
    let graph: Graph
    let clock = Clock(1_000)

    static let model = """
        model: editing
        entities:
          Chat:
            identity: id
            attributes:
              id: { type: string }
              title: { type: string, optional: true, maxLength: 10 }
              topic: { type: string, optional: true }
              updatedAt: { type: date, optional: true }
              messagesCount: { type: integer64, derived: messages.@count }
            relationships:
              messages: { to: Message, many: true, inverse: chat, delete: cascade }
              members: { to: Member, many: true, inverse: chats, maxCount: 3 }
              locks: { to: Lock, many: true, inverse: chat, delete: deny }
              owner: { to: Member, inverse: ownedChats, optional: true }
          Message:
            identity: id
            attributes:
              id: { type: string }
              body: { type: string, optional: true, minLength: 2 }
              seq: { type: integer64, default: 7, min: 0 }
              sentAt: { type: date, optional: true }
            relationships:
              chat: { to: Chat, inverse: messages }
              sender: { to: Member, inverse: messages, optional: true }
          Member:
            identity: id
            attributes:
              id: { type: string }
              name: { type: string, optional: true }
              email: { type: string, optional: true, unique: true }
              age: { type: integer32, optional: true, default: 18 }
              updatedAt: { type: date, optional: true }
            relationships:
              chats: { to: Chat, many: true, inverse: members }
              ownedChats: { to: Chat, many: true, inverse: owner }
              messages: { to: Message, many: true, inverse: sender }
              spouse: { to: Member, inverse: spouse, optional: true }
              home: { to: Chat, inverse: none, optional: true }
          Lock:
            identity: id
            attributes: { id: { type: string } }
            relationships: { chat: { to: Chat, inverse: locks, optional: true } }
          Device:
            identity: key
            attributes:
              key: { type: uuid }
              price: { type: decimal, optional: true }
              active: { type: boolean, default: true }
        """

    init() throws {
        graph = try Graph(try ObjectModel.parse(Self.model), clock: clock)
    }

    var store: Store { graph.store }

    func context(
        _ policy: MergePolicy = .error, _ change: (inout EditingContext.Options) -> Void = { _ in }
    ) throws -> EditingContext {
        var options = EditingContext.Options()
        options.mergePolicy = policy
        options.name = "test"
        change(&options)
        return try EditingContext(graph.writer, options: options)
    }

    /// Saves a chat `c` with messages `m1` to `m3`, sent by `ann`, and members `ann` and `bob`.
    func seed() throws {
        let context = try context()
        let chat = try context.insert("Chat", identity: "c", ["title": "Chat", "topic": "old"])
        let ann = try context.insert("Member", identity: "ann", ["name": "Ann", "email": "ann@x.y"])
        let bob = try context.insert("Member", identity: "bob", ["name": "Bob"])
        for number in 1...3 {
            let message = try context.insert("Message", identity: "m\(number)", ["body": "hello"])
            try message.setObject("chat", chat)
            try message.setObject("sender", ann)
        }
        try chat.setObjects("members", [ann, bob])
        try context.save()
    }

    /// Changes attributes of an object in a context of its own and saves, as another program would.
    func elsewhere(_ entity: String, _ identity: Value, _ values: [String: Value]) throws {
        let context = try context(.overwrite)
        let object = try context.require(entity, identity)
        for (name, value) in values { try object.set(name, value) }
        try context.save()
    }

    func deleteElsewhere(_ entity: String, _ identity: Value) throws {
        let context = try context()
        try context.delete(try context.require(entity, identity))
        try context.save()
    }

    func value(_ entity: String, _ identity: String, _ property: String) throws -> Value? {
        try graph.value(entity, identity, property)
    }

    /// The resolved conflicts as words: "Chat c title context" and so on.
    func notes() throws -> [String] {
        try store.read { try $0.conflicts() }.map {
            [$0.kind, $0.entity, $0.identity.text ?? "?", $0.property ?? "-", $0.decision].joined(separator: " ")
        }
    }
}

extension Graph {
    /// Makes a context of the writer with the merge policy of a name.
    func context(_ policy: String = "error") throws -> EditingContext {
        var options = EditingContext.Options()
        options.mergePolicy = try #require(MergePolicy(named: policy))
        return try EditingContext(writer, options: options)
    }
}

struct Missing: Error {}

extension EditingContext {
    func require(_ entity: String, _ identity: Value) throws -> ManagedObject {
        guard let object = try object(entity, identity: identity) else { throw Missing() }
        return object
    }

    func ids(_ objects: [ManagedObject]) throws -> [String] { try objects.map { try $0.identity.text ?? "?" } }
}

/// Returns the error of the code that a save or another call has to throw.
func editingError(_ body: () throws -> Void) -> EditingError? {
    do {
        try body()
        return nil
    } catch {
        return error as? EditingError
    }
}
