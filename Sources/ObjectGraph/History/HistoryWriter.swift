/// Writes the history of one save. The first change opens the transaction, so a save without changes leaves no trace.
final class HistoryWriter {
    private let store: WriterConnection
    /// The time of the save, in microseconds since 1970 UTC.
    let time: Int64
    private let author: String
    private let context: String?
    let source: String?
    private let firstChange: Int64
    private(set) var nextChange: Int64
    /// The transaction's token, or nil while there is no change.
    private(set) var token: Int64?

    init(store: WriterConnection, time: Int64, author: String, context: String?, source: String?, nextChange: Int64) {
        self.store = store
        self.time = time
        self.author = author
        self.context = context
        self.source = source
        firstChange = nextChange
        self.nextChange = nextChange
    }

    /// Returns the token, and opens the transaction if necessary.
    func openToken() throws(StoreError) -> Int64 {
        if let token { return token }
        let opened = try store.openHistoryTransaction(
            time: time, author: author, context: context, source: source, firstChange: firstChange)
        token = opened
        return opened
    }

    func append(
        entity: Entity, pk: Int64, identity: Value, kind: ChangeKind, properties: String? = nil,
        tombstone: String? = nil
    ) throws(StoreError) {
        try store.appendChange(
            id: nextChange, token: try openToken(), entity: entity.name, pk: pk, identity: identity, kind: kind,
            properties: properties, tombstone: tombstone)
        nextChange += 1
    }

    /// Appends a range of changes.
    func append(_ range: HistoryRange, entity: Entity) throws(StoreError) {
        try store.appendRange(range, id: nextChange, token: try openToken(), entity: entity.name)
        nextChange += range.count
    }

    /// Counts changes that a statement wrote with ids from `nextChange` on.
    func noteAppended(_ count: Int64) { nextChange += count }

    /// Drops the changes from an id on, after a rollback of their rows.
    func rewind(to change: Int64) {
        nextChange = change
        // The rollback may have removed the transaction's row.
        if change == firstChange { token = nil }
    }

    func close() throws(StoreError) {
        guard let token else { return }
        let count = nextChange - firstChange
        if count == 0 {
            try store.removeHistoryTransaction(token: token)
        } else {
            try store.closeHistoryTransaction(token: token, changeCount: count)
        }
    }

    var hasChanges: Bool { nextChange > firstChange }
}
