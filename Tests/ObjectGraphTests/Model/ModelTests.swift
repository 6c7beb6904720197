import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct ModelTests {
    @Test func `configured models load`() throws {
        let chat = try configuredModel("chat")
        #expect(chat.entities.map(\.name) == ["Chat", "Message", "Member"])
        #expect(chat.joinTables.map(\.name) == ["Chat_members"])
        #expect(chat.entity(matching: "message")?.relationship(named: "chat")?.isOptional == false)
        let orders = try configuredModel("work-orders")
        #expect(orders.entities.count == 6)
        #expect(orders.entity(named: "Asset")?.relationship(named: "workOrders")?.deleteRule == .deny)
    }

    @Test func `hash follows the shape and nothing else`() throws {
        func hash(_ old: String = "", _ new: String = "") throws -> String {
            let parts = Models.rules.components(old)
            return try ObjectModel.parse(parts.joined(separator: new)).hash
        }
        let plain = try hash()
        #expect(try hash("minCount: 2, maxCount: 4", "minCount: 1") == plain)
        #expect(try hash("delete: deny", "delete: nullify") == plain)
        #expect(try hash("default: new", "default: old") == plain)
        #expect(try hash("delete: noAction", "delete: nullify") != plain)
        #expect(try hash("price * 2 + count", "price * 3 + count") != plain)
        #expect(try hash("size: { type: integer32", "size: { type: integer64") != plain)
    }

    @Test func `order of the file does not matter`() throws {
        let head = "entities:\n"
        let first =
            "  A:\n    identity: id\n    attributes: { id: { type: string } }\n    relationships: { bs: { to: B, many: true, inverse: as } }\n"
        let second =
            "  B:\n    identity: id\n    attributes: { id: { type: string } }\n    relationships: { as: { to: A, many: true, inverse: bs } }\n"
        let (one, other) = (try ObjectModel.parse(head + first + second), try ObjectModel.parse(head + second + first))
        #expect(one.hash == other.hash)
        #expect(one.joinTables.map(\.name) == other.joinTables.map(\.name))
    }

    @Test func `names that could collide in the store do not`() throws {
        // Indexes, tables and views have one name space in SQLite.
        let yaml = """
            entities:
              A:
                identity: id
                attributes: { id: { type: string, unique: true }, b: { type: string, indexed: true, unique: true }, b_c: { type: string, indexed: true } }
                indexes: [[b], [b, id], [b, id], [id]]
              A_b:
                identity: id
                attributes: { id: { type: string }, c: { type: string, indexed: true } }
            """
        _ = try Graph(yaml: yaml)
    }

    @Test func `versions compare by their bytes`() {
        #expect(Value.text("a").isOlder(than: "b") == true)
        #expect(Value.text("Z").isOlder(than: "a") == true)
        #expect(Value.text("e\u{301}").isOlder(than: "\u{e9}") == true)
        #expect(Value.integer(1).isOlder(than: 1.5) == true)
        #expect(Value.integer(1).isOlder(than: "2") == nil)
        #expect(Value.null.isOlder(than: 1) == nil)
        #expect(Value.text("e\u{301}") != "\u{e9}")
    }
}

extension String {
    /// Splits at a text; an empty one splits nothing.
    fileprivate func components(_ separator: String) -> [String] {
        if separator.isEmpty { return [self] }
        precondition(contains(separator))
        return split(separator: separator, omittingEmptySubsequences: false).map { String($0) }
    }
}
