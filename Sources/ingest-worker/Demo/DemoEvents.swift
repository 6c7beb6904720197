import GraphCore

/// Makes up a lively stream of events: chats and work orders, with everything that goes wrong in real streams.
struct DemoEvents {
    /// An event to send.
    struct Event {
        let topic: String
        /// The record's key: one object's events stay in order.
        let key: String
        let value: String
        /// The code that its dead letter will have, for a record that is broken on purpose.
        var expectedCode: String?
    }

    static let chatTopic = "chat-events"
    static let workOrderTopic = "work-order-events"

    private var random: DemoRandom
    private let hasChats: Bool
    private let hasWorkOrders: Bool
    private var time: Int64
    private var count = 0
    private var chats: [String] = []
    private var messages: [(id: String, chat: String)] = []
    private var workOrders: [String] = []
    private var last: Event?

    init(seed: UInt64, startTime: Int64, model: ObjectModel) {
        random = DemoRandom(seed: seed)
        time = startTime
        let names = Set(model.entities.map(\.name))
        hasChats = names.isSuperset(of: ["Chat", "Message", "Member"])
        hasWorkOrders = names.isSuperset(of: ["WorkOrder", "Asset", "Technician", "ChecklistItem"])
    }

    /// Tells whether the model has the entities that the demo speaks of.
    var isPossible: Bool { hasChats || hasWorkOrders }

    mutating func next() -> Event {
        count += 1
        time += Int64(random.number(below: 40_000)) + 1000
        // Every so often a record that is broken, sent twice, or for the other topic.
        if count % 157 == 0 { return broken() }
        if count % 61 == 0, let last { return last }
        let isChat = hasChats && (!hasWorkOrders || random.number(below: 4) > 0)
        let event = isChat ? chatEvent() : workOrderEvent()
        last = event
        return event
    }

    // MARK: Chats

    private mutating func chatEvent() -> Event {
        let choice = random.number(below: 100)
        if chats.count < 4 || choice < 3 { return newChat() }
        let chat = chats[random.number(below: chats.count)]
        switch choice {
        case 3..<6:
            return event(
                Self.chatTopic, "chat.updated", chat, "\"title\":\(JSONText.string(topicName())),\"updatedAt\":\(now)")
        case 6..<9:
            let edit = random.number(below: 3) == 0 ? "remove" : "add"
            return event(
                Self.chatTopic, "chat.patched", chat,
                "\"members\":{\"\(edit)\":[\(JSONText.string(member()))]},\"updatedAt\":\(now)")
        case 9 where chats.count > 8:
            chats.removeAll { $0 == chat }
            messages.removeAll { $0.chat == chat }
            return event(Self.chatTopic, "chat.deleted", chat, "")
        case 10..<13 where !messages.isEmpty:
            let message = messages.remove(at: random.number(below: messages.count))
            return event(Self.chatTopic, "message.deleted", message.id, "")
        case 13..<20 where !messages.isEmpty:
            let message = messages[random.number(below: messages.count)]
            return event(
                Self.chatTopic, "message.patched", message.id,
                "\"body\":\(JSONText.string(sentence() + " (edited)")),\"updatedAt\":\(now)")
        case 20..<24:
            let name = member()
            return event(
                Self.chatTopic, "member.upserted", name,
                "\"name\":\(JSONText.string(name.split(separator: "-")[1].capitalized))")
        default:
            return newMessage(in: chat)
        }
    }

    private mutating func newChat() -> Event {
        let chat = "chat-\(count)"
        // Its first message may arrive before it does.
        chats.append(chat)
        let members = (0..<3).map { _ in JSONText.string(member()) }.joined(separator: ",")
        return event(
            Self.chatTopic, "chat.created", chat,
            "\"title\":\(JSONText.string(topicName())),\"updatedAt\":\(now),\"members\":[\(members)]")
    }

    private mutating func newMessage(in chat: String) -> Event {
        let id = "message-\(count)"
        messages.append((id, chat))
        let sender = member()
        let person =
            random.number(below: 5) == 0
            ? "{\"id\":\(JSONText.string(sender)),\"name\":\(JSONText.string(sender.split(separator: "-")[1].capitalized))}"
            : JSONText.string(sender)
        return event(
            Self.chatTopic, "message.upserted", id,
            "\"chat\":\(JSONText.string(chat)),\"sender\":\(person),\"body\":\(JSONText.string(sentence())),"
                + "\"sentAt\":\(now),\"updatedAt\":\(now)")
    }

    // MARK: Work orders

