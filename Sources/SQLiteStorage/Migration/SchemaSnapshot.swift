import GRDB

/// The tables, indexes and views of a database, as SQLite keeps their texts.
struct SchemaSnapshot {
    struct Object {
        let type: String
        let name: String
        let table: String
        let sql: String
    }

    let objects: [Object]

    init(_ database: Database) throws {
        let rows = try Row.fetchAll(
            database, sql: "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
        objects = rows.map { Object(type: $0[0], name: $0[1], table: $0[2], sql: $0[3]) }
    }

    /// The schema of a new store of a model.
    init(_ model: ObjectModel) throws {
        let queue = try DatabaseQueue()
        self = try queue.write { database in
            for statement in Schema(model).statements { try database.execute(sql: statement) }
            return try SchemaSnapshot(database)
        }
    }

    func objects(of type: String) -> [Object] { objects.filter { $0.type == type } }

    /// Returns a table's definition; SQLite's names know no case.
    func table(_ name: String) -> TableDefinition? {
        objects.first { $0.type == "table" && $0.name == name }.map { TableDefinition($0.sql) }
    }

    func has(_ type: String, _ name: String) -> Bool { objects.contains { $0.type == type && $0.name == name } }
}

/// A table's columns as its `CREATE TABLE` states them.
struct TableDefinition: Equatable {
    /// The columns in their order, each with its whole text.
    var columns: [(name: String, text: String)] = []
    /// The rest of the text in the parentheses and behind them.
    var constraints: [String] = []

    init(_ sql: String) {
        guard let open = sql.firstIndex(of: "("), let close = sql.lastIndex(of: ")") else { return }
        for part in Self.parts(sql[sql.index(after: open)..<close]) {
            if let name = Self.name(part) {
                columns.append((name, part))
            } else {
                constraints.append(part)
            }
        }
        constraints.append(sql[sql.index(after: close)...].trimmed)
    }

    func column(_ name: String) -> String? { columns.first { $0.name == name }?.text }

    /// Tells whether two tables have the same columns, in whatever order.
    static func == (left: TableDefinition, right: TableDefinition) -> Bool {
        left.constraints == right.constraints && left.columns.map(\.text).sorted() == right.columns.map(\.text).sorted()
    }

    /// The text without its column's name.
    static func type(_ text: String) -> String {
        guard text.hasPrefix("\""), let end = text.dropFirst().firstIndex(of: "\"") else {
            return String(text.drop { $0 != " " })
        }
        return String(text[text.index(after: end)...])
    }

    /// Splits at the commas that stand in no parentheses and no quotes.
    private static func parts(_ text: Substring) -> [String] {
        var parts: [String] = []
        var start = text.startIndex
        var depth = 0
        var isQuoted = false
        for index in text.indices {
            switch text[index] {
            case "\"": isQuoted.toggle()
            case "(" where !isQuoted: depth += 1
            case ")" where !isQuoted: depth -= 1
            case "," where !isQuoted && depth == 0:
                parts.append(text[start..<index].trimmed)
                start = text.index(after: index)
            default: break
            }
        }
        parts.append(text[start...].trimmed)
        return parts
    }

    private static func name(_ part: String) -> String? {
        if part.hasPrefix("PRIMARY KEY") || part.hasPrefix("FOREIGN KEY") { return nil }
        guard part.hasPrefix("\"") else { return String(part.prefix { $0 != " " }) }
        return part.dropFirst().firstIndex(of: "\"").map { String(part[part.index(after: part.startIndex)..<$0]) }
    }
}
