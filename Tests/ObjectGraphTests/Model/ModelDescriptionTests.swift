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
            var text = ""
            ModelDescription(model).appendJSON(to: &text)
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
        var text = ""
        ModelDescription(try ReadingFixture.model(.workOrders)).appendJSON(to: &text)
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

    @Test func `draws classes`() throws {
        let text = ModelDiagram(try ReadingFixture.model(.workOrders)).classText
        #expect(text.hasPrefix("classDiagram\n    class WorkOrder {\n        +id string\n        +title string?\n"))
        #expect(text.contains("        /totalCost decimal\n"))
        #expect(text.contains("    WorkOrder \"*\" -- \"0..1\" Asset : asset: nullify / workOrders: deny\n"))
        #expect(text == ModelDiagram(try ReadingFixture.model(.workOrders)).classText)
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
        #expect(ModelDiagram(model).classText.contains("    Person \"0..5\" -- \"0..5\" Person : friends: nullify\n"))
    }
}
