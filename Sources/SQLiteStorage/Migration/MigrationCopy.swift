import Foundation
import GRDB
import StoreSQL

/// Fills a new file, in the form of one model, from a file in the form of another, in batches.
///
/// Killed at any moment, it goes on where it was: the new file knows what it is a copy of and how far it got.
struct MigrationCopy {
    /// The origin of a copied file.
    struct Origin: Equatable {
        /// The store, its last change, and all that was done to its rows on the way.
        let text: String
        /// The epoch since which nobody but migrations has held the store's lease.
        let epoch: Int64
    }

    let link: MigrationChain.Link
    /// The path of the file with the rows.
    let source: String
    /// The path of the new file.
    let path: String
    let origin: Origin
    let lease: MigrationLeaseKeeper
    let now: Int64
    let options: Migrator.Options

    /// The rows of `_migration` that stand for no table: the file's origin, its notes once nothing is missing, and its losses.
    private static let (originPart, donePart, lossPart) = (-1, -2, -3)

    /// Fills the file.
    ///
    /// - Parameters:
    ///   - notes: the notes of the stages up to this one; the file keeps them for later runs.
    ///   - losses: the losses of these stages; the file keeps them too.
    ///   - part: the file's place among the migration's files.
    func run(notes: [String], losses: MigrationLosses, part: (number: Int, count: Int)) throws {
        let copy = try open()
        defer { try? copy.close() }
        try copy.use { try $0.execute(sql: "ATTACH DATABASE ? AS source", arguments: [source]) }
        let script = try copy.use { try makeScript($0) }
        let portions = try copy.use { try makePortions(script, $0) }
        let left = try copy.use { database in
            try portions.enumerated().reduce(0) {
                try $0 + $1.element.rowCount(after: last($1.offset, database), database)
            }
        }
        options.progress(.copying(rowCount: left, part: part.number, partCount: part.count))
        for (index, portion) in portions.enumerated() {
            while try fill(index, portion, copy) { try lease.keep() }
        }
        try copy.transaction { database in
            let run = MigrationRun(script: script, database: database, options: options)
            try copyOwnTables(script, database)
            try run.separateRanges(oldTablesIn: "source")
            try run.finish {}
            if link.isPreparation {
                try link.stage.prepare(from: link.old, database, options.willExecute)
            } else {
                try run.conclude(link.stage, time: now)
            }
            for (part, text) in [(Self.donePart, notes.joined(separator: "\n")), (Self.lossPart, losses.note)] {
                try database.execute(
                    sql: "INSERT INTO _migration (part, last, origin) VALUES (?, 0, ?)", arguments: [part, text])
            }
            try Lease.expire(in: database)
        }
    }

    // MARK: The new file

    /// Returns the notes and losses of a file that is whole, or nil where it is not, or is a copy of something else.
    static func notes(path: String, origin: Origin) -> (notes: [String], losses: MigrationLosses)? {
        guard FileManager.default.fileExists(atPath: path),
            let copy = try? MigrationFile(anyFile: path)
        else { return nil }
        return try? copy.closing { copy in
            try copy.queue.read { database in
                guard try isCopy(of: origin, database), let notes = try text(donePart, database) else { return nil }
                let losses = MigrationLosses(note: try text(lossPart, database) ?? "")
                return (notes.split(separator: "\n").map(String.init), losses)
            }
        }
    }

    private static func text(_ part: Int, _ database: Database) throws -> String? {
        try String.fetchOne(database, sql: "SELECT origin FROM _migration WHERE part = ?", arguments: [part])
    }

    private static func isCopy(of origin: Origin, _ database: Database) throws -> Bool {
        // A table of that name without the column is of an earlier version of this program.
        guard try database.tableExists("_migration"),
            try database.columns(in: "_migration").contains(where: { $0.name == "origin" }),
            let row = try Row.fetchOne(
                database, sql: "SELECT origin, epoch FROM _migration WHERE part = ?", arguments: [originPart])
        else { return false }
        return origin == Origin(text: row[0], epoch: row[1])
    }

    /// Opens the file that an earlier run began, or makes it.
    private func open() throws -> MigrationFile {
        if FileManager.default.fileExists(atPath: path) {
            let copy = try? open(path)
            if let copy, (try? copy.queue.read({ try Self.isCopy(of: origin, $0) })) == true { return copy }
            try? copy?.close()
            DurableFile.removeDatabase(path)
        }
        try DurableFile.make(path)
        let copy = try open(path)
        let schema = try SchemaSnapshot(link.new)
        try copy.transaction { database in
            for object in schema.objects(of: "table") where !object.name.hasPrefix("sqlite_") {
                try database.execute(sql: object.sql)
            }
            try database.execute(
                sql: "CREATE TABLE _migration (part INTEGER PRIMARY KEY, last INTEGER, origin TEXT, epoch INTEGER)")
            try database.execute(
                sql: "INSERT INTO _migration (part, origin, epoch) VALUES (?, ?, ?)",
                arguments: [Self.originPart, origin.text, origin.epoch])
        }
        return copy
    }

