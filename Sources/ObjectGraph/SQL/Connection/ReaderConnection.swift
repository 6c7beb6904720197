import GRDBSQLite

/// A connection of its own that reads a store's file: what an editing context fires its faults through.
///
/// Each statement sees the last commit. Used by one thread at a time.
final class ReaderConnection: RowReader {
    private let tables: WriterConnection
    private let handle: OpaquePointer

    init(_ store: Store) throws(StoreError) {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(store.path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let opened else {
            sqlite3_close_v2(opened)
            throw StoreError(resultCode: code, action: "open the store at \(store.path)")
        }
        handle = opened
        tables = WriterConnection(opened, model: store.model)
        sqlite3_busy_timeout(opened, 5000)
        try tables.runOnce("PRAGMA query_only = 1")
        try tables.runOnce("PRAGMA cache_size = -2000")
    }

    func load(_ plan: [ReadRequest], each: (Int, ReadAnswer) -> Void) throws(StoreError) {
        try tables.load(plan, each: each)
    }

    deinit {
        tables.releaseStatements()
        sqlite3_close_v2(handle)
    }
}

extension Store {
    /// Makes a reader of which each call sees the last commit; used by one thread at a time.
    ///
    /// - Throws: ``StoreError`` where the store cannot be read.
    func makeRowReader() throws(StoreError) -> any RowReader { try ReaderConnection(self) }
}

extension ReadContext {
    /// Returns a reader of the context's moment.
    func rowReader() throws(StoreError) -> any RowReader { WriterConnection(try connection(), model: model) }
}
