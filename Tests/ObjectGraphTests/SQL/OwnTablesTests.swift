import GraphCore
import StoreSQL
import Testing

@testable import PostgresStorage
@testable import SQLiteStorage

/// The statements that make the store's own tables. SQLite keeps their text, and stores compare it, so it stays as it is.
struct OwnTablesTests {
    @Test(arguments: [
        "CREATE TABLE _metadata (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        """
        CREATE TABLE _history_transaction (token INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, \
        author TEXT NOT NULL, context TEXT, source TEXT, firstChange INTEGER NOT NULL, changeCount INTEGER NOT NULL, \
        trace TEXT, epoch INTEGER NOT NULL DEFAULT 0)
        """,
        """
        CREATE TABLE _dead_letter (id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, topic TEXT NOT NULL, \
        partition INTEGER NOT NULL, offset INTEGER NOT NULL, line INTEGER, stage TEXT NOT NULL, code TEXT NOT NULL, \
        reason TEXT NOT NULL, key BLOB, value BLOB, valueBytes INTEGER, headers TEXT, \
        attempts INTEGER NOT NULL DEFAULT 1, timestampMilliseconds INTEGER)
        """,
        """
        CREATE TABLE _tombstone (entity TEXT NOT NULL, identity NOT NULL, version, time INTEGER, \
        token INTEGER NOT NULL, saved INTEGER, PRIMARY KEY (entity, identity)) WITHOUT ROWID
        """,
        """
        CREATE TABLE _audit (id INTEGER PRIMARY KEY, time INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, \
        request TEXT NOT NULL, idempotencyKey TEXT UNIQUE, result TEXT)
        """,
    ])
    func `SQLite's tables keep their text`(_ statement: String) {
        #expect(SQLiteDialect.ownTables.contains(statement))
    }

    @Test(arguments: [
        #"CREATE TABLE "_metadata" ("key" text COLLATE "C" PRIMARY KEY, "value" text NOT NULL)"#,
        """
        CREATE TABLE "_position" ("topic" text COLLATE "C" NOT NULL, "partition" integer NOT NULL, \
        "nextOffset" bigint NOT NULL, "detail" text COLLATE "C", PRIMARY KEY ("topic", "partition"))
        """,
    ])
    func `PostgreSQL's tables keep their types`(_ statement: String) {
        #expect(PostgresDialect.ownTables.contains(statement))
    }
}
