import Foundation
import GRDB

// The end of a migration by copies.
extension MigrationChain {
    /// Puts the new file in the old one's place; the old one stays as the backup.
    func swap(_ path: String, backup: String) throws {
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
        // Another connection: this one may remember pages from before the change of the journal.
        try file.close()
        let last = try MigrationFile(anyFile: file.path)
        defer { try? last.close() }
        do {
            try exchange(path, backup: backup, last)
        } catch {
            try? last.release(lease, task.source)
            throw error
        }
        // Only now, for without it a run that is killed before would have to begin again.
        try? MigrationFile(anyFile: file.path).closing { store in try store.transaction { try Self.clean($0) } }
    }

    /// Nobody opens the old file, or begins a log for it, between the last look at the lease and the renaming.
    private func exchange(_ path: String, backup: String, _ last: MigrationFile) throws {
        try last.use { database in
            try database.execute(sql: "BEGIN EXCLUSIVE")
            defer { try? database.execute(sql: "ROLLBACK") }
            guard try String.fetchOne(database, sql: "PRAGMA journal_mode") == "delete" else {
                throw StoreError(.busy, "Somebody opened the store", remedy: "End it and migrate again")
            }
            try last.check(lease, task.source, database)
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
        // The copy may be of an earlier run: the former holder of the lease has to be fenced in the new store.
        try MigrationFile(anyFile: path).closing { copy in
            try copy.transaction { database in
                try database.execute(sql: "UPDATE _lease SET epoch = ?, expires = 0", arguments: [lease.epoch])
            }
        }
        try options.willExecute("rename")
        try DurableFile.replace(file.path, with: path)
        try options.willExecute("clean")
    }
}