    private mutating func workOrderEvent() -> Event {
        let choice = random.number(below: 100)
        if workOrders.count < 5 || choice < 35 { return newWorkOrder() }
        let id = workOrders[random.number(below: workOrders.count)]
        switch choice {
        case 35..<70:
            let status = ["scheduled", "in-progress", "done"][random.number(below: 3)]
            return event(
                Self.workOrderTopic, "work-order.updated", id, "\"status\":\"\(status)\",\"updatedAt\":\(now)")
        case 70..<85:
            let cost = "\(random.number(below: 5000)).\(10 + random.number(below: 90))"
            return event(Self.workOrderTopic, "work-order.updated", id, "\"cost\":\"\(cost)\",\"updatedAt\":\(now)")
        case 85..<90:
            workOrders.removeAll { $0 == id }
            return event(Self.workOrderTopic, "work-order.deleted", id, "")
        default:
            return event(
                Self.workOrderTopic, "work-order.patched", id,
                "\"technicians\":{\"add\":[\"technician-\(random.number(below: 9))\"]},\"updatedAt\":\(now)")
        }
    }

    private mutating func newWorkOrder() -> Event {
        let id = "work-order-\(count)"
        workOrders.append(id)
        let procedure = ["isolate and lock out", "inspect", "replace the part", "test run"]
        let steps = procedure.prefix(1 + random.number(below: 4))
        let checklist = steps.enumerated().map { index, step in
            "{\"id\":\"\(id)-\(index + 1)\",\"text\":\(JSONText.string(step))}"
        }
        let asset = random.number(below: 6)
        let work = ["bucket cylinder leaks", "boom light out", "engine runs hot", "track tension low", "seat torn"]
        return event(
            Self.workOrderTopic, "work-order.created", id,
            "\"title\":\(JSONText.string(work[random.number(below: work.count)])),\"updatedAt\":\(now),"
                + "\"asset\":{\"id\":\"excavator-\(asset)\",\"name\":\"Excavator \(asset)\"},"
                + "\"technicians\":[\"technician-\(random.number(below: 9))\"],"
                + "\"checklist\":[\(checklist.joined(separator: ","))]")
    }

    // MARK: Broken records

    private mutating func broken() -> Event {
        let id = "broken-\(count)"
        let topic = hasChats ? Self.chatTopic : Self.workOrderTopic
        let entity = hasChats ? "message" : "work-order"
        switch random.number(below: 3) {
        case 0:
            var cut = event(topic, "\(entity).upserted", id, "\"updatedAt\":\(now)")
            cut = Event(
                topic: topic, key: cut.key, value: String(cut.value.dropLast(12)), expectedCode: "json.truncated")
            return cut
        case 1:
            var wrong = event(topic, "\(entity).upserted", id, "\"updatedAt\":\"yesterday\"")
            wrong.expectedCode = "decode.type"
            return wrong
        default:
            var unknown = event(topic, "\(entity).upserted", id, "\"colour\":\"blue\"")
            unknown.expectedCode = "decode.unknown_property"
            return unknown
        }
    }

    // MARK: Texts

    private var now: String { "\"\(Timestamp.text(time))\"" }

    private func event(_ topic: String, _ type: String, _ id: String, _ fields: String) -> Event {
        let data = "{\"id\":\(JSONText.string(id))\(fields.isEmpty ? "" : "," + fields)}"
        let value =
            "{\"specversion\":\"1.0\",\"id\":\"demo-\(count)\",\"source\":\"/demo\",\"type\":\"\(type)\",\"time\":\(now),"
            + "\"data\":\(data)}"
        return Event(topic: topic, key: id, value: value)
    }

    private mutating func member() -> String {
        let names = ["amara", "bo", "chen", "dana", "eli", "farah", "goran", "hana", "ivo", "june", "kofi", "lena"]
        return "member-\(names[random.number(below: names.count)])"
    }

    private mutating func topicName() -> String {
        let topics = ["Night shift", "Pump 4", "Shutdown planning", "Spare parts", "Crew B", "Excavator fleet"]
        return topics[random.number(below: topics.count)]
    }

    private mutating func sentence() -> String {
        let starts = ["The cylinder", "Pump 4", "Our crew", "The new seal", "Excavator 3", "The supplier"]
        let ends = [
            "is leaking again", "runs fine now", "needs two more hours", "arrives tomorrow", "can wait until Monday",
        ]
        return "\(starts[random.number(below: starts.count)]) \(ends[random.number(below: ends.count)])"
    }
}

/// Random numbers that a seed repeats (SplitMix64).
struct DemoRandom {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func number(below limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(limit))
    }
}
