/// A snapshot that lends the rows of its tables as they are, for a copy into another storage.
package protocol CopySource: SnapshotSession {
    /// Calls `each` with the values of every row of a table, in the order of its columns. Few rows are in memory at a time.
    ///
    /// - Throws: ``StoreError``, and what `each` throws.
    func rows(of table: StoreTable, each: ([Value]) throws -> Void) throws

    /// Returns the number of a table's rows.
    ///
    /// - Throws: ``StoreError``.
    func rowCount(of table: StoreTable) throws -> Int

    /// Returns the last number that was given out for the rows of a table, whether the row is still there or not.
    func lastNumber(of table: String) throws -> Int64
}

extension ReadContext {
    /// Returns the snapshot as the source of a copy.
    ///
    /// - Throws: ``StoreError`` with code `store.unavailable` where the storage lends no rows.
    package func copySource() throws(StoreError) -> any CopySource {
        if let source = session as? any CopySource { return source }
        throw StoreError(
            .unavailable, "The store cannot be copied", remedy: "Copy a store in a file or in PostgreSQL")
    }

    /// Returns the number of the store's rows that a copy gets: objects, links, history and dead letters.
    ///
    /// - Throws: ``StoreError``.
    package func rowCountForCopy() throws -> Int {
        guard let source = session as? any CopySource else { return 0 }
        return try StoreTable.all(model).reduce(0) { try $0 + source.rowCount(of: $1) }
    }
}
