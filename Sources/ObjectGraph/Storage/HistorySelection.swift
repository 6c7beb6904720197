/// The changes of the history that a storage has to find: a ``HistoryRequest`` whose names and token were checked.
///
/// Every stated condition has to hold.
struct HistorySelection: Sendable {
    /// The token of the transaction before the first one.
    var after: Int64?
    /// The earliest time of a transaction, inclusive, in microseconds since 1970 UTC.
    var since: Int64?
    /// The end of the times of transactions, exclusive, in microseconds since 1970 UTC.
    var before: Int64?
    /// The author of the transactions.
    var author: String?
    /// The name of the context that saved.
    var context: String?
    /// The ids of the changes; a range with more ids than these is selected too.
    var ids: Range<Int64> = 0..<Int64.max
    /// The kinds of changes, or nil for all.
    var kinds: Set<ChangeKind>?
    /// The names of the changed objects' entities; empty for all.
    var entities: [String] = []
    /// The primary keys of the changed objects, or nil for all.
    var keys: [Int64]?

    /// Tells whether there is a condition on transactions.
    var selectsTransactions: Bool {
        after != nil || since != nil || before != nil || author != nil || context != nil
    }

    /// Tells whether there is a condition on changes other than their ids.
    var selectsChanges: Bool { kinds != nil || !entities.isEmpty || keys != nil }
}

/// A transaction of the history as a storage holds it.
struct StoredTransaction: Sendable {
    let token: Int64
    /// The time of the save, in microseconds since 1970 UTC.
    let time: Int64
    let author: String
    let context: String?
    let source: String?
    /// The id of the first change; the others follow without a gap.
    let firstChange: Int64
    let changeCount: Int
}

/// A change that has a row of its own.
struct StoredChange: Sendable {
    /// The place in the whole history; ids grow, and no two changes share one.
    let id: Int64
    let change: HistoryChange
}

/// Changes that share one row. The first has the range's id, and each next one has the next id.
struct StoredRange: Sendable {
    let id: Int64
    let token: Int64
    /// The name of the entity, which the model may have no more.
    let entity: String
    let range: HistoryRange
}

/// The progress of a reader of the history as a storage holds it.
struct StoredCursor: Sendable {
    let name: String
    /// The last transaction that the reader has finished.
    let token: Int64
    /// The time of the cursor's last save, in microseconds since 1970 UTC.
    let time: Int64
}