    private func open(_ path: String) throws -> MigrationFile {
        let copy = try MigrationFile(anyFile: path)
        if let count = options.maximumPageCount {
            try copy.use { try $0.execute(sql: "PRAGMA max_page_count = \(count)") }
        }
        return copy
    }

    private func makeScript(_ database: Database) throws -> MigrationScript {
        let oldSchema = try MigrationFile(anyFile: source, isReadOnly: true).closing { source in
            try source.queue.read { try SchemaSnapshot($0) }
        }
        return try MigrationScript(
            link.mapping, link.expressions, database, oldSchema: oldSchema, place: .attached)
    }

    // MARK: Rows

    private func makePortions(_ script: MigrationScript, _ database: Database) throws -> [MigrationPortion] {
        let own = try ownTables(script).filter { try isLarge($0, database) }.map { name in
            MigrationPortion(
                insertion: try ownInsertion(name, database) + " s WHERE 1",
                keys: "SELECT s.rowid AS key FROM source.\(name) s WHERE 1", key: "s.rowid", areObjects: false)
        }
        return script.parts.map { MigrationPortion($0) } + own
    }

    /// Returns the key of the last row of a portion that the file has.
    private func last(_ index: Int, _ database: Database) throws -> Int64 {
        try Int64.fetchOne(database, sql: "SELECT last FROM _migration WHERE part = ?", arguments: [index]) ?? .min
    }

    /// Copies one batch, and tells whether there was one.
    private func fill(_ index: Int, _ portion: MigrationPortion, _ copy: MigrationFile) throws -> Bool {
        try copy.transaction { database in
            let last = try last(index, database)
            guard let end = try portion.end(after: last, limit: options.copyBatchRows, database) else { return false }
            let sql = portion.insertion(after: last, to: end)
            try options.willExecute(sql)
            try database.execute(sql: sql)
            options.progress(.copied(rowCount: Int64(database.changesCount), areObjects: portion.areObjects))
            try database.execute(
                sql: """
                    INSERT INTO _migration (part, last) VALUES (?, ?) \
                    ON CONFLICT (part) DO UPDATE SET last = excluded.last
                    """, arguments: [index, end])
            return true
        }
    }

    // MARK: The store's own tables

    private func ownTables(_ script: MigrationScript) -> [String] {
        script.newSchema.objects(of: "table").map(\.name)
            .filter { $0.hasPrefix("_") && script.oldSchema.has("table", $0) }
    }

    /// Tells whether a table is one that grows with the history, and has keys to go by.
    private func isLarge(_ table: String, _ database: Database) throws -> Bool {
        try table != "_lease" && database.primaryKey(table).rowIDColumn != nil
    }

    private func ownInsertion(_ table: String, _ database: Database) throws -> String {
        let names = try database.columns(in: table, in: "source").map { SQLText.quoted($0.name) }
            .joined(separator: ", ")
        return "INSERT INTO main.\(table) (\(names)) SELECT \(names) FROM source.\(table)"
    }

    private func copyOwnTables(_ script: MigrationScript, _ database: Database) throws {
        for table in ownTables(script) where try !isLarge(table, database) {
            try database.execute(sql: try ownInsertion(table, database))
        }
        // Numbers that were given out stay so, though their rows may be purged.
        try database.execute(sql: "DELETE FROM main.sqlite_sequence")
        try database.execute(sql: "INSERT INTO main.sqlite_sequence SELECT * FROM source.sqlite_sequence")
    }
}

/// Prolongs the lease of a store that is being copied.
final class MigrationLeaseKeeper {
    private let file: MigrationFile
    private let lease: Lease
    private let model: ObjectModel
    private let clock: () -> Int64
    private var renewed: Int64

    /// How often the lease is prolonged, in microseconds.
    private static let interval: Int64 = 60_000_000

    init(file: MigrationFile, lease: Lease, model: ObjectModel, clock: @escaping () -> Int64) {
        (self.file, self.lease, self.model, self.clock) = (file, lease, model, clock)
        renewed = clock()
    }

    /// Prolongs the lease if it is time.
    ///
    /// - Throws: ``StoreError`` with code `store.fenced` where another worker took it.
    func keep() throws {
        let now = clock()
        if now - renewed <= Self.interval { return }
        renewed = now
        try file.renew(lease, model, now: now)
    }
}
