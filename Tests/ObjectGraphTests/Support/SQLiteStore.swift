import ObjectGraph

@testable import GraphCore
@testable import SQLiteStorage

extension Store {
    /// The storage of a store that SQLite keeps.
    func sqlite() throws(StoreError) -> SQLiteStorage {
        if let storage = storage as? SQLiteStorage { return storage }
        throw StoreError(.unavailable, "The store is not kept by SQLite", remedy: "Ask a store that is")
    }
}

extension WriterContext {
    /// Calls `body` with the connection of a store that SQLite keeps, inside a transaction, and commits it.
    func write<Result>(_ action: String, _ body: (SQLiteWriterSession) throws -> Result) throws -> Result {
        try change(action) { session in
            guard let connection = session as? SQLiteWriterSession else { throw StoreError.closed }
            return try body(connection)
        }
    }
}
