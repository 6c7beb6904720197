/// Dead letters that have code, topic and entity in common.
public struct DeadLetterGroup: Sendable {
    /// The code of the reason.
    public let code: String
    /// The topic's name, or `file:` and the file's path.
    public let topic: String
    /// The entity that the reason begins with, or nil where it begins with none, or the groups are of all entities.
    public let entity: String?
    /// The number of dead letters.
    public internal(set) var count: Int
    /// When the first of them was saved, in microseconds since 1970 UTC.
    public internal(set) var firstTime: Int64
    /// When the last of them was saved, in microseconds since 1970 UTC.
    public internal(set) var lastTime: Int64
}

extension DeadLetterGroup: JSONWritable {
    package var json: String {
        JSONObject([
            "code": code, "topic": topic, "entity": entity, "count": count, "firstTime": Timestamp.text(firstTime),
            "lastTime": Timestamp.text(lastTime),
        ]).json
    }
}

extension DeadLetterGroup {
    /// Returns the entity that a reason begins with, as in `Message.sentAt has …`, `Message has …` and `The Message …`.
    package static func entity(ofReason reason: String, model: ObjectModel) -> String? {
        let words = reason.split(maxSplits: 2, omittingEmptySubsequences: true) { $0 == " " }
        guard let first = words.first else { return nil }
        let word = first == "The" && words.count > 1 ? words[1] : first
        let name = word.prefix { $0 == "_" || $0.isLetter || $0.isNumber }
        return model.entities.first { $0.name == name }?.name
    }
}
