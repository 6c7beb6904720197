import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct EntityValidatorTests {
    private static let yaml = """
        entities:
          Chat:
            identity: id
            attributes: { id: { type: string }, title: { type: string, optional: true } }
            relationships: { messages: { to: Message, many: true, inverse: chat, delete: cascade } }
          Message:
            identity: id
            attributes: { id: { type: string }, size: { type: integer64, default: 1, max: 9 }, at: { type: date, optional: true } }
            relationships: { chat: { to: Chat, inverse: messages, optional: true } }
        """

    /// What the validators were called with.
    private final class Calls {
        var lines: [String] = []
    }

    private func graph(_ calls: Calls, setDeletionThreshold: Int = 1000) throws -> Graph {
        func line(_ kind: String, _ object: ObjectValidation) {
            calls.lines.append(
                "\(kind) \(object.identity.text ?? "") \(object.oldValue("size").shown)→\(object.value("size").shown)")
        }
        var options = WriterContext.Options()
        options.setDeletionThreshold = setDeletionThreshold
        options.validators["Message"] = EntityValidator(
            validateForInsert: { line("insert", $0) },
            validateForUpdate: { object in
                line("update", object)
                if let size = object.value("size").integer, let old = object.oldValue("size").integer, size < old {
                    object.fail("size", "may not shrink")
                }
            },
            validateForDelete: { object in
                line("delete", object)
                if object.value("size") == 7 { object.fail(nil, "is kept for good", reason: .deniedDelete) }
            })
        return try Graph(ObjectModel.parse(Self.yaml), options: options)
    }

    @Test func `each kind of change has its hook`() throws {
        let calls = Calls()
        let graph = try graph(calls)
        try graph.apply(
            graph.upsert("Message", "m", ["size": 2]), graph.upsert("Message", "m", ["size": 3]),
            graph.delete("Message", "m"))
        #expect(calls.lines == ["insert m null→2", "update m 2→3", "delete m 3→3"])
    }

    @Test func `placeholder is inserted when its own event comes`() throws {
        let calls = Calls()
        let graph = try graph(calls)
        try graph.apply(graph.upsert("Chat", "c", ["messages": ["m"]]))
        #expect(calls.lines.isEmpty)
        try graph.apply(graph.upsert("Message", "m"))
        #expect(calls.lines == ["insert m null→1"])
    }

    @Test func `failure of a hook fails the event and keeps its code`() throws {
        let graph = try graph(Calls())
        try graph.apply(graph.upsert("Message", "m", ["size": 5]))
        #expect(try graph.apply(graph.upsert("Message", "m", ["size": 4])) == ["validation.1550"])
        #expect(try graph.column("SELECT size FROM Message") == [5])
    }

    @Test(arguments: [1000, 0]) func `delete rule calls the hook of what goes with it`(_ threshold: Int) throws {
        let calls = Calls()
        let graph = try graph(calls, setDeletionThreshold: threshold)
        try graph.apply(
            graph.upsert("Message", "m", ["size": 7, "chat": "c"]), graph.upsert("Message", "n", ["chat": "c"]),
            graph.upsert("Chat", "c"))
        calls.lines = []
        #expect(try graph.apply(graph.delete("Chat", "c")) == ["validation.1600"])
        #expect(calls.lines.sorted() == ["delete m 7→7", "delete n 1→1"])
        #expect(try graph.column("SELECT count(*) FROM Message") == [2])
        try graph.apply(graph.upsert("Message", "m", ["size": 8]))
        #expect(try graph.apply(graph.delete("Chat", "c")) == ["applied"])
    }

    @Test func `hooks and limits fail together`() throws {
        let graph = try graph(Calls())
        try graph.apply(graph.upsert("Message", "m", ["size": 5]))
        let result = try graph.apply([
            graph.upsert("Message", "m", ["size": -1, "at": .value(.integer(.max))])
        ])
        guard case .failed(let failure) = result.outcomes[0] else {
            Issue.record("it was applied")
            return
        }
        #expect(failure.code == "validation.1560")
        #expect(failure.details.map(\.code).sorted() == [1550, 1650])
    }

    @Test func `saves of editing contexts are asked too`() throws {
        let calls = Calls()
        let graph = try graph(calls)
        let context = try EditingContext(graph.writer, options: EditingContext.Options())
        let message = try context.insert("Message", identity: "m", ["size": 5])
        try context.save()
        // Before the will-save hooks, and after them.
        #expect(calls.lines == ["insert m null→5", "insert m null→5"])
        try message.set("size", 4)
        let error = #expect(throws: EditingError.self) { try context.save() }
        #expect(error?.failures.map(\.code) == [1550])
        #expect(try graph.column("SELECT size FROM Message") == [5])
    }

    @Test func `validate asks the validators and names the objects`() throws {
        let calls = Calls()
        let graph = try graph(calls)
        try graph.apply(graph.upsert("Message", "m", ["size": 5]), graph.upsert("Message", "k", ["size": 7]))
        let context = try EditingContext(graph.writer)
        let message = try #require(try context.object("Message", identity: "m"))
        let kept = try #require(try context.object("Message", identity: "k"))
        let new = try context.insert("Message", identity: "n", ["size": 10])
        try message.set("size", 4)
        try context.delete(kept)
        calls.lines = []
        let error = #expect(throws: EditingError.self) { try context.validate() }
        #expect(calls.lines.sorted() == ["delete k 7→7", "insert n null→10", "update m 5→4"])
        let failures = try #require(error?.failures).sorted { $0.code < $1.code }
        #expect(failures.map(\.code) == [1550, 1600, 1610])
        #expect(failures.map(\.entity) == ["Message", "Message", "Message"])
        #expect(failures.map(\.identity) == ["m", "k", "n"])
        #expect(failures.map(\.objectID) == [message.objectID, kept.objectID, new.objectID])
    }

    @Test func `validators see what the will-save hooks have changed`() throws {
        let calls = Calls()
        let graph = try graph(calls)
        try graph.apply(graph.upsert("Message", "m", ["size": 5]))
        calls.lines = []
        var options = EditingContext.Options()
        options.hooks.willSave = { if try $0["size"] != 3 { try $0.set("size", 3) } }
        let context = try EditingContext(graph.writer, options: options)
        let message = try #require(try context.object("Message", identity: "m"))
        try message.set("size", 6)
        let error = #expect(throws: EditingError.self) { try context.save() }
        #expect(calls.lines == ["update m 5→6", "update m 5→3"])
        #expect(error?.failures.first?.objectID == message.objectID)
    }

    @Test func `a validator may give a code of its own`() throws {
        var options = WriterContext.Options()
        options.validators["Message"] = EntityValidator(validateForInsert: { $0.fail("size", "is odd", code: 9001) })
        let graph = try Graph(ObjectModel.parse(Self.yaml), options: options)
        let result = try graph.apply([graph.upsert("Message", "m")])
        guard case .failed(let failure) = result.outcomes[0] else {
            Issue.record("it was applied")
            return
        }
        #expect(failure.code == "validation.9001" && failure.description.contains("(9001, validation.rule)"))
        #expect(failure.details.first?.identity == "m" && failure.details.first?.objectID == nil)
        let context = try EditingContext(graph.writer)
        let message = try context.insert("Message", identity: "n")
        let error = #expect(throws: EditingError.self) { try context.save() }
        #expect(error?.coreDataCode == 9001 && error?.failures.first?.objectID == message.objectID)
    }

    @Test(arguments: [0, 1000]) func `failures of a deletion name the objects`(_ threshold: Int) throws {
        let graph = try graph(Calls(), setDeletionThreshold: threshold)
        try graph.apply(graph.upsert("Message", "m", ["size": 7, "chat": "c"]), graph.upsert("Chat", "c"))
        let result = try graph.apply([graph.delete("Chat", "c")])
        guard case .failed(let failure) = result.outcomes[0] else {
            Issue.record("it was applied")
            return
        }
        #expect(failure.details.map(\.identity) == ["m"] && failure.details.first?.objectID?.entity == "Message")
    }

    @Test func `validator of an unknown entity is refused`() throws {
        var options = WriterContext.Options()
        options.validators["Massage"] = EntityValidator()
        #expect(throws: StoreError.self) { try Graph(ObjectModel.parse(Self.yaml), options: options) }
    }

    @Test func `a validator reads values as Swift types`() throws {
        var options = WriterContext.Options()
        options.validators["Message"] = EntityValidator(
            validateForInsert: { object in
                if object.value("at", as: Date.self) == nil { object.fail("at", "is missing") }
            },
            validateForUpdate: { object in
                let (old, new) = (object.oldValue("at", as: Date.self), object.value("at", as: Date.self))
                if let old, let new, new < old { object.fail("at", "may not go back") }
                // Neither a text nor a property.
                if object.value("at", as: String.self) != nil { object.fail("at", "is a text") }
                if object.value("chat", as: Int.self) != nil { object.fail("chat", "is a number") }
            })
        let graph = try Graph(ObjectModel.parse(Self.yaml), options: options)
        let outcomes = try graph.apply(
            graph.upsert("Message", "m", ["at": 2]), graph.upsert("Message", "n", [:]),
            graph.upsert("Message", "m", ["at": 3]), graph.upsert("Message", "m", ["at": 1]))
        #expect(outcomes == ["applied", "validation.1550", "applied", "validation.1550"])
    }
}
