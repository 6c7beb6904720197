/// The whole content of a store in memory: a value, so a copy is a snapshot.
///
/// Rows are in the order of their keys. A writer changes its own copy, and hands the next value over at a commit.
struct MemoryTables: Sendable {
    /// The store's own identity.
    var storeID = ""
    /// The rows of each hierarchy, by the position of its root entity; other positions stay empty.
    var rows: [MemoryRows]
    /// The links of each join table, by the table's position.
    var links: [[MemoryLink]]

    /// The token of the last transaction whose changes were purged, or 0.
    var purgedToken: Int64 = 0
    /// The history by token.
    var transactions: [StoredTransaction] = []
    /// The changes with a row of their own, by id.
    var changes: [StoredChange] = []
    /// The changes that share a row, by id.
    var ranges: [StoredRange] = []
    /// The readers of the history by name.
    var cursors: [StoredCursor] = []

    /// The tombstones of deleted objects, by the position of the root entity and by identity.
    var tombstones: [[Value: Tombstone]]
    /// The positions of sources by topic and partition.
    var positions: [SourcePosition] = []
    /// The dead letters by number.
    var deadLetters: [DeadLetter] = []
    /// The number of the last dead letter that was sent to a topic, by topic.
    var sentDeadLetters: [String: Int64] = [:]
    /// The resolved conflicts by number.
    var conflicts: [ConflictNote] = []

    /// Makes the tables of a store without content.
    init(_ model: ObjectModel) {
        rows = Array(repeating: MemoryRows(), count: model.entities.count)
        tombstones = Array(repeating: [:], count: model.entities.count)
        links = Array(repeating: [], count: model.joinTables.count)
    }
}

/// The rows of a hierarchy of entities, by primary key.
struct MemoryRows: Sendable {
    private(set) var all: [StoredRow] = []

    /// Returns the row of a primary key, or nil.
    subscript(pk: Int64) -> StoredRow? {
        let position = position(pk)
        return position < all.count && all[position].pk == pk ? all[position] : nil
    }

    /// Puts a row in its place; new keys mostly come last.
    mutating func put(_ row: StoredRow) {
        let position = position(row.pk)
        if position < all.count, all[position].pk == row.pk {
            all[position] = row
        } else {
            all.insert(row, at: position)
        }
    }

    /// The position of the first row whose key is not below `pk`.
    private func position(_ pk: Int64) -> Int {
        if let last = all.last, last.pk < pk { return all.count }
        var (low, high) = (0, all.count)
        while low < high {
            let middle = (low + high) / 2
            if all[middle].pk < pk { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// A link of a join table with its places in the lists of its ends.
struct MemoryLink: Sendable {
    let pair: Pair
    var places = PairPlaces()
}
