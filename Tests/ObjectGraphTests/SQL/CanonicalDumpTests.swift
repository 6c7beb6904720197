import ObjectGraph
import Testing

@testable import GraphCore

struct CanonicalDumpTests {
    private func dump(_ fixture: ReadingFixture) throws -> String {
        var text = ""
        try fixture.store.read { try $0.canonicalDump { text += $0 } }
        return text
    }

    private func events(_ model: ObjectModel) -> [ChangeSet] {
        func up(_ entity: String, _ id: String, _ said: [String: ReadingFixture.Said]) -> ChangeSet {
            ReadingFixture.upsert(model, entity, id, said)
        }
        return [
            up("Chat", "c2", ["title": .text("a\nb"), "updatedAt": .text("2026-01-01T00:00:00Z")]),
            up("Chat", "c1", ["title": .text("null"), "members": .many(["m2", "m1"])]),
            up("Message", "x1", ["chat": .one("c1"), "sender": .one("m1")]),
        ]
    }

    @Test func `writes everything that readers see`() throws {
        let model = try ReadingFixture.model(.chat)
        let fixture = try ReadingFixture(model: model, events(model))
        let writer = try WriterContext(store: fixture.store)
        var chunk = WriterContext.Chunk(events: [ReadingFixture.delete(model, "Chat", "c2")])
        chunk.positions = [SourcePosition(topic: "chats", partition: 1, nextOffset: 7)]
        chunk.deadLetters = [
            DeadLetter(
                time: 5, topic: "chats", partition: 1, offset: 6, stage: "decode", code: "json.syntax",
                reason: "broken",
                key: nil, value: nil, valueBytes: 0)
        ]
        _ = try writer.apply(chunk)
        try writer.close()
        #expect(
            try dump(fixture) == """
                entity Chat
                object Chat "c1"
                  id="c1"
                  title="null"
                  updatedAt=null
                  membersCount=2
                  messagesCount=1
                  members=["m1", "m2"]
                entity Member
                object Member "m1" placeholder
                  id="m1"
                  name=null
                  email=null
                  updatedAt=null
                  messagesCount=1
                  chats=["c1"]
                object Member "m2" placeholder
                  id="m2"
                  name=null
                  email=null
                  updatedAt=null
                  messagesCount=0
                  chats=["c1"]
                entity Message
                object Message "x1"
                  id="x1"
                  body=null
                  sentAt=null
                  updatedAt=null
                  seq=0
                  chat="c1"
                  sender="m1"
                tombstones
                  Chat "c2" version=2026-01-01T00:00:00Z
                positions
                  "chats" partition=1 nextOffset=7
                deadLetters
                  "chats" partition=1 offset=6 code="json.syntax"

                """)
    }

    @Test func `does not depend on order keys or tokens`() throws {
        let model = try ReadingFixture.model(.chat)
        let one = try ReadingFixture(model: model, events(model))
        let other = try ReadingFixture(model: model)
        for event in events(model).reversed() { try other.apply([event]) }
        try other.apply(events(model))
        let (left, right) = (try dump(one), try dump(other))
        #expect(left == right)
        let keys = { (fixture: ReadingFixture) in try fixture.fetch(FetchRequest("Chat", where: "id = 'c1'")).map(\.pk)
        }
        #expect(try keys(one) != keys(other))
        try other.apply([other.upsert("Chat", "c1", ["title": .text("other")])])
        #expect(try dump(other) != left)
    }
}
