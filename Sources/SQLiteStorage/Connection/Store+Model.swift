import Foundation

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
}
