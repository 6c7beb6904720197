import Foundation
import GRDB

/// Migrates a large store into a new file beside it, in batches, and puts that in its place.
///
/// Killed at any moment, it goes on where it was: the new file knows how far it got. If anybody has written the store
/// since then, the copy begins anew.
struct MigrationCopy {
    let file: MigrationFile
    let mapping: ModelMapping
    let expressions: MigrationMapping?
    let lease: Lease
    let now: Int64
    let options: Migrator.Options

    /// Where the new file is while it is made.
    static func siblingPath(of path: String) -> String { path + ".migrating" }

    func run(backup: String) throws {
        let path = Self.siblingPath(of: file.path)
        let sibling = try openSibling(path)
        do {
            try fill(sibling)
            try sibling.close()
        } catch {
            try? sibling.close()
            throw error
        }
        try swap(path, backup: backup)
    }

    // MARK: The new file

    private func openSibling(_ path: String) throws -> MigrationFile {
        if FileManager.default.fileExists(atPath: path) {
            let sibling = try? open(path)
            if let sibling, (try? resume(sibling)) == true { return sibling }
            try? sibling?.close()
            for suffix in ["", "-journal", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: path + suffix)
            }
        }
        try MigrationFile.makeFile(path)
        let sibling = try open(path)
        let schema = try SchemaSnapshot(mapping.new)
        try sibling.transaction { database in
            for object in schema.objects(of: "table") where !object.name.hasPrefix("sqlite_") {
                try database.execute(sql: object.sql)
            }
            try database.execute(
                sql:
                    "CREATE TABLE _migration (part INTEGER PRIMARY KEY, last INTEGER NOT NULL, target TEXT, epoch INTEGER)"
            )
            try database.execute(
                sql: "INSERT INTO _migration (part, last, target, epoch) VALUES (-1, 0, ?, ?)",
                arguments: [target, lease.epoch])
        }
        return sibling
    }

    private func open(_ path: String) throws -> MigrationFile {
        let sibling = try MigrationFile(anyFile: path)
        if let count = options.maximumPageCount {
            try sibling.use { try $0.execute(sql: "PRAGMA max_page_count = \(count)") }
        }
        return sibling
    }

    private var target: String { mapping.old.hash + "\n" + mapping.new.yaml }

    /// Tells whether a file is an unfinished copy of the store as it is, and takes it over.
    private func resume(_ sibling: MigrationFile) throws -> Bool {
        try sibling.transaction { database in
            guard try database.tableExists("_migration"),
                let row = try Row.fetchOne(database, sql: "SELECT target, epoch FROM _migration WHERE part = -1"),
                row[0] == target, let epoch: Int64 = row[1], epoch == lease.epoch - 1
            else { return false }
            try database.execute(sql: "UPDATE _migration SET epoch = ? WHERE part = -1", arguments: [lease.epoch])
            return true
        }
    }

    /// The number in `_migration` that stands for a copy to which nothing is missing.
    private static let donePart = -2

    private func fill(_ sibling: MigrationFile) throws {
        let isDone = try sibling.queue.read { database in
            try Bool.fetchOne(
                database, sql: "SELECT count(*) FROM _migration WHERE part = ?", arguments: [Self.donePart]) ?? false
        }
        if isDone { return }
        let functions = MigrationFunctions()
        let oldSchema = try file.queue.read { try SchemaSnapshot($0) }
        let script = MigrationScript(
            mapping, columns: MigrationColumns(mapping: mapping, expressions: expressions, functions: functions),
            oldSchema: oldSchema, newSchema: try SchemaSnapshot(mapping.new), place: .attached)
        try sibling.use { database in
            functions.install(in: database)
            try database.execute(sql: "ATTACH DATABASE ? AS source", arguments: [file.path])
        }
        for index in script.parts.indices { try copy(index, script, sibling) }
        try sibling.transaction { database in
            let run = MigrationRun(script: script, database: database, willExecute: options.willExecute)
            try copyOwnTables(script, database)
            try run.finish {}
            try run.computeDerived(time: now)
            try database.execute(sql: "INSERT INTO _migration (part, last) VALUES (?, 0)", arguments: [Self.donePart])
            try database.execute(sql: "UPDATE _lease SET expires = 0")
            try run.record(time: now)
            try run.verify()
        }
        try sibling.use { try $0.execute(sql: "DETACH DATABASE source") }
    }

    /// How often the lease is prolonged, in microseconds.
    private static let renewalInterval: Int64 = 60_000_000

    private func copy(_ index: Int, _ script: MigrationScript, _ sibling: MigrationFile) throws {
        var isDone = false
        var renewed = options.now()
        while !isDone {
            if options.now() - renewed > Self.renewalInterval {
                renewed = options.now()
                try file.renew(lease, mapping.old, now: renewed)
            }
            isDone = try sibling.transaction { database in
                let run = MigrationRun(script: script, database: database, willExecute: options.willExecute)
                let part = script.parts[index]
                let last =
                    try Int64.fetchOne(database, sql: "SELECT last FROM _migration WHERE part = ?", arguments: [index])
                    ?? Int64.min
                let end = try Int64.fetchOne(
                    database,
                    sql: """
                        SELECT max(pk) FROM (SELECT s.pk FROM \(part.from) s WHERE \(MigrationChecks.kind(part.old)) \
                        AND s.pk > ? ORDER BY s.pk LIMIT ?)
                        """, arguments: [last, options.copyBatchRows])
                guard let end else { return true }
                try run.execute(run.insertion(part, and: "s.pk > \(last) AND s.pk <= \(end)"))
                options.progress(Int64(database.changesCount))
                try database.execute(
                    sql: """
                        INSERT INTO _migration (part, last) VALUES (?, ?) \
                        ON CONFLICT (part) DO UPDATE SET last = excluded.last
                        """, arguments: [index, end])
                return false
            }
        }
    }

    private func copyOwnTables(_ script: MigrationScript, _ database: Database) throws {
        for object in script.newSchema.objects(of: "table") where object.name.hasPrefix("_") {
            guard script.oldSchema.has("table", object.name) else { continue }
            let names = try database.columns(in: object.name, in: "source").map { SQLText.quoted($0.name) }
                .joined(separator: ", ")
            try database.execute(
                sql: "INSERT INTO main.\(object.name) (\(names)) SELECT \(names) FROM source.\(object.name)")
        }
        // Numbers that were given out stay so, though their rows may be purged.
        try database.execute(sql: "DELETE FROM main.sqlite_sequence")
        try database.execute(sql: "INSERT INTO main.sqlite_sequence SELECT * FROM source.sqlite_sequence")
    }

    // MARK: The end

    /// Puts the new file in the old one's place; the old one stays as the backup.
    private func swap(_ path: String, backup: String) throws {
        try options.willExecute("swap")
        let mode = try file.use { database in
            // The log of the old file may not meet the new one.
            _ = try Row.fetchAll(database, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
            return try String.fetchOne(database, sql: "PRAGMA journal_mode = DELETE")
        }
        guard mode == "delete" else {
            throw StoreError(
                .busy, "Somebody reads the store, so the migrated one cannot take its place",
                remedy: "End the readers and migrate again: the copy is done and is used")
        }
        // Another connection: what this one remembers of the pages may be of before the change of the journal.
        try file.close()
        let last = try MigrationFile(anyFile: file.path)
        defer { try? last.close() }
        do {
            try exchange(path, backup: backup, last)
        } catch {
            try? last.release(lease, mapping.old)
            throw error
        }
    }

    /// Nobody opens the old file, or begins a log for it, between the last look at the lease and the renaming.
    private func exchange(_ path: String, backup: String, _ last: MigrationFile) throws {
        try last.use { database in
            try database.execute(sql: "BEGIN EXCLUSIVE")
            defer { try? database.execute(sql: "ROLLBACK") }
            guard try String.fetchOne(database, sql: "PRAGMA journal_mode") == "delete" else {
                throw StoreError(.busy, "Somebody opened the store", remedy: "End it and migrate again")
            }
            try last.check(lease, mapping.old, database)
            try exchange(path, backup: backup)
        }
    }

    private func exchange(_ path: String, backup: String) throws {
        try? FileManager.default.removeItem(atPath: backup)
        guard link(file.path, backup) == 0 else {
            throw StoreError(
                .unavailable, "Could not keep the old store as \(backup): \(String(cString: strerror(errno)))",
                remedy: "Check that the folder may be written")
        }
        let sibling = try MigrationFile(anyFile: path)
        try sibling.transaction { try $0.execute(sql: "DROP TABLE _migration") }
        try sibling.close()
        try MigrationFile.replace(file.path, with: path)
    }
}
