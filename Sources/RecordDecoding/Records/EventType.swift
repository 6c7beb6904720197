import GraphCore
import KafkaClient

/// The entity and the operation that an event's type names: `message.upserted` upserts a Message.
package struct EventType: Sendable {
    let entity: Int
    let verb: ObjectOperation.Kind

    /// The verbs that event types may end with.
    package static let verbs: [String: ObjectOperation.Kind] = [
        "upserted": .upsert, "created": .upsert, "updated": .upsert, "patched": .upsert,
        "deleted": .delete, "removed": .delete,
    ]

    /// Splits a type at its last dot; nil where the end is no verb.
    static func verb(of type: String) -> (subject: Substring, verb: ObjectOperation.Kind)? {
        guard let dot = type.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        let end = type[type.utf8.index(after: dot)...]
        guard end.utf8.count <= 16, let verb = verbs[end.lowercased()] else { return nil }
        return (type[..<dot], verb)
    }

    /// Returns a name without case, hyphens and underscores: `work-order` and `WorkOrder` fold to the same.
    static func folded(_ name: some StringProtocol) -> String {
        name.lowercased().filter { $0 != "-" && $0 != "_" }
    }
}

/// Finds entities by their names, as types of events and names of tables may write them.
struct EntityNames {
    private let folded: [String: Int]
    /// Where names differ by case only, the exact one is meant.
    private let exact: [String: Int]
    /// All names, for messages.
    let text: String

    init(_ model: ObjectModel) {
        folded = Dictionary(
            model.entities.map { (EventType.folded($0.name), $0.index) }, uniquingKeysWith: { first, _ in first })
        exact = Dictionary(uniqueKeysWithValues: model.entities.map { ($0.name, $0.index) })
        text = model.entities.map(\.name).joined(separator: ", ")
    }

    /// To look for a longer text takes more than linear time where a letter has many marks.
    static let maximumBytes = 1024

    /// Returns the entity of a name, or else of the first folded spelling that is one's.
    func entity(_ name: String, spellings: [String]) -> Int? {
        exact[name] ?? spellings.lazy.compactMap { folded[$0] }.first
    }
}

/// Finds the meaning of event types by the convention, and remembers the few types that a stream uses.
final class EventTypeResolver {
    private let names: EntityNames
    private var known = NameTable<Known>()

    /// A type, and what it means by the convention or why it means nothing.
    final class Known {
        let text: String
        let meaning: Result<EventType, DecodeError>

        init(text: String, meaning: Result<EventType, DecodeError>) { (self.text, self.meaning) = (text, meaning) }
    }

    /// How many types are remembered.
    var knownCount: Int { known.count }

    init(_ model: ObjectModel) { names = EntityNames(model) }

    /// Returns the known meaning of the type with these bytes.
    ///
    /// - Throws: ``DecodeError`` where a header's bytes are no UTF-8 text.
    func known(_ type: UnsafeBufferPointer<UInt8>) throws(DecodeError) -> Known {
        if let found = known[utf8: type] { return found }
        guard let text = String(validating: type, as: UTF8.self) else { throw RecordHeader.wrongText("ce_type") }
        let found = Known(text: text, meaning: Result { () throws(DecodeError) in try resolve(text) })
        // A stream of ever new types, or of long ones, must not fill the memory.
        if type.count > 256 { return found }
        if known.count >= 1024 { known = NameTable() }
        known[text] = found
        return found
    }

    func resolve(_ type: String) throws(DecodeError) -> EventType {
        guard type.utf8.count <= EntityNames.maximumBytes, let (subject, verb) = EventType.verb(of: type) else {
            throw DecodeError(
                code: "decode.event_type",
                "The event type \(DecodeError.shown(type)) ends in no known verb; use one of "
                    + EventType.verbs.keys.sorted().joined(separator: ", ") + ", or add a route")
        }
        // Types may carry a reverse domain name before the entity.
        let name = subject.split(separator: ".").last.map(String.init) ?? ""
        guard let entity = names.entity(name, spellings: [EventType.folded(name)]) else {
            throw DecodeError(
                code: "decode.unknown_entity",
                "The event type \(DecodeError.shown(type)) names no entity of the model (\(names.text)); "
                    + "correct it, or add a route")
        }
        return EventType(entity: entity, verb: verb)
    }
}
