import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

struct ModelDescriptionTests {
    @Test func `the description counts entities, attributes, relationships and rules`() throws {
        let chat = try ReadingFixture.model(.chat).counts
        #expect(chat.entities == 3)
        #expect(chat.attributes == 15)
        #expect(chat.relationships == 6)
        #expect(chat.deleteRules == [.cascade: 1, .nullify: 5])
        let orders = try ReadingFixture.model(.workOrders).counts
        #expect(orders.entities == 6)
        #expect(orders.relationships == 14)
        #expect(orders.deleteRules == [.cascade: 3, .nullify: 10, .deny: 1])
    }

    @Test func `describes in text`() throws {
        let text = ModelDescription(try ReadingFixture.model(.chat)).text
        #expect(text.hasPrefix("model chat, version 1, hash "))
        #expect(text.contains("3 entities, 15 attributes, 6 relationships (1 cascade, 5 nullify, 0 deny, 0 noAction)"))
        #expect(text.contains("Message: identity id, version updatedAt"))
        #expect(text.contains("  membersCount   integer64   derived: members.@count\n"))
        #expect(text.contains("  messages       →→ Message  inverse chat, delete cascade\n"))
        #expect(text.contains("  sender     → Member   inverse messages, delete nullify, optional\n"), "\(text)")
        #expect(text.contains("  index (chat, sentAt)\n"))
    }

    @Test func `describes in JSON`() throws {
        for name in [ReadingFixture.Name.chat, .workOrders] {
            let model = try ReadingFixture.model(name)
            let text = ModelDescription(model).json
            let json = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
            let counts = try #require(json["counts"] as? [String: Int])
            #expect(counts["relationships"] == model.counts.relationships)
            #expect(counts["cascade"] == (name == .chat ? 1 : 3))
            #expect(counts["deny"] == (name == .chat ? 0 : 1))
            #expect(counts["noAction"] == 0)
            #expect(json["hash"] as? String == model.hash)
            let entities = try #require(json["entities"] as? [[String: Any]])
            #expect(entities.count == model.entities.count)
        }
        let text = ModelDescription(try ReadingFixture.model(.workOrders)).json
        #expect(
            text.contains(
                #"{"name":"priority","type":"integer16","optional":false,"default":3,"min":1,"max":5,"unique":false,"#
                    + #""indexed":false,"preserveAfterDeletion":false}"#))
        #expect(text.contains(#""derived":"(cost * (1 + taxRate))""#))
        #expect(
            text.contains(
                #"{"name":"workOrders","to":"WorkOrder","many":true,"optional":true,"inverse":"asset","delete":"deny","#
                    + #""onMissing":"placeholder"}"#))
    }
}

struct ModelDiagramTests {
    @Test func `draws entities and relationships`() throws {
        let text = ModelDiagram(try ReadingFixture.model(.chat)).entityRelationshipText
        #expect(
            text == """
                erDiagram
                    Chat {
                        string id PK
                        string title "optional"
                        date updatedAt "optional"
                        integer64 membersCount "derived: members.@count"
                        integer64 messagesCount "derived: messages.@count"
                    }
                    Message {
                        string id PK
                        string body "optional"
                        date sentAt "optional"
                        date updatedAt "optional"
                        integer64 seq
                    }
                    Member {
                        string id PK
                        string name "optional"
                        string email "optional"
                        date updatedAt "optional"
                        integer64 messagesCount "derived: messages.@count"
                    }
                    Chat ||--o{ Message : "messages: cascade / chat: nullify"
                    Chat }o--o{ Member : "members: nullify / chats: nullify"
                    Message }o--o| Member : "sender: nullify / messages: nullify"

                """)
    }

    @Test func `draws relationships to themselves and without inverse`() throws {
        let model = try ObjectModel.parse(
            """
            model: m
            entities:
              Person:
                identity: id
                attributes: { id: { type: string }, code: { type: string, unique: true } }
                relationships:
                  spouse: { to: Person, inverse: spouse, optional: true }
                  friends: { to: Person, many: true, inverse: friends, maxCount: 5 }
                  likes: { to: Person, many: true, inverse: none }
            """)
        let text = ModelDiagram(model).entityRelationshipText
        #expect(text.contains("        string code UK\n"))
        #expect(text.contains("    Person |o--o| Person : \"spouse: nullify\"\n"))
        #expect(text.contains("    Person }o--o{ Person : \"friends: nullify\"\n"))
        #expect(text.contains("    Person }o--o{ Person : \"likes: nullify\"\n"))
    }
}

/// The drawing of a model.
@Suite struct ModelDrawingTests {
    private struct Box {
        let x, y, width, height: Double

        func isApart(from other: Box) -> Bool {
            x + width <= other.x || other.x + other.width <= x || y + height <= other.y || other.y + other.height <= y
        }
    }

    /// The boxes of a drawing by entity.
    private func boxes(_ svg: String) throws -> [String: Box] {
        var boxes: [String: Box] = [:]
        let pattern = /data-entity="([^"]+)"><rect class="box" x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)"/
        for found in svg.matches(of: pattern) {
            let numbers = try [found.2, found.3, found.4, found.5].map { try #require(Double($0)) }
            boxes[String(found.1)] = Box(x: numbers[0], y: numbers[1], width: numbers[2], height: numbers[3])
        }
        return boxes
    }

    @Test(arguments: ["chat", "work-orders"])
    func `the drawing has a box for each entity and none covers another`(_ name: String) throws {
        let model = try ObjectModel.load(
            path: PackageFiles.root.appendingPathComponent("config/models/\(name).yaml").path)
        let boxes = try boxes(ModelDiagram(model).svg)
        #expect(Set(boxes.keys) == Set(model.entities.map(\.name)))
        for (name, box) in boxes {
            for (other, second) in boxes where name < other {
                #expect(box.isApart(from: second), "\(name) and \(other)")
            }
        }
    }

    @Test func `names with signs of XML are escaped`() throws {
        let model = try ObjectModel.parse(
            """
            model: "a<b&c"
            entities:
              Thing: { identity: id, attributes: { id: { type: string } } }
            """)
        #expect(ModelDiagram(model).svg.contains("aria-label=\"The model a&lt;b&amp;c\""))
    }
}
