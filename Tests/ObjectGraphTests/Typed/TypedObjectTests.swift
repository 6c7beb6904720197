import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct TypedObjectTests {
    let graph: Graph

    init() throws { graph = try Graph(try Typed.model()) }

    private func context() throws -> EditingContext { try EditingContext(graph.writer) }

    /// Saves the chat `c` with the messages `m1` to `m3`.
    private func seed() throws {
        let context = try context()
        let chat = try context.insert(Typed.Chat.self, id: "c")
        chat.title = "Pumps"
        for number in 1...3 {
            let message = try context.insert(Typed.Message.self, id: "m\(number)")
            message.body = "body \(number)"
            message.seq = number
            message.chat = chat
        }
        try context.save()
    }

    @Test func `defaults are those of the declaration`() throws {
        let context = try context()
        let chat = try context.insert(Typed.Chat.self, id: "c")
        let message = try context.insert(Typed.Message.self, id: "m")
        #expect(chat.priority == .normal && chat.title == nil && chat.messages.isEmpty && chat.heading == "Untitled")
        #expect(message.seq == 7 && message.isUnread)
    }

    @Test func `a value of each type is read as it was set`() throws {
        let graph = try Graph(try ObjectModel(name: "sample", entities: [Typed.Sample.self]))
        let writing = try EditingContext(graph.writer)
        let sample = try writing.insert(Typed.Sample.self)
        let time = try #require(Date(storedValue: .integer(1_767_323_045_123_457)))
        let link = try #require(URL(string: "https://example.org/a?b=c"))
        let amount = try #require(DecimalText.number("1234567890123456789012.0123456789"))
        sample.text = "text"
        sample.flag = true
        sample.small = .min
        sample.middle = .max
        sample.large = .min
        sample.number = 0.1
        sample.single = 0.1
        sample.amount = amount
        sample.time = time
        sample.link = link
        sample.bytes = Data([1, 2])
        sample.list = [3]
        sample.state = .closed
        sample.maybeState = .open
        let id = sample.id
        try writing.save()
        let read = try #require(try EditingContext(graph.writer).object(Typed.Sample.self, id: id))
        #expect(read.text == "text" && read.flag && read.small == .min && read.middle == .max && read.large == .min)
        #expect(read.number == 0.1 && read.single == 0.1 && read.amount == amount && read.time == time)
        #expect(read.link == link && read.bytes == Data([1, 2]) && read.list == [3] && read.state == .closed)
        #expect(read.maybeText == nil && read.maybeAmount == nil && read.maybeTime == nil && read.maybeState == .open)
    }

    @Test func `relationships are typed and their inverses follow at once`() throws {
        let context = try context()
        let chat = try context.insert(Typed.Chat.self, id: "c")
        let message = try context.insert(Typed.Message.self, id: "m")
        message.chat = chat
        #expect(chat.messages == [message])
        chat.messages = []
        #expect(message.chat == nil)
        chat.messages.append(message)
        #expect(message.chat === chat)
        let (ada, bob) = (try context.insert(Typed.Member.self), try context.insert(Typed.Member.self))
        ada.friends = [bob]
        #expect(bob.friends == [ada])
        chat.members = [ada, bob]
        #expect(ada.chats == [chat])
    }

    @Test func `there is one typed object of an object`() throws {
        try seed()
        let context = try context()
        let chat = try #require(try context.object(Typed.Chat.self, id: "c"))
        let again = try context.fetch(Typed.Chat.self)
        #expect(again.first === chat)
        #expect(chat.messages.first?.chat === chat)
        #expect(try context.typed(as: Typed.Chat.self, try context.require("Chat", "c")) === chat)
        let other = try #require(try self.context().object(Typed.Chat.self, id: "c"))
        #expect(other != chat)
    }

    @Test func `typed objects are fetched by key paths`() throws {
        try seed()
        let context = try context()
        let chats = try context.fetch(
            Typed.Chat.self, where: \.title != nil && \.messages.count > 2, sort: [.descending(\.updatedAt)], limit: 50,
            prefetch: [\.messages])
        #expect(chats.map(\.id) == ["c"])
        #expect(chats[0].messagesCount == 3)
        let messages = try context.fetch(
            Typed.Message.self, where: \.chat == chats[0] && \.seq > 1, sort: [.descending(\.seq)])
        #expect(messages.map(\.id) == ["m3", "m2"])
        let none = try context.fetch(Typed.Chat.self, where: .none(\.messages, \.seq > 2 && \.body != "x"))
        #expect(none.isEmpty)
    }

    @Test func `snapshots are read without a context`() throws {
        try seed()
        let chats = try graph.store.read { try $0.fetch(Typed.Chat.self, where: \.title == "Pumps") }
        #expect(chats.map(\.title) == ["Pumps"])
        #expect(chats[0].messagesCount == 3 && chats[0].priority == .normal && chats[0].heading == "Pumps")
        try graph.store.read { context in
            let messages = try context.destinations(
                of: chats[0], \.messages, where: \.seq < 3, sort: [.descending(\.seq)])
            #expect(messages.map(\.body) == ["body 2", "body 1"])
            #expect(try context.destination(of: messages[0], \.chat) == chats[0])
            #expect(try context.destination(of: messages[0], \.sender) == nil)
            #expect(try context.object(Typed.Message.self, id: "m1")?.seq == 1)
            #expect(try context.object(Typed.Message.self, id: "m9") == nil)
            #expect(try context.count(Typed.Message.self, where: \.chat == chats[0]) == 3)
        }
    }

    @Test func `properties of a placeholder read as empty`() throws {
        let context = try context()
        try graph.apply(graph.upsert("Message", "m", ["body": "text", "chat": "later"]))
        let chat = try #require(try context.object(Typed.Message.self, id: "m")?.chat)
        #expect(try chat.managedObject?.isPlaceholder == true)
        #expect(chat.title == nil && chat.priority == .low && chat.messagesCount == 1)
        try context.checkRefusals()
    }

    @Test func `objects of sub-entities are of their own class`() throws {
        let types: [TypedObject.Type] = [Typed.Party.self, Typed.Person.self, Typed.Company.self]
        let graph = try Graph(try ObjectModel(name: "parties", entities: types))
        let context = try EditingContext(graph.writer)
        let company = try context.insert(Typed.Company.self, id: "works")
        let person = try context.insert(Typed.Person.self, id: "ada")
        person.name = "Ada"
        person.employer = company
        try context.save()
        #expect(company.staff == [person])
        #expect(try context.fetch(Typed.Person.self, where: \.employer?.id == "works").map(\.name) == ["Ada"])
        #expect(try context.object(Typed.Company.self, id: "ada") == nil)
    }

    // MARK: Refusals

    @Test func `a save throws the refusal of a property and saves nothing`() throws {
        let context = try context()
        let member = try context.insert(Typed.Member.self)
        member.name = "ada"
        member.age = 100_000
        #expect(member.age == nil)
        #expect(editingError { try context.save() }?.code == .type)
        #expect(editingError { try context.save() }?.code == .type)
        #expect(try graph.store.read { try $0.count(Typed.Member.self) } == 0)
        member.age = 30
        try context.save()
        #expect(try graph.store.read { try $0.count(Typed.Member.self) } == 1)
    }

    @Test func `a refused setter is kept until the property is set to a value it takes`() throws {
        let context = try context()
        let (ada, bob) = (try context.insert(Typed.Member.self), try context.insert(Typed.Member.self))
        (ada.age, bob.age) = (100_000, 100_000)
        for _ in 0..<3 { #expect(editingError { try context.save() }?.code == .type) }
        ada.name = "Ada"
        #expect(editingError { try context.save() }?.code == .type)
        ada.age = 30
        #expect(editingError { try context.checkRefusals() }?.code == .type)
        try bob.managedObject?.set("age", 31)
        try context.save()
        #expect(try graph.column("SELECT age FROM Member ORDER BY age") == [30, 31])
    }

    @Test(arguments: ["rollback", "reset", "delete"])
    func `a refused setter is forgotten with the changes that it belongs to`(_ way: String) throws {
        let context = try context()
        let member = try context.insert(Typed.Member.self)
        member.age = 100_000
        #expect(editingError { try context.save() }?.code == .type)
        switch way {
        case "rollback": context.rollback()
        case "reset": context.reset()
        default: try context.delete(member)
        }
        try context.save()
    }

    @Test func `a refresh forgets what that object refused and nothing else`() throws {
        let context = try context()
        let (ada, bob) = (try context.insert(Typed.Member.self), try context.insert(Typed.Member.self))
        try context.save()
        (ada.age, bob.age) = (100_000, 100_000)
        try context.refresh(ada, mergeChanges: false)
        #expect(editingError { try context.save() }?.code == .type)
        try context.refresh(bob, mergeChanges: true)
        try context.save()
    }

    @Test func `a refused reading is thrown once`() throws {
        let context = try context()
        try context.insert("Chat", identity: "c", ["priority": 9])
        let chat = try #require(try context.object(Typed.Chat.self, id: "c"))
        #expect(chat.priority == .low)
        #expect(editingError { try context.save() }?.code == .type)
        chat.priority = .high
        try context.save()
    }

    @Test func `no way of writing stores a value without a case`() throws {
        try seed()
        let context = try context()
        let chat = try #require(try context.object(Typed.Chat.self, id: "c"))
        try chat.managedObject?.set("priority", 3)
        #expect(editingError { try context.save() }?.failures.map(\.reason) == [.numberTooLarge])
        context.rollback()
        #expect(throws: (any Error).self) {
            try graph.writer.execute(BatchUpdateRequest("Chat", set: ["priority": .value(-1)]))
        }
        chat.priority = .high
        try context.save()
        let model = try ObjectModel(name: "sample", entities: [Typed.Sample.self])
        let attributes = try #require(model.entity(named: "Sample")?.attributes)
        #expect(
            attributes.filter { $0.name.hasSuffix("tate") }.map(\.constraints.pattern?.source) == [
                "^(open|closed)$", "^(open|closed)$",
            ])
    }

    @Test func `checking throws a refusal at once`() throws {
        let context = try context()
        let member = try context.insert(Typed.Member.self)
        #expect(editingError { try context.checking { member.age = 100_000 } }?.code == .type)
        try context.checking { member.age = 30 }
        try context.save()
        #expect(member.age == 30)
    }

    @Test func `an object of another context is refused`() throws {
        try seed()
        let context = try context()
        let chat = try #require(try self.context().object(Typed.Chat.self, id: "c"))
        let message = try context.insert(Typed.Message.self, id: "n")
        message.chat = chat
        #expect(editingError { try context.checkRefusals() }?.code == .otherContext)
    }

    @Test func `a deleted object reads as empty and the save says so`() throws {
        try seed()
        let context = try context()
        let chat = try #require(try context.object(Typed.Chat.self, id: "c"))
        try context.delete(chat)
        try context.save()
        #expect(chat.title == nil)
        #expect(editingError { try context.save() }?.code == .objectGone)
        chat.title = "x"
        context.rollback()
        try context.save()
        chat.title = "y"
        #expect(editingError { try context.save() }?.code == .objectGone)
        #expect(editingError { try context.delete(chat) }?.code == .objectGone)
        try context.save()
    }

    @Test func `a value that the Swift type does not know is refused`() throws {
        let context = try context()
        try context.insert("Chat", identity: "c", ["priority": 9])
        let chat = try #require(try context.object(Typed.Chat.self, id: "c"))
        #expect(chat.priority == .low)
        let error = editingError { try context.checkRefusals() }
        #expect(error?.code == .type)
        #expect(error?.description.contains("Chat.priority") == true)
    }

    @Test func `the rules of the model hold for typed objects`() throws {
        let context = try context()
        let chat = try context.insert(Typed.Chat.self, id: "c")
        chat.title = String(repeating: "x", count: 21)
        let message = try context.insert(Typed.Message.self, id: "m")
        message.body = "x"
        let error = editingError { try context.save() }
        #expect(error?.code == .validation)
        #expect(error?.failures.count == 3)
    }
}
