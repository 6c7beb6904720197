/// A snapshot that lends the rows of its tables as they are, for a copy into another storage.
///
/// All storages give their tables and columns the same names.
package protocol CopySource: SnapshotSession {
    /// Calls `each` with the values of some columns of every row; one row is in memory at a time.
    ///
    /// - Throws: ``StoreError``, and what `each` throws.
    func rows(of table: String, _ columns: [String], each: ([Value]) throws -> Void) throws

    /// Returns the last number that was given out for the rows of a table, whether the row is still there or not.
    func lastNumber(of table: String) throws -> Int64
}
