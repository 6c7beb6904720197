import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore

/// Fetches of a context regard what it has not saved.
@Suite struct EditingFetchTests {
    private let fixture: EditingFixture
    private let context: EditingContext

    init() throws {
        fixture = try EditingFixture()
        try fixture.seed()
        context = try fixture.context()
    }

    private func ids(
        _ entity: String, _ condition: String? = nil, sort: [String] = ["id"], limit: Int? = nil, offset: Int = 0
    ) throws -> [String] {
        var request = FetchRequest(entity, where: condition)
        request.sort = sort
        request.limit = limit
        request.offset = offset
        let found = try context.ids(try context.fetch(request))
        #expect(try context.count(request) == found.count)
        return found
    }

    private func message(_ id: String, _ values: [String: Value] = [:]) throws -> ManagedObject {
        let message = try context.insert("Message", identity: id, values)
        try message.setObject("chat", try context.require("Chat", "c"))
        return message
    }

    @Test func `inserted objects are found where the condition is true of them`() throws {
        _ = try message("m9", ["body": "hello", "seq": 9])
        #expect(try ids("Message") == ["m1", "m2", "m3", "m9"])
        #expect(try ids("Message", "seq = 9") == ["m9"])
        #expect(try ids("Message", "seq < 9") == ["m1", "m2", "m3"])
        #expect(try ids("Message", "chat.title = 'Chat' AND seq > 7") == ["m9"])
    }

    @Test func `changed objects are judged by their new values`() throws {
        let second = try context.require("Message", "m2")
        try second.set("body", "changed")
        #expect(try ids("Message", "body = 'hello'") == ["m1", "m3"])
        #expect(try ids("Message", "body BEGINSWITH[c] 'CH'") == ["m2"])
        try second.set("body", "hello")
        #expect(try ids("Message", "body = 'hello'") == ["m1", "m2", "m3"])
    }

    @Test func `deleted objects are left out and a limit is filled up`() throws {
        try context.delete(try context.require("Message", "m1"))
        #expect(try ids("Message") == ["m2", "m3"])
        #expect(try ids("Message", limit: 2) == ["m2", "m3"])
        #expect(try ids("Message", limit: 1, offset: 1) == ["m3"])
        try context.processPendingChanges()
        #expect(try ids("Message", limit: 2) == ["m2", "m3"])
        #expect(try ids("Chat", "messages.@count = 2") == ["c"])
    }

    @Test func `changed relationships count on both sides`() throws {
        let other = try context.insert("Chat", identity: "d", ["title": "Other"])
        try context.require("Message", "m1").setObject("chat", other)
        #expect(try ids("Chat", "ANY messages.id = 'm1'") == ["d"])
        #expect(try ids("Chat", "messages.@count = 2") == ["c"])
        #expect(try ids("Message", "chat = 'd'") == ["m1"])
        try context.require("Chat", "c").remove(try context.require("Member", "ann"), from: "members")
        #expect(try ids("Member", "ANY chats.title = 'Chat'") == ["bob"])
        #expect(try ids("Chat", "ANY members = 'ann'") == [])
        #expect(try ids("Chat", "SUBQUERY(members, $m, $m.name = 'Bob').@count = 1") == ["c"])
    }

    @Test func `order limit and offset hold for saved and unsaved together`() throws {
        _ = try message("m0", ["seq": 7])
        _ = try message("m4", ["seq": 8])
        try context.require("Message", "m2").set("seq", 9)
        #expect(try ids("Message", sort: ["seq"]) == ["m1", "m3", "m0", "m4", "m2"])
        #expect(try ids("Message", sort: ["-seq"]) == ["m2", "m4", "m0", "m3", "m1"])
        #expect(try ids("Message", sort: ["-seq", "id"]) == ["m2", "m4", "m0", "m1", "m3"])
        #expect(try ids("Message", sort: ["seq"], limit: 2, offset: 2) == ["m0", "m4"])
        #expect(try ids("Message", "seq > 7", sort: ["body", "-seq"], limit: 1) == ["m4"])
        try context.save()
        #expect(try ids("Message", sort: ["seq"]) == ["m1", "m3", "m0", "m4", "m2"])
        #expect(try ids("Message", sort: ["-seq"]) == ["m2", "m4", "m0", "m3", "m1"])
    }

    @Test func `pages go on behind a cursor with unsaved objects`() throws {
        var request = FetchRequest("Message")
        request.sort = ["id"]
        request.limit = 2
        request.after = try fixture.store.read { try $0.page(request).next }
        _ = try message("m0")
        _ = try message("m25")
        #expect(try context.ids(try context.fetch(request)) == ["m25", "m3"])
    }

