/// Decides which transactions one batch of a purge removes.
///
/// It takes the cursors, then the oldest transactions in the order of their tokens.
package struct PurgeDecision {
    /// The last transaction that goes.
    package struct Last {
        package let token: Int64
        /// The number of the first change that stays.
        package let nextChange: Int64
    }

    /// The last token that the bound and the cursors let go.
    package let allowed: Int64
    /// The last transaction that goes, or nil while none does.
    package private(set) var last: Last?
    private let changeLimit: Int
    private var holding: [String: Int64] = [:]
    private var passed: [String: Int64] = [:]
    private var (count, changeCount) = (0, 0)

    /// - Parameters:
    ///   - wanted: the last token before the bound.
    ///   - cursors: all cursors of the history's readers.
    package init(_ purge: HistoryPurge, through wanted: Int64, _ cursors: [StoredCursor]) {
        changeLimit = purge.changeLimit
        var allowed = wanted
        for cursor in cursors where cursor.token < wanted {
            if let limit = purge.passesCursorsSavedBefore, cursor.time < limit {
                passed[cursor.name] = cursor.token
            } else {
                holding[cursor.name] = cursor.token
                allowed = min(allowed, cursor.token)
            }
        }
        self.allowed = allowed
    }

    /// Adds the next transaction to the batch; returns false where it stays for a later batch. The first one always
    /// goes.
    package mutating func take(token: Int64, nextChange: Int64, changeCount added: Int) -> Bool {
        changeCount += added
        if last != nil, changeCount > changeLimit { return false }
        last = Last(token: token, nextChange: nextChange)
        count += 1
        return true
    }

    /// Says in a result what goes, and which cursors hold and are passed.
    package func describe(in result: inout PurgeResult) {
        result.holdingCursors = holding
        guard let last else { return }
        result.passedCursors = passed.filter { $0.value < last.token }
        result.transactionCount = count
        result.isFinished = last.token >= allowed
    }
}
