import GraphModel
import KafkaClient
import TestSupport

/// The events of one partition as they may come: repeated, late, deleted and brought back, nested, broken.
///
/// The objects of two partitions differ. So the final graph does not depend on the order in which partitions are read.
package struct EventStream {
    /// The beginning of every identity.
    private let prefix: String
    private var count = 0
    private var recent: [[UInt8]] = []

    /// Makes the stream of a partition; without one identities have no beginning in common.
    package init(partition: Int32? = nil) { prefix = partition.map { "p\($0)-" } ?? "" }

    /// Returns the value of the next record, which may be one again that has come, or null.
    mutating func next(_ random: inout SeededRandom) -> [UInt8]? {
        count += 1
        if !recent.isEmpty, random.number(below: 12) == 0 { return recent[random.number(below: recent.count)] }
        if random.number(below: 60) == 0 { return nil }
        let event = [UInt8](event(count, &random).utf8)
        if recent.count < 20 { recent.append(event) } else { recent[count % 20] = event }
        return event
    }

    /// Returns an event. Times go forward with the number, and back at times, so that some events are stale.
    package func event(_ number: Int, _ random: inout SeededRandom) -> String {
        let seconds = number * 10 - (random.number(below: 5) == 0 ? random.number(below: 300) : 0)
        let time = Timestamp.text(1_767_225_600_000_000 + Int64(seconds) * 1_000_000)
        switch random.number(below: 20) {
        case 0...6: return text("message.upserted", message(&random), time)
        case 7...9: return text("chat.updated", chat(&random), time)
        case 10...12: return text("member.updated", "{\"id\":\"\(member(&random))\",\"name\":\"n\(number)\"}", time)
        case 13: return text("chat.deleted", "{\"id\":\"\(chatID(&random))\"}", time)
        case 14: return text("message.deleted", "{\"id\":\"\(messageID(&random))\"}", time)
        case 15: return text("member.deleted", "{\"id\":\"\(member(&random))\"}", time)
        case 16: return text("member.updated", "{\"id\":\"\(member(&random))\",\"email\":\"no address\"}", time)
        case 17: return text("message.upserted", "{\"id\":\"\(messageID(&random))\",\"seq\":-1}", time)
        case 18: return String(text("chat.updated", chat(&random), time).dropLast(3))
        default: return text("chat.updated", "{\"id\":\"\(chatID(&random))\",\"colour\":1}", time)
        }
    }

    private func text(_ type: String, _ data: String, _ time: String) -> String {
        "{\"specversion\":\"1.0\",\"id\":\"e\",\"source\":\"/test\",\"type\":\"\(type)\",\"time\":\"\(time)\",\"data\":\(data)}"
    }

    private func chatID(_ random: inout SeededRandom) -> String { "\(prefix)c\(random.number(below: 6))" }
    private func messageID(_ random: inout SeededRandom) -> String { "\(prefix)m\(random.number(below: 40))" }
    private func member(_ random: inout SeededRandom) -> String { "\(prefix)u\(random.number(below: 10))" }

    private func message(_ random: inout SeededRandom) -> String {
        let sender = random.number(below: 5) == 0 ? "null" : "\"\(member(&random))\""
        return "{\"id\":\"\(messageID(&random))\",\"chat\":\"\(chatID(&random))\",\"sender\":\(sender),"
            + "\"body\":\"b\(random.number(below: 1000))\"}"
    }

    private func chat(_ random: inout SeededRandom) -> String {
        var parts = ["\"id\":\"\(chatID(&random))\""]
        if random.number(below: 2) == 0 { parts.append("\"title\":\"t\(random.number(below: 100))\"") }
        switch random.number(below: 5) {
        case 0: parts.append("\"members\":[\"\(member(&random))\",\"\(member(&random))\"]")
        case 1:
            let (added, removed) = (member(&random), member(&random))
            parts.append("\"members\":{\"add\":[\"\(added)\"],\"remove\":[\"\(removed)\"]}")
        case 2: parts.append("\"members\":[{\"id\":\"\(member(&random))\",\"name\":\"nested\"}]")
        case 3: parts.append("\"messages\":{\"add\":[\(message(&random))]}")
        default: break
        }
        return "{\(parts.joined(separator: ","))}"
    }
}
