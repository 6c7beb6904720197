import GRDB

/// Dead letters that have code, topic and entity in common.
public struct DeadLetterGroup: Sendable {
    /// The code of the reason.
    public let code: String
    /// The topic's name, or `file:` and the file's path.
    public let topic: String
    /// The entity that the reason begins with, or nil where it begins with none.
    public let entity: String?
    /// The number of dead letters.
    public internal(set) var count: Int
    /// When the first of them was saved, in microseconds since 1970 UTC.
    public internal(set) var firstTime: Int64
    /// When the last of them was saved, in microseconds since 1970 UTC.
    public internal(set) var lastTime: Int64
}

extension DeadLetterGroup {
    /// Returns the entity that a reason begins with, as in `Message.sentAt has …`, `Message has …` and `The Message …`.
    static func entity(ofReason reason: String, model: ObjectModel) -> String? {
        let words = reason.split(maxSplits: 2, omittingEmptySubsequences: true) { $0 == " " }
        guard let first = words.first else { return nil }
        let word = first == "The" && words.count > 1 ? words[1] : first
        let name = word.prefix { $0 == "_" || $0.isLetter || $0.isNumber }
        return model.entities.first { $0.name == name }?.name
    }
}

extension ReadContext {
    /// Returns the dead letters of a selection in groups, the greatest count first.
    public func deadLetterGroups(_ selection: DeadLetterSelection = DeadLetterSelection()) throws -> [DeadLetterGroup] {
        struct Key: Hashable {
            let code: String
            let topic: String
            let entity: String?
        }
        let (condition, arguments) = selection.sql
        let sql = """
            SELECT code, topic, reason, count(*), min(time), max(time) FROM _dead_letter WHERE \(condition) \
            GROUP BY code, topic, reason
            """
        var groups: [Key: DeadLetterGroup] = [:]
        let rows = try Row.fetchCursor(database, sql: sql, arguments: arguments)
        while let row = try rows.next() {
            let key = Key(
                code: row[0], topic: row[1], entity: DeadLetterGroup.entity(ofReason: row[2], model: model))
            let (count, first, last): (Int, Int64, Int64) = (row[3], row[4], row[5])
            var group =
                groups[key]
                ?? DeadLetterGroup(
                    code: key.code, topic: key.topic, entity: key.entity, count: 0, firstTime: first, lastTime: last)
            group.count += count
            group.firstTime = min(group.firstTime, first)
            group.lastTime = max(group.lastTime, last)
            groups[key] = group
        }
        return groups.values.sorted {
            ($1.count, $0.code, $0.topic, $0.entity ?? "") < ($0.count, $1.code, $1.topic, $1.entity ?? "")
        }
    }
}
