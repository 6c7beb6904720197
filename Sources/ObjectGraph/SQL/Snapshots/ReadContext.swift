import GRDB

/// A snapshot of a store: everything read through it is of one commit.
///
/// Valid only while ``Store/read(_:)`` runs.
public struct ReadContext {
    let database: Database
    /// The store's model.
    public let model: ObjectModel
    /// What the connection keeps from read to read, or nil where it keeps nothing.
    var caches: ReaderCaches?

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

    /// Returns the number of objects of an entity, and how many of them are placeholders.
    public func count(_ entity: Entity) throws -> (objects: Int, placeholders: Int) {
        let table = SQLText.quoted(entity.viewName)
        let objects = try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table)") ?? 0
        let placeholders = try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table) WHERE _placeholder") ?? 0
        return (objects, placeholders)
    }
}
