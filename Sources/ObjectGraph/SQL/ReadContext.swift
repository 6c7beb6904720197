import GRDB

/// A snapshot of a store: everything read through it is of one commit.
///
/// Valid only while ``Store/read(_:)`` runs.
public struct ReadContext {
    let database: Database
    /// The store's model.
    public let model: ObjectModel

    func metadata(_ key: String) throws -> String? {
        try String.fetchOne(database, sql: "SELECT value FROM _metadata WHERE key = ?", arguments: [key])
    }

    /// Returns the positions of all sources.
    public func positions() throws -> [SourcePosition] {
        let sql = "SELECT topic, partition, nextOffset, detail FROM _position ORDER BY topic, partition"
        return try Row.fetchAll(database, sql: sql).map { row in
            SourcePosition(topic: row[0], partition: row[1], nextOffset: row[2], detail: row[3])
        }
    }

    /// Returns the number of dead letters.
    public func deadLetterCount() throws -> Int {
        try Int.fetchOne(database, sql: "SELECT count(*) FROM _dead_letter") ?? 0
    }

    /// Returns dead letters in the order of their numbers, those after `id`, at most `limit`.
    public func deadLetters(after id: Int64 = 0, limit: Int = 100) throws -> [DeadLetter] {
        let sql = """
            SELECT id, time, topic, partition, offset, line, stage, code, reason, key, value, valueBytes, headers, attempts \
            FROM _dead_letter WHERE id > ? ORDER BY id LIMIT ?
            """
        return try Row.fetchAll(database, sql: sql, arguments: [id, limit]).map { row in
            var letter = DeadLetter(
                time: row[1], topic: row[2], partition: row[3], offset: row[4], line: row[5], stage: row[6],
                code: row[7], reason: row[8], key: bytes(row[9]), value: bytes(row[10]), valueBytes: row[11] ?? 0,
                headers: row[12])
            letter.id = row[0]
            letter.attempts = row[13]
            return letter
        }
    }

    private func bytes(_ value: (any DatabaseValueConvertible)?) -> [UInt8]? {
        guard let value, case .blob(let data) = value.databaseValue.storage else { return nil }
        return [UInt8](data)
    }

    /// Returns the number of objects of an entity, and how many of them are placeholders.
    public func count(_ entity: Entity) throws -> (objects: Int, placeholders: Int) {
        let table = SQLText.quoted(entity.name)
        let objects = try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table)") ?? 0
        let placeholders = try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table) WHERE _placeholder") ?? 0
        return (objects, placeholders)
    }
}
