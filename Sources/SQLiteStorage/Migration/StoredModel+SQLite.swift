import GRDB

extension StoredModel {
    init(_ database: Database) throws { self = try Self { try Self.value($0, database) } }

    static func value(_ key: String, _ database: Database) throws -> String? {
        try String.fetchOne(database, sql: "SELECT value FROM _metadata WHERE key = ?", arguments: [key])
    }

    static func put(_ key: String, _ value: String, _ database: Database) throws {
        try database.execute(
            sql: """
                INSERT INTO _metadata (key, value) VALUES (?, ?) \
                ON CONFLICT (key) DO UPDATE SET value = excluded.value
                """, arguments: [key, value])
    }

    /// Writes a model into the store's metadata.
    static func record(_ model: ObjectModel, in database: Database) throws {
        for (key, value) in metadata(model) { try put(key, value, database) }
    }
}
