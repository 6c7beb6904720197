import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

// Foundation has names like these.

@Suite struct TypedPredicateTests {
    private func expect(_ condition: TypedPredicate<Typed.Chat>, is text: String) throws {
        let (built, expected) = (try condition.predicate, try FetchPredicate.parse(text))
        #expect(built == expected, "\(built)")
    }

    @Test func `comparisons build the predicate of their text`() throws {
        try expect(\.title == "Pumps", is: "title = 'Pumps'")
        try expect(\.title != nil, is: "title != nil")
        try expect(\.messagesCount > 3, is: "messagesCount > 3")
        try expect(\.messagesCount <= 3 && \.title == nil, is: "messagesCount <= 3 AND title = nil")
        try expect(\.title < "b" || \.title >= "y" || \.title == "m", is: "title < 'b' OR title >= 'y' OR title = 'm'")
        try expect(!(\.title == "a"), is: "NOT title = 'a'")
        try expect(\.priority == .high, is: "priority = 2")
        try expect(\.messages.count > 3, is: "messages.@count > 3")
        try expect(.in(\.title, ["a", "b"]), is: "title IN {'a', 'b'}")
        try expect(.between(\.messagesCount, 1...9), is: "messagesCount BETWEEN {1, 9}")
        try expect(.between(\.title, "a"..."b"), is: "title BETWEEN {'a', 'b'}")
    }

    @Test func `texts are looked into with options`() throws {
        try expect(.contains(\.title, "ump"), is: "title CONTAINS 'ump'")
        try expect(
            .beginsWith(\.title, "p", [.caseInsensitive, .diacriticInsensitive]), is: "title BEGINSWITH[cd] 'p'")
        try expect(.endsWith(\.id, "s"), is: "id ENDSWITH 's'")
        try expect(.like(\.title, "P*"), is: "title LIKE 'P*'")
        try expect(.matches(\.title, "[A-Z]+"), is: "title MATCHES '[A-Z]+'")
        try expect(.equals(\.title, "PUMPS", .caseInsensitive), is: "title =[c] 'PUMPS'")
    }

    @Test func `paths lead over to-one relationships`() throws {
        let condition: TypedPredicate<Typed.Message> = \.chat?.title == "a" && \.sender?.age > 17 && \.sender == nil
        let built = try condition.predicate
        let expected = try FetchPredicate.parse("chat.title = 'a' AND sender.age > 17 AND sender = nil")
        #expect(built == expected)
        let counted: TypedPredicate<Typed.Message> = \.chat?.messages.count == 2
        let (builtCount, expectedCount) = (try counted.predicate, try FetchPredicate.parse("chat.messages.@count = 2"))
        #expect(builtCount == expectedCount)
    }

    @Test func `quantifiers say what their text says`() throws {
        try expect(.any(\.messages, \.body == "x"), is: "ANY messages.body = 'x'")
        try expect(.all(\.messages, \.seq > 3), is: "ALL messages.seq > 3")
        try expect(.none(\.messages, \.sender?.name == "ada"), is: "NONE messages.sender.name = 'ada'")
        try expect(
            .any(\.messages, \.body == "x" && \.seq > 3),
            is: "SUBQUERY(messages, $item1, $item1.body = 'x' AND $item1.seq > 3).@count > 0")
        try expect(
            .none(\.members, .all(\.messages, \.seq > 3 && \.body != "y")),
            is: """
                SUBQUERY(members, $item2, SUBQUERY($item2.messages, $item1, \
                NOT ($item1.seq > 3 AND $item1.body != 'y')).@count = 0).@count = 0
                """)
    }

    @Test func `a key path that leads past a property is refused`() throws {
        let wrong: [TypedPredicate<Typed.Chat>] = [
            \.heading == "x", \.messages.isEmpty == true, \.messages.first?.body == "x", \.id.count == 3,
            \.pinned?.isUnread == true, \.title == "a" && !(\.heading != "b"),
        ]
        for condition in wrong {
            let error = #expect(throws: FetchPredicateError.self) { try condition.predicate }
            #expect(error?.code == .unsupported)
            #expect(error?.message.contains("Chat leads to no declared property") == true)
        }
    }

    @Test func `date decimal and other values are those of their text`() throws {
        let date = try #require(Date(storedValue: .integer(1_767_323_045_123_457)))
        let uuid = UUID()
        let conditions: [(TypedPredicate<Typed.Sample>, String)] = [
            (\.time >= date, "time >= '2026-01-02T03:04:05.123457Z'"), (\.flag == true, "flag = true"),
            (\.amount == Decimal(sign: .plus, exponent: -2, significand: 1250), "amount = 12.5"),
            (\.id == uuid, "id = '\(uuid.uuidString)'"), (\.state == .closed, "state = 'closed'"),
            (\.maybeState != .open, "maybeState != 'open'"), (\.number < 0.5, "number < 0.5"),
        ]
        let model = try ObjectModel(name: "sample", entities: [Typed.Sample.self])
        let entity = try #require(model.entity(named: "Sample"))
        for (condition, text) in conditions {
            var typed = PredicateChecker(model: model, entity: entity.index)
            var written = PredicateChecker(model: model, entity: entity.index)
            #expect(
                "\(try typed.check(try condition.predicate))" == "\(try written.check(try FetchPredicate.parse(text)))")
        }
    }

    @Test func `sorts build the keys of their text`() throws {
        let request = try FetchRequest(
            Typed.Message.self, where: \.seq > 1,
            sort: [.descending(\.chat?.title, .caseInsensitive), .ascending(\.chat?.messages.count), .ascending(\.id)],
            limit: 3, offset: 1)
        #expect(request.sort == ["chat.title[c] desc", "chat.messages.@count", "id"])
        #expect(request.limit == 3 && request.offset == 1 && request.entity == "Message")
        #expect(throws: FetchPredicateError.self) {
            try FetchRequest(Typed.Chat.self, sort: [.ascending(\.heading)])
        }
    }
}
