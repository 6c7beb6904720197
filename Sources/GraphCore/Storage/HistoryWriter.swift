/// Writes the history of one save. The first change opens the transaction, so a save without changes leaves no trace.
///
/// Changes gather in columns and are handed to the storage together.
package final class HistoryWriter {
    /// The number of changes that are handed over at once.
    private static let maximumCount = HistoryRange.maximumCount

    private let session: any WriterSession
    private let header: HistoryHeader
    private var entries: HistoryEntries
    package private(set) var nextChange: Int64
    private var openedToken: Int64?
    /// The updates that a save in pages gathers.
    var gatheredUpdates: GatheredUpdates?

    package init(
        _ session: any WriterSession, time: Int64, author: String, context: String?, source: String?,
        trace: String? = nil, nextChange: Int64
    ) {
        self.session = session
        header = HistoryHeader(
            time: time, author: author, context: context, source: source, trace: trace, firstChange: nextChange)
        self.nextChange = nextChange
        entries = HistoryEntries(firstChange: nextChange)
    }

    /// The time of the save, in microseconds since 1970 UTC.
    package var time: Int64 { header.time }
    package var source: String? { header.source }
    var hasChanges: Bool { nextChange > header.firstChange }

    /// Returns the transaction's token, and opens the transaction if necessary. All changes so far are then stored.
    package func openToken() throws(StoreError) -> Int64 {
        let token: Int64
        if let openedToken {
            token = openedToken
        } else {
            token = try session.openHistory(header)
            openedToken = token
        }
        if entries.count > 0 {
            try session.append(entries, token: token)
            entries = HistoryEntries(firstChange: nextChange)
        }
        return token
    }

    /// Stores the changes so far.
    ///
    /// - Returns: their token, or nil where nothing has changed.
    @discardableResult
    package func flush() throws(StoreError) -> Int64? { hasChanges ? try openToken() : nil }

    package func append(
        _ object: ChangedObject, kind: ChangeKind, properties: String? = nil, preservedValues: String? = nil
    ) throws(StoreError) {
        if kind == .update, let gatheredUpdates {
            return gatheredUpdates.note(object, properties: properties ?? "")
        }
        entries.append(object, kind, properties: properties, preservedValues: preservedValues)
        nextChange += 1
        if entries.count >= Self.maximumCount { _ = try openToken() }
    }

    /// Counts changes that a storage has written by itself, with the numbers from `nextChange` on.
    package func noteAppended(_ count: Int64) {
        nextChange += count
        entries = HistoryEntries(firstChange: nextChange)
    }

    /// Calls `body`, and undoes what it wrote where it throws, its changes included. Those before it stay.
    package func undoingOnFailure<Result>(_ body: () throws -> Result) throws -> Result {
        try flush()
        let (change, token) = (nextChange, openedToken)
        do {
            return try session.undoingOnFailure(body)
        } catch {
            rewind(to: change)
            openedToken = token
            throw error
        }
    }

    /// Drops the changes from a number on, after their rows were undone.
    private func rewind(to change: Int64) {
        nextChange = change
        entries.removeAll(from: change)
        if entries.count == 0 { entries = HistoryEntries(firstChange: change) }
    }

    /// Stores the remaining changes and ends the transaction.
    ///
    /// - Returns: the transaction's token, or nil where nothing has changed.
    package func close() throws(StoreError) -> Int64? {
        let token = try flush()
        if let openedToken {
            try session.closeHistory(token: openedToken, changeCount: nextChange - header.firstChange)
        }
        return token
    }
}
