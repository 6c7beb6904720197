import ObjectGraph
import TestSupport

/// A stream of chat events as it may come: repeated, late, deleted and brought back, nested, broken.
struct ChatStream {
    private var random: SeededRandom

    init(_ random: SeededRandom) { self.random = random }

    mutating func events(_ count: Int) -> [String] {
        var events: [String] = []
        for number in 0..<count {
            if !events.isEmpty, random.number(below: 12) == 0 {
                events.append(events[random.number(below: events.count)])
            } else {
                events.append(event(number))
            }
        }
        return events
    }

    private mutating func event(_ number: Int) -> String {
        // Times go forward with jumps back, so that some events are stale.
        let seconds = number * 10 - (random.number(below: 5) == 0 ? random.number(below: 300) : 0)
        let time = Timestamp.text(1_767_225_600_000_000 + Int64(seconds) * 1_000_000)
        switch random.number(below: 20) {
        case 0...6: return Events.event("message.upserted", message(), time: time)
        case 7...9: return Events.event("chat.updated", chat(), time: time)
        case 10...12:
            return Events.event("member.updated", "{\"id\":\"\(member())\",\"name\":\"n\(number)\"}", time: time)
        case 13: return Events.event("chat.deleted", "{\"id\":\"\(chatID())\"}", time: time)
        case 14: return Events.event("message.deleted", "{\"id\":\"m\(random.number(below: 40))\"}", time: time)
        case 15: return Events.event("member.deleted", "{\"id\":\"\(member())\"}", time: time)
        case 16: return Events.event("member.updated", "{\"id\":\"\(member())\",\"email\":\"no address\"}", time: time)
        case 17:
            return Events.event("message.upserted", "{\"id\":\"m\(random.number(below: 40))\",\"seq\":-1}", time: time)
        case 18: return String(Events.event("chat.updated", chat(), time: time).dropLast(3))
        default: return Events.event("chat.updated", "{\"id\":\"\(chatID())\",\"colour\":1}", time: time)
        }
    }

    private mutating func chatID() -> String { "c\(random.number(below: 6))" }
    private mutating func member() -> String { "u\(random.number(below: 10))" }

    private mutating func message() -> String {
        let sender = random.number(below: 5) == 0 ? "null" : "\"\(member())\""
        return "{\"id\":\"m\(random.number(below: 40))\",\"chat\":\"\(chatID())\",\"sender\":\(sender),"
            + "\"body\":\"b\(random.number(below: 1000))\"}"
    }

    private mutating func chat() -> String {
        var parts = ["\"id\":\"\(chatID())\""]
        if random.number(below: 2) == 0 { parts.append("\"title\":\"t\(random.number(below: 100))\"") }
        switch random.number(below: 5) {
        case 0: parts.append("\"members\":[\"\(member())\",\"\(member())\"]")
        case 1: parts.append("\"members\":{\"add\":[\"\(member())\"],\"remove\":[\"\(member())\"]}")
        case 2: parts.append("\"members\":[{\"id\":\"\(member())\",\"name\":\"nested\"}]")
        case 3: parts.append("\"messages\":{\"add\":[\(message())]}")
        default: break
        }
        return "{\(parts.joined(separator: ","))}"
    }
}
