import ObjectGraph
import Testing

@testable import IngestCore

@Suite struct ObjectDecoderTests {
    @Test func `absent leaves alone and null clears`() throws {
        let decoder = try TestDecoder(TestModels.chat())
        #expect(try decoder.shown("message.updated", "{\"id\":\"m1\"}") == ["upsert Message m1"])
        #expect(
            try decoder.shown("message.updated", "{\"id\":\"m1\",\"body\":null,\"chat\":null}") == [
                "upsert Message m1 body=null chat=null"
            ])
    }

    @Test func `nested objects come first and the root last`() throws {
        let decoder = try TestDecoder(TestModels.chat())
        #expect(
            try decoder.shown(
                "chat.created",
                """
                {"id":"c1","members":["u1",{"id":"u2","name":"Bo"}],
                 "messages":[{"id":"m1","sender":{"id":"u3","name":"Cy"},"body":"Hi"}],"title":"Work"}
                """) == [
                    "upsert Member u2 name=Bo", "upsert Member u3 name=Cy", "upsert Message m1 body=Hi sender=u3",
                    "upsert Chat c1 title=Work members=[u1, u2] messages=[m1]",
                ])
    }

    @Test func `a nested object of an identity only is a reference`() throws {
        let decoder = try TestDecoder(TestModels.chat())
        #expect(
            try decoder.shown("message.created", "{\"id\":\"m1\",\"chat\":{\"id\":\"c1\"}}") == [
                "upsert Message m1 chat=c1"
            ])
    }

    @Test func `nested objects share the event's time`() throws {
        let decoder = try TestDecoder(TestModels.chat())
        let event = """
            {"type":"message.created","time":"2026-01-01T00:00:00Z","data":{"id":"m1","chat":{"id":"c1","title":"T"}}}
            """
        #expect(
            try decoder.shown(event) == [
                "upsert Chat c1 version=2026-01-01T00:00:00Z title=T",
                "upsert Message m1 version=2026-01-01T00:00:00Z chat=c1",
            ])
    }

    @Test(arguments: [
        ("[]", "members=[]"), ("null", "members=[]"), ("[\"u1\",\"u2\"]", "members=[u1, u2]"),
        ("{\"add\":[\"u1\"],\"remove\":[\"u2\",\"u3\"]}", "members+[u1]-[u2, u3]"), ("{\"add\":[]}", "members+[]-[]"),
        ("{\"remove\":[\"u1\"]}", "members+[]-[u1]"), ("{}", "members+[]-[]"),
    ])
    func `a to-many is replaced or edited`(members: String, shown: String) throws {
        let decoder = try TestDecoder(TestModels.chat())
        #expect(
            try decoder.shown("chat.updated", "{\"id\":\"c1\",\"members\":\(members)}") == ["upsert Chat c1 \(shown)"])
    }

    @Test func `an edit may nest what it adds`() throws {
        let decoder = try TestDecoder(TestModels.chat())
        #expect(
            try decoder.shown("chat.updated", "{\"id\":\"c1\",\"members\":{\"add\":[{\"id\":\"u1\",\"name\":\"Al\"}]}}")
                == [
                    "upsert Member u1 name=Al", "upsert Chat c1 members+[u1]-[]",
                ])
    }

    @Test func `derived properties are ignored`() throws {
        let decoder = try TestDecoder(TestModels.chat())
        #expect(
            try decoder.shown("chat.updated", "{\"id\":\"c1\",\"membersCount\":7,\"messagesCount\":\"x\"}") == [
                "upsert Chat c1"
            ])
    }

    @Test func `a deletion keeps its version and no properties`() throws {
        let decoder = try TestDecoder(TestModels.chat())
        #expect(
            try decoder.shown(
                "chat.deleted",
                "{\"id\":\"c1\",\"title\":\"T\",\"updatedAt\":\"2026-01-01\",\"members\":[{\"id\":\"u1\",\"name\":\"A\"}]}"
            )
                == ["delete Chat c1 version=2026-01-01T00:00:00Z"])
    }

    @Test func `identities have their own types`() throws {
        let decoder = try TestDecoder(TestModels.kinds())
        let owner = "0f8fad5b-d9cb-469f-a165-70867728950e"
        #expect(
            try decoder.shown(
                "workorder.created", "{\"id\":\"w1\",\"parts\":[1,2.0],\"owner\":\"\(owner.uppercased())\"}")
                == ["upsert WorkOrder w1 parts=[1, 2] owner=\(owner)"])
    }

    @Test func `of duplicate keys the last wins`() throws {
        let decoder = try TestDecoder(TestModels.chat())
        let event = try decoder.event(
            TestRecord(
                "{\"type\":\"chat.created\",\"data\":{\"id\":\"c1\",\"id\":\"c2\",\"title\":\"a\",\"title\":\"b\"}}"))
        let root = try #require(event.operations.last)
        #expect(root.identity == .text("c2"))
        #expect(root.attributes.last?.value == .text("b"))
    }

    // MARK: Refusals

    @Test(arguments: [
        ("message.created", "{\"body\":\"x\"}", "decode.missing_identity", "The Message has no 'id'"),
        ("message.created", "{\"id\":null}", "decode.identity", "id names a Message"),
        ("message.created", "{\"id\":7}", "decode.identity", "id names a Message by its id"),
        ("message.created", "{\"id\":\"m\",\"chat\":7}", "decode.identity", "chat names a Chat by its id"),
        ("message.created", "{\"id\":\"m\",\"chat\":true}", "decode.identity", "not a boolean"),
        ("message.created", "{\"id\":\"m\",\"chat\":[\"c\"]}", "decode.relationship", "chat leads to one Chat"),
        ("message.created", "{\"id\":\"m\",\"chat\":{\"title\":\"x\"}}", "decode.missing_identity", "The Chat has no"),
        ("chat.created", "{\"id\":\"c\",\"members\":\"u\"}", "decode.relationship", "members leads to many"),
        ("chat.created", "{\"id\":\"c\",\"members\":[null]}", "decode.identity", "members names a Member"),
        ("chat.created", "{\"id\":\"c\",\"members\":[[\"u\"]]}", "decode.identity", "not an array"),
        ("chat.created", "{\"id\":\"c\",\"members\":{\"id\":\"u\"}}", "decode.relationship", "'add' and 'remove'"),
        ("chat.created", "{\"id\":\"c\",\"members\":{\"add\":\"u\"}}", "decode.relationship", "'add' and 'remove'"),
        ("chat.created", "{\"id\":\"c\",\"members\":{\"remove\":[7]}}", "decode.identity", "members names a Member"),
        (
            "chat.created", "{\"id\":\"c\",\"titel\":\"x\"}", "decode.unknown_property",
            "'titel'; did you mean 'title'? Correct"
        ),
        ("chat.created", "{\"id\":\"c\",\"qqqqqqqq\":1}", "decode.unknown_property", "property 'qqqqqqqq'. Correct"),
        (
            "message.created", "{\"id\":\"m\",\"chat\":{\"id\":\"c\",\"nam\":1}}", "decode.unknown_property",
            "Chat has no property"
        ),
        (
            "message.created", "{\"id\":\"m\",\"seq\":\"1\"}", "decode.type",
            "Message.seq has to be a whole number of 64 bits"
        ),
        ("message.created", "{\"id\":\"m\",\"body\":1}", "decode.type", "Message.body has to be a text"),
        ("message.created", "{\"id\":\"a\\u0000b\"}", "decode.identity", "without NUL"),
        (
            "message.created", "{\"id\":\"m\",\"body\":\"a\\u0000b\"}", "decode.type",
            "Message.body has to be a text without NUL"
        ),
    ])
    func `says what is wrong`(type: String, data: String, code: String, part: String) throws {
        let failure = try #require(try TestDecoder(TestModels.chat()).failure(type, data))
        #expect(failure.code == code)
        #expect(failure.description.contains(part), "\(failure)")
    }

    @Test func `a subject is a text too`() throws {
        let decoder = try TestDecoder(TestModels.chat())
        let event = "{\"type\":\"chat.deleted\",\"subject\":\"a\\u0000b\",\"data\":{}}"
        #expect(decoder.failure(event)?.code == "decode.missing_identity")
    }
}
