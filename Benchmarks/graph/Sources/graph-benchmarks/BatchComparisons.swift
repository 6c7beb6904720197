import Foundation
import ObjectGraph

private let model = """
    model: chat
    version: 1
    entities:
      Chat:
        identity: id
        attributes:
          id: { type: string }
          title: { type: string, optional: true }
          messagesCount: { type: integer64, derived: messages.@count }
        relationships:
          messages: { to: Message, many: true, inverse: chat, delete: cascade }
      Message:
        identity: id
        attributes:
          id: { type: string }
          body: { type: string, optional: true }
          sentAt: { type: date, optional: true }
          seq: { type: integer64, default: 0, min: 0 }
        relationships:
          chat: { to: Chat, inverse: messages }
        indexes: [[chat, sentAt]]
    """

/// A store with two chats, the first of which has all messages but one.
private func makeStore(path: String, count: Int) throws {
    let store = try Store.open(path: path, model: try ObjectModel.parse(model))
    try store.close()
    let raw = try RawDatabase(path: path)
    try raw.run(
        """
        INSERT INTO Chat (pk, id, messagesCount) VALUES (1, 'c1', \(count)), (2, 'c2', 1);
        INSERT INTO Message (pk, id, body, sentAt, seq, chat) WITH RECURSIVE n(i) AS
          (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= \(count))
          SELECT i, printf('message-%012d', i), 'The body of a message that somebody wrote, number ' || i,
          1700000000000000 + i * 1000, i % 2, CASE WHEN i <= \(count) THEN 1 ELSE 2 END FROM n;
        INSERT INTO _sequence VALUES ('Chat', 3), ('Message', \(count + 2))
        """)
    try raw.close()
}

private func writer(path: String) throws -> WriterContext {
    try WriterContext(store: try Store.open(path: path, model: try ObjectModel.parse(model)))
}

/// An update of all messages, and of every second one: bare, with a row of history for each, and as a batch request.
struct BatchUpdateComparison: Comparison {
    let count: Int
    let ways = ["bare", "bare-with-history", "batch-request", "bare-half", "batch-request-half"]

    init(count: Int?) { self.count = count ?? 2_000_000 }

    func prepare(_ way: String, path: String) throws { try makeStore(path: path, count: count) }

    func step(_ way: String, path: String) throws {
        if way.hasPrefix("batch-request") {
            let writer = try writer(path: path)
            let condition = way.hasSuffix("half") ? "seq = 1" : nil
            try measured {
                _ = try writer.execute(
                    BatchUpdateRequest("Message", where: condition, set: ["seq": .value(.integer(7))]))
            }
            return
        }
        let raw = try RawDatabase(path: path)
        try measured {
            try raw.run("BEGIN IMMEDIATE")
            if way == "bare-with-history" {
                try raw.run(
                    """
                    INSERT INTO _history_change (token, entity, object, identity, change, properties)
                    SELECT 1, 'Message', pk, id, 1, 'seq' FROM Message
                    """)
            }
            try raw.run("UPDATE Message SET seq = 7\(way == "bare-half" ? " WHERE seq = 1" : "")")
            try raw.run("COMMIT")
        }
    }
}

/// The deletion of a chat with all its messages: by SQLite's own ON DELETE CASCADE, and by the delete rule, with history
/// and tombstones.
struct CascadeComparison: Comparison {
    let count: Int
    let ways = ["on-delete-cascade", "batch-request"]

    init(count: Int?) { self.count = count ?? 1_000_000 }

    func prepare(_ way: String, path: String) throws {
        try makeStore(path: path, count: count)
        if way == "batch-request" { return }
        let raw = try RawDatabase(path: path)
        let statements = try raw.texts("SELECT sql FROM sqlite_master WHERE tbl_name = 'Message' AND sql IS NOT NULL")
        try raw.run(
            "PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; CREATE TABLE kept AS SELECT * FROM Message")
        try raw.run("DROP VIEW Message_readable; DROP VIEW Chat_readable; DROP VIEW _history; DROP TABLE Message")
        for statement in statements where !statement.contains("VIEW") {
            try raw.run(statement.replacingOccurrences(of: "DEFERRABLE", with: "ON DELETE CASCADE DEFERRABLE"))
        }
        try raw.run("INSERT INTO Message SELECT * FROM kept; DROP TABLE kept; VACUUM")
        try raw.close()
    }

    func step(_ way: String, path: String) throws {
        if way == "batch-request" {
            let writer = try writer(path: path)
            try measured { _ = try writer.execute(BatchDeleteRequest("Chat", where: "id = 'c1'")) }
        } else {
            let raw = try RawDatabase(path: path)
            try measured { try raw.run("DELETE FROM Chat WHERE id = 'c1'") }
        }
    }
}
