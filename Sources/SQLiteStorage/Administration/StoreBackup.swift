import Foundation
import GRDB

/// Writes a backup of a store into a new file, which has its name only when it is whole and on the disk.
package struct StoreBackup {
    /// The file that the backup becomes.
    package let path: String

    /// Where the backup is made.
    private var partial: String { path + Self.suffix }

    private static let suffix = ".partial"

    package init(path: String) { self.path = path }

    /// Makes the backup.
    ///
    /// - Parameters:
    ///   - copy: makes a store at the path that it is given.
    ///   - check: looks at the store at that path before it gets its name.
    /// - Throws: ``StoreError``, and leaves no file: `store.unavailable` where there is a file already, or none can be
    ///   made. `store.leased` while another process makes a backup of that name.
    package func make(copy: (String) throws -> Void, check: (String) throws -> Void) throws {
        let lock = try FileLock(path + ".lock", action: "writes the backup \(path)")
        defer { lock.release() }
        if FileManager.default.fileExists(atPath: path) {
            throw StoreError(
                .unavailable, "There is a file at \(path) already", remedy: "Name another path, or remove the file")
        }
        removePartial()
        do {
            try copy(partial)
            try giveUpLease()
            try check(partial)
            try DurableFile.replace(path, with: partial)
        } catch {
            removePartial()
            throw StoreError(sqlite: error, action: "write the backup \(path)")
        }
    }

    /// Copies the store of a file as of one commit, while others write it.
    ///
    /// - Throws: ``StoreError``; `store.unavailable` where there is no store.
    package static func copyFile(_ source: String, to copy: String) throws {
        try MigrationFile(path: source, isReadOnly: true).closing { file in
            _ = try file.storedModel()
            try file.copy(to: copy)
        }
    }

    /// The remedy where a backup cannot be the store.
    package static let damageRemedy = "Name another backup, or build the store again with 'run --rebuild'"

    /// Checks that a file can be restored as the store of a model, and tells whether its layout is the present one.
    ///
    /// - Throws: ``StoreError``: `store.unavailable`, `store.corrupt`, `store.model_mismatch`, `store.newer_format`.
    package static func check(_ path: String, model: ObjectModel) throws(StoreError) -> Bool {
        guard try Store.exists(path: path) else {
            throw StoreError(.unavailable, "There is no backup at \(path)", remedy: "Name the file of a backup")
        }
        do {
            return try MigrationFile(path: path, isReadOnly: true).closing { file in
                _ = try file.storedModel().check(model, path: path, otherStore: "another backup")
                return try file.formatVersion() == Schema.formatVersion
            }
        } catch {
            let error = StoreError(sqlite: error, action: "read the backup \(path)")
            if error.code != .corrupt { throw error }
            throw StoreError(.corrupt, error.message, remedy: damageRemedy)
        }
    }

    /// Removes the halves that killed backups have left in a folder. Files that a process still writes stay.
    ///
    /// - Parameter prefix: how the names of the backups begin; the folder may have other files that end as halves do.
    package static func removeLeftovers(in folder: String, prefix: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let backups = names.filter { $0.hasPrefix(prefix) }.compactMap { name in
            [suffix, suffix + MigrationFile.copySuffix].first(where: name.hasSuffix).map { name.dropLast($0.count) }
        }
        for name in Set(backups) {
            let backup = StoreBackup(path: "\(folder)/\(name)")
            guard let lock = try? FileLock(backup.path + ".lock", action: "writes the backup \(backup.path)") else {
                continue
            }
            backup.removePartial()
            lock.release()
        }
    }

    /// The writer of the store has no right to the copy.
    private func giveUpLease() throws {
        try MigrationFile(anyFile: partial).closing { file in try file.transaction { try Lease.expire(in: $0) } }
    }

    private func removePartial() {
        for path in [partial, partial + MigrationFile.copySuffix] { DurableFile.removeDatabase(path) }
    }
}
