import ObjectGraph

/// The save of an object graph that an editing context holds, and the same rows in bare SQLite with prepared statements:
/// chats, members, messages, the links of the join table, and a row of history for each object.
struct SaveComparison: Comparison {
    static let name = "save"
    static let standardCount = 10_000
    let count: Int

    private static let withHistory = "INSERT, history too"
    private static let withoutHistory = "INSERT"
    private static let save = "save of a context"
    private static let makeAndSave = "objects made, linked and saved"

    var pairs: [Pairing] {
        [
            Pairing("Save of \(count) objects", base: Self.withHistory, way: Self.save, aim: 2),
            Pairing(
                "Save of \(count) objects, against no history", base: Self.withoutHistory, way: Self.save, aim: nil),
            Pairing("Making and save of \(count) objects", base: Self.withHistory, way: Self.makeAndSave, aim: nil),
        ]
    }

    /// A hundredth are chats, a tenth members, each of them in three chats; the others are messages.
    private var chatCount: Int { max(3, count / 100) }
    private var memberCount: Int { max(3, count / 10) }
    private var messageCount: Int { count - chatCount - memberCount }

    private func chat(_ number: Int) -> String { "chat-\(1_000_000 + number)" }
    private func member(_ number: Int) -> String { "member-\(1_000_000 + number)" }
    private func message(_ number: Int) -> String { "message-\(1_000_000 + number)" }
    private func body(_ number: Int) -> String { "The body of a message that somebody wrote, number \(number)" }
    private func chats(of member: Int) -> [Int] { (0..<3).map { (member + $0) % chatCount } }

    func prepare(_ way: String, path: String) throws { try Models.makeStore(Models.graph, path: path) }

    func step(_ way: String, path: String) throws -> Measurement {
        switch way {
        case Self.save, Self.makeAndSave:
            let writer = try WriterContext(store: try Models.open(Models.graph, path: path))
            let context = try EditingContext(writer)
            if way == Self.makeAndSave {
                return try measure {
                    let objects = try make(in: context)
                    try expect(try context.save().inserted.count == objects.count)
                }
            }
            let objects = try make(in: context)
            return try measure { try expect(try context.save().inserted.count == objects.count) }
        default:
            let raw = try RawDatabase(path: path)
            return try measure { try insert(raw, hasHistory: way == Self.withHistory) }
        }
    }

    private func make(in context: EditingContext) throws -> [ManagedObject] {
        let chats = try (0..<chatCount).map { number in
            try context.insert("Chat", identity: chat(number), ["title": "Chat \(number)"])
        }
        let members = try (0..<memberCount).map { number in
            let member = try context.insert(
                "Member", identity: member(number), ["name": "Member \(number)"])
            for chat in self.chats(of: number) { try member.add(chats[chat], to: "chats") }
            return member
        }
        let messages = try (0..<messageCount).map { number in
            let message = try context.insert(
                "Message", identity: message(number),
                ["body": body(number), "sentAt": Value.integer(1_700_000_000_000_000 + Int64(number)), "seq": number])
            try message.setObject("chat", chats[number % chatCount])
            try message.setObject("sender", members[number % memberCount])
            return message
        }
        return chats + members + messages
    }

    private func insert(_ raw: RawDatabase, hasHistory: Bool) throws {
        try raw.run("BEGIN IMMEDIATE")
        let change = try raw.prepare(
            """
            INSERT INTO _history_change (id, token, entity, object, identity, change, properties, tombstone) \
            VALUES (?, 1, ?, ?, ?, 0, NULL, NULL)
            """)
        var changeNumber = 0
        func note(_ entity: String, _ pk: Int, _ identity: String) throws {
            if !hasHistory { return }
            changeNumber += 1
            try change.run(.integer(changeNumber), .text(entity), .integer(pk), .text(identity))
        }
        let chatRow = try raw.prepare(
            "INSERT INTO Chat (pk, id, title, membersCount, messagesCount, _placeholder) VALUES (?, ?, ?, ?, ?, 0)")
        var membersCounts = [Int](repeating: 0, count: chatCount)
        for number in 0..<memberCount { for chat in chats(of: number) { membersCounts[chat] += 1 } }
        for number in 0..<chatCount {
            let messages = (messageCount - number + chatCount - 1) / chatCount
            try chatRow.run(
                .integer(number + 1), .text(chat(number)), .text("Chat \(number)"), .integer(membersCounts[number]),
                .integer(messages))
            try note("Chat", number + 1, chat(number))
        }
        let memberRow = try raw.prepare(
            "INSERT INTO Member (pk, id, name, messagesCount, _placeholder) VALUES (?, ?, ?, ?, 0)")
        for number in 0..<memberCount {
            let messages = (messageCount - number + memberCount - 1) / memberCount
            try memberRow.run(
                .integer(number + 1), .text(member(number)), .text("Member \(number)"), .integer(messages))
            try note("Member", number + 1, member(number))
        }
        let messageRow = try raw.prepare(
            "INSERT INTO Message (pk, id, body, sentAt, seq, chat, sender, _placeholder) VALUES (?, ?, ?, ?, ?, ?, ?, 0)"
        )
        for number in 0..<messageCount {
            try messageRow.run(
                .integer(number + 1), .text(message(number)), .text(body(number)),
                .integer(1_700_000_000_000_000 + number), .integer(number), .integer(number % chatCount + 1),
                .integer(number % memberCount + 1))
            try note("Message", number + 1, message(number))
        }
        let link = try raw.prepare("INSERT INTO Chat_members (owner, destination) VALUES (?, ?)")
        for number in 0..<memberCount {
            for chat in chats(of: number) { try link.run(.integer(chat + 1), .integer(number + 1)) }
        }
        if hasHistory {
            try raw.run(
                """
                INSERT INTO _history_transaction (token, time, author, firstChange, changeCount) \
                VALUES (1, 0, '', 1, \(changeNumber))
                """)
        }
        try raw.run("COMMIT")
    }
}
