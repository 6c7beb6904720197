import Foundation
import GRDB
import StoreSQL

/// Copies a store of another storage into a new file, all in one transaction.
struct SQLiteCopy {
    private let connection: OpaquePointer
    private let model: ObjectModel
    private let source: any CopySource
    private let progress: (_ table: String, _ rowCount: Int) -> Void

    /// So often is a table's progress told.
    private static let batchSize = 2000

    init(
        _ connection: OpaquePointer, _ model: ObjectModel, _ source: any CopySource,
        progress: @escaping (_ table: String, _ rowCount: Int) -> Void
    ) {
        self.connection = connection
        self.model = model
        self.source = source
        self.progress = progress
    }

    func run() throws {
        let metadata = try PreparedStatement(
            connection, sql: "INSERT OR REPLACE INTO _metadata (key, value) VALUES (?, ?)")
        try source.rows(of: .metadata) { row in
            if let key = row[0].text, !StoreTable.ownKeys.contains(key) { try insert(row, metadata) }
        }
        for table in StoreTable.all(model) { try copy(table) }
        try setNumbers()
    }

    private func copy(_ table: StoreTable) throws {
        let names = table.columns.map { SQLText.quoted($0.name) }.joined(separator: ", ")
        let marks = table.columns.map { _ in "?" }.joined(separator: ", ")
        let statement = try PreparedStatement(
            connection, sql: "INSERT INTO \(SQLText.quoted(table.name)) (\(names)) VALUES (\(marks))")
        var count = 0
        progress(table.name, 0)
        try source.rows(of: table) { row in
            try insert(row, statement)
            count += 1
            if count % Self.batchSize == 0 { progress(table.name, count) }
        }
        progress(table.name, count)
    }

    private func insert(_ row: [Value], _ statement: PreparedStatement) throws(StoreError) {
        for (index, value) in row.enumerated() { statement.bind(index + 1, value) }
        try statement.run()
    }

    /// Goes on with the numbers behind the last ones that were given out.
    private func setNumbers() throws {
        let removal = try PreparedStatement(connection, sql: "DELETE FROM sqlite_sequence WHERE name = ?")
        let insertion = try PreparedStatement(connection, sql: "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)")
        for table in StoreTable.numbered {
            let last = try source.lastNumber(of: table)
            try insert([.text(table)], removal)
            try insert([.text(table), .integer(last)], insertion)
        }
    }
}

extension Store {
    /// Copies a store of another storage into a new file: a copy that ends early leaves no file of that name.
    ///
    /// Objects keep their primary keys, and the store its identity: tokens and cursors of its readers go on.
    ///
    /// - Parameter progress: takes the name of a table and the number of its rows that are copied.
    /// - Throws: ``StoreError``; `store.unavailable` where there is a file already.
    package static func copyToFile(
        _ source: ReadContext, path: String,
        progress: @escaping (_ table: String, _ rowCount: Int) -> Void = { _, _ in }
    ) throws {
        let session = try source.copySource()
        if FileManager.default.fileExists(atPath: path) {
            throw StoreError(
                .unavailable, "There is a file at \(path) already", remedy: "Name another path, or remove the file")
        }
        let partial = path + MigrationFile.copySuffix
        DurableFile.removeDatabase(partial)
        do {
            try Store.open(path: partial, model: source.model).close()
            try MigrationFile(anyFile: partial).closing { file in
                // The log would need the room once more, and a full disk would show only when nobody looks.
                try file.leaveLog()
                try file.transaction { database in
                    guard let connection = database.sqliteConnection else { throw StoreError.closed }
                    try SQLiteCopy(connection, source.model, session, progress: progress).run()
                }
            }
            try DurableFile.replace(path, with: partial)
        } catch {
            DurableFile.removeDatabase(partial)
            throw error
        }
    }
}
