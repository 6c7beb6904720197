import GRDBSQLite

/// A connection of its own that reads a store's file. Each statement sees the last commit.
final class ReaderConnection: RowReader {
    /// The bulk primitives over the connection, of which only the reading ones serve here.
    private let tables: SQLiteWriterSession
    private let handle: OpaquePointer

    init(path: String, model: ObjectModel) throws(StoreError) {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let opened else {
            sqlite3_close_v2(opened)
            throw StoreError(resultCode: code, action: "open the store at \(path)")
        }
        handle = opened
        tables = SQLiteWriterSession(opened, model: model)
        sqlite3_busy_timeout(opened, 5000)
        try tables.runOnce("PRAGMA query_only = 1")
        try tables.runOnce("PRAGMA cache_size = -2000")
    }

    func load(
        _ plan: [ReadRequest], in arena: ValueArena, each: (Int, ReadAnswer) -> Void
    ) throws(StoreError) {
        try tables.load(plan, in: arena, each: each)
    }

    deinit {
        tables.releaseStatements()
        sqlite3_close_v2(handle)
    }
}