    @Test func `a fetch does not find undone changes`() throws {
        _ = try message("m9")
        context.undo()
        context.undo()
        #expect(try ids("Message") == ["m1", "m2", "m3"])
    }

    @Test func `unchanged objects are judged by the store`() throws {
        try context.require("Chat", "c").set("title", "New")
        #expect(try ids("Message", "chat.title = 'New'") == [])
        #expect(try ids("Chat", "title = 'New'") == ["c"])
        try context.require("Message", "m1").set("seq", 1)
        #expect(try ids("Message", "chat.title = 'New'") == ["m1"])
    }

    @Test func `unsaved changes may be left aside`() throws {
        _ = try message("m9")
        try context.require("Message", "m2").set("body", "changed")
        try context.delete(try context.require("Message", "m3"))
        let request = FetchRequest("Message", where: "body = 'hello'")
        #expect(
            try context.ids(try context.fetch(request, includesPendingChanges: false)).sorted() == ["m1", "m2"])
    }

    @Test func `faults in batches may stand beside new objects`() throws {
        _ = try message("m9")
        var request = FetchRequest("Message")
        request.sort = ["-id"]
        let found = try context.fetch(request, batchSize: 2)
        #expect(found.map(\.isFault) == [false, true, true, true])
        #expect(try context.ids(found) == ["m9", "m3", "m2", "m1"])
    }

    /// What a context finds before its save is what everybody finds after it.
    @Test func `a save changes no result`() throws {
        let conditions = [
            "body CONTAINS 'e'", "seq BETWEEN {3, 8}", "sender = nil", "chat IN {'c', 'd'}", "sender.id != 'bob'",
            "sentAt = nil OR seq > 5", "NOT body LIKE '*l*'", "chat.id = 'd' AND sender != nil",
        ]
        try Seeds.forEach(runs: 20) { seed in
            let fixture = try EditingFixture()
            try fixture.seed()
            let context = try fixture.context()
            var random = SeededGenerator(seed: seed)
            let members = [try context.require("Member", "ann"), try context.require("Member", "bob"), nil]
            let chats = [try context.require("Chat", "c"), try context.insert("Chat", identity: "d")]
            for step in 0..<Int.random(in: 1...8, using: &random) {
                let known = try context.fetch(FetchRequest("Message"))
                let message =
                    random.chance(40)
                    ? try context.insert("Message", identity: "n\(step)") : known.randomElement(using: &random)
                guard let message else { continue }
                if random.chance(15) {
                    try context.delete(message)
                    try context.processPendingChanges()
                    continue
                }
                try message.setObject("chat", chats.randomElement(using: &random) ?? chats[0])
                try message.setObject("sender", members.randomElement(using: &random) ?? nil)
                try message.set("seq", Value.integer(Int64.random(in: 0...9, using: &random)))
                try message.set("body", ["hello", "hell", "xyz"].randomElement(using: &random) ?? "xx")
            }
            var requests: [FetchRequest] = []
            for condition in conditions {
                var request = FetchRequest("Message", where: condition)
                request.sort =
                    [["seq"], ["-seq", "body"], ["-sender.id", "seq"], []].randomElement(using: &random) ?? []
                request.limit = random.chance(50) ? Int.random(in: 0...4, using: &random) : nil
                request.offset = random.chance(30) ? 1 : 0
                requests.append(request)
            }
            let before = try requests.map { try context.ids(try context.fetch($0)) }
            try context.save()
            for (request, before) in zip(requests, before) {
                let after = try fixture.store.read { try $0.fetch(request) }.compactMap { $0["id"]?.text }
                #expect(after == before, "seed \(seed): \(request)")
            }
        }
    }

    @Test func `a program names an entity in any case of letters`() throws {
        let context = try fixture.context()
        try context.insert("message", identity: "m9", ["body": "new", "chat": context.require("CHAT", "c")])
        #expect(try context.object("Message", identity: "m9")?.entity.name == "Message")
        try context.save()
        #expect(try fixture.store.read { try $0.objectJSON(entity: "message", identity: "m9") } != nil)
        #expect(try context.count(FetchRequest("mEssage")) == 4)
    }

    @Test func `a count may leave out what is not saved`() throws {
        let context = try fixture.context()
        try context.delete(try context.require("Message", "m1"))
        let chat = try context.require("Chat", "c")
        for identity in ["m4", "m5", "m6"] {
            try context.insert("Message", identity: identity, ["body": "new", "chat": chat])
        }
        #expect(try context.count(FetchRequest("Message")) == 5)
        #expect(try context.count(FetchRequest("Message"), includesPendingChanges: false) == 3)
    }
}
