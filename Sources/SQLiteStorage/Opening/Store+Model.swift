import Foundation
import GRDB

extension Store {
    /// Tells whether a file is a database of SQLite, by its first bytes.
    package static func isDatabase(path: String) -> Bool {
        guard let file = FileHandle(forReadingAtPath: path) else { return false }
        defer { try? file.close() }
        let header = try? file.read(upToCount: 16)
        return header.map { Array($0) == Array("SQLite format 3\0".utf8) } ?? false
    }

    /// Reads the model that the store in a file has, of whatever model it is; a worker may write it meanwhile.
    ///
    /// - Throws: ``StoreError``: `store.corrupt` where the database is no store, `store.newer_format`.
    package static func storedModel(path: String) throws(StoreError) -> StoredModel {
        do {
            return try MigrationFile(path: path, isReadOnly: true).closing { try $0.storedModel() }
        } catch {
            throw StoreError(sqlite: error, action: "read the model of the store at \(path)")
        }
    }

    /// Returns the process that writes the store in a file of this machine, or nil where none does. Takes no lease.
    ///
    /// - Throws: ``StoreError``; `store.unavailable` where there is no store.
    package static func writer(ofFile path: String) throws -> Int32? {
        do {
            return try MigrationFile(path: path, isReadOnly: true).closing { file in
                try file.queue.read { try LeaseHolder.process($0) }
            }
        } catch {
            throw StoreError.translated(error, action: "read the lease of the store at \(path)")
        }
    }
}

extension LeaseHolder {
    /// The process of this machine that has the store, or nil.
    fileprivate static func process(_ database: Database) throws -> Int32? {
        let row = try Row.fetchOne(database, sql: "SELECT holder, expires FROM _lease WHERE id = 1")
        guard let row, let holder = LeaseHolder(text: row["holder"]), holder.host == LeaseHolder.current().host,
            holder.isAlive(expires: row["expires"], now: Int64(Date().timeIntervalSince1970 * 1_000_000))
        else { return nil }
        return holder.process
    }
}
