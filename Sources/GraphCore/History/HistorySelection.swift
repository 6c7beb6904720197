/// The changes of the history that a storage has to find: a ``HistoryRequest`` whose names and token were checked.
///
/// Every stated condition has to hold.
package struct HistorySelection: Sendable {
    /// The token of the transaction before the first one.
    package var after: Int64?
    /// The earliest time of a transaction, inclusive, in microseconds since 1970 UTC.
    package var since: Int64?
    /// The end of the times of transactions, exclusive, in microseconds since 1970 UTC.
    package var before: Int64?
    /// The author of the transactions.
    package var author: String?
    /// The name of the context that saved.
    package var context: String?
    /// The ids of the changes; a range with more ids than these is selected too.
    package var ids: Range<Int64> = 0..<Int64.max
    /// The kinds of changes, or nil for all.
    package var kinds: Set<ChangeKind>?
    /// The names of the changed objects' entities; empty for all.
    package var entities: [String] = []
    /// The primary keys of the changed objects, or nil for all.
    package var keys: [Int64]?

    /// Tells whether there is a condition on transactions.
    package var selectsTransactions: Bool {
        after != nil || since != nil || before != nil || author != nil || context != nil
    }

    /// Tells whether there is a condition on changes other than their ids.
    package var selectsChanges: Bool { kinds != nil || !entities.isEmpty || keys != nil }
}

extension HistorySelection {
    /// Selects the transactions after a token, with all their changes.
    package init(after token: Int64) { self.init(after: token, ids: 0..<Int64.max) }
}

/// A transaction of the history as a storage holds it.
package struct StoredTransaction: Sendable {
    package let token: Int64
    /// The time of the save, in microseconds since 1970 UTC.
    package let time: Int64
    package let author: String
    package let context: String?
    package let source: String?
    /// The trace context of the first event's record, or nil.
    package let trace: String?
    /// The id of the first change; the others follow without a gap.
    package let firstChange: Int64
    package let changeCount: Int

    package init(
        token: Int64, time: Int64, author: String, context: String?, source: String?, trace: String? = nil,
        firstChange: Int64, changeCount: Int
    ) {
        self.token = token
        self.time = time
        self.author = author
        self.context = context
        self.source = source
        self.trace = trace
        self.firstChange = firstChange
        self.changeCount = changeCount
    }
}

/// A change that has a row of its own.
package struct StoredChange: Sendable {
    /// The place in the whole history; ids grow, and no two changes share one.
    package let id: Int64
    package let change: HistoryChange

    package init(id: Int64, change: HistoryChange) {
        self.id = id
        self.change = change
    }
}

/// Changes that share one row. The first has the range's id, and each next one has the next id.
package struct StoredRange: Sendable {
    package let id: Int64
    package let token: Int64
    /// The name of the entity, which the model may have no more.
    package let entity: String
    package let range: HistoryRange

    package init(id: Int64, token: Int64, entity: String, range: HistoryRange) {
        self.id = id
        self.token = token
        self.entity = entity
        self.range = range
    }
}

/// The progress of a reader of the history as a storage holds it.
package struct StoredCursor: Sendable {
    package let name: String
    /// The last transaction that the reader has finished.
    package let token: Int64
    /// The time of the cursor's last save, in microseconds since 1970 UTC.
    package let time: Int64

    package init(name: String, token: Int64, time: Int64) {
        self.name = name
        self.token = token
        self.time = time
    }
}
