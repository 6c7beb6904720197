/// The whole content of a store in memory: a value, so a copy is a snapshot.
///
/// Rows are in the order of their keys. A writer changes its own copy, and hands the next value over at a commit.
struct MemoryTables: Sendable {
    /// The store's own identity.
    var storeID = ""
    /// The rows of each hierarchy, by the position of its root entity; other positions stay empty.
    var rows: [MemoryRows]
    /// The links of each join table with the places of their ends, by the table's position.
    var links: [[Pair: PairPlaces]]
    /// The next primary key of each hierarchy, by the position of its root entity.
    var nextKeys: [Int64]

    /// The token of the last transaction whose changes were purged, or 0.
    var purgedToken: Int64 = 0
    /// The number of the first change that no purge has removed. Changes before it may still wait for a batch.
    var firstKeptChange: Int64 = 1
    /// The last token that was given out.
    var lastToken: Int64 = 0
    /// The number of the next change.
    var nextChange: Int64 = 1
    /// The history by token.
    var transactions = MemoryLog<StoredTransaction>()
    /// The changes with a row of their own, by id.
    var changes = MemoryLog<StoredChange>()
    /// The changes that share a row, by id.
    var ranges: [StoredRange] = []
    /// The readers of the history by name.
    var cursors: [StoredCursor] = []

    /// The tombstones of deleted objects, by the position of the root entity and by identity.
    var tombstones: [[Value: MemoryTombstone]]
    /// The positions of sources by topic and partition.
    var positions: [SourcePosition] = []
    /// The dead letters by number.
    var deadLetters = MemoryLog<DeadLetter>()
    /// The number of the last dead letter that was given one.
    var lastDeadLetterID: Int64 = 0
    /// The number of the last dead letter that was sent to a topic, by topic.
    var sentDeadLetters: [String: Int64] = [:]
    /// Texts beside the tables, by key.
    var notes: [String: String] = [:]
    /// The resolved conflicts by number.
    var conflicts: [ConflictNote] = []
    /// The number of the last conflict that was given one.
    var lastConflictID: Int64 = 0
    /// The audit entries by number.
    var auditEntries: [AuditEntry] = []

    /// Makes the tables of a store without content.
    init(_ model: ObjectModel) {
        rows = Array(repeating: MemoryRows(), count: model.entities.count)
        tombstones = Array(repeating: [:], count: model.entities.count)
        nextKeys = Array(repeating: 1, count: model.entities.count)
        links = Array(repeating: [:], count: model.joinTables.count)
    }
}

extension MemoryTables {
    /// Returns the transactions after a token; all without one.
    func transactions(after token: Int64?) -> Slice<MemoryLog<StoredTransaction>> {
        guard let token else { return transactions[...] }
        return transactions[transactions.partitioningIndex { $0.token > token }...]
    }

    /// Returns the changes with a row of their own whose ids are in a range.
    func changes(_ ids: Range<Int64>) -> Slice<MemoryLog<StoredChange>> {
        let start = changes.partitioningIndex { $0.id >= ids.lowerBound }
        return changes[start..<changes.partitioningIndex { $0.id >= ids.upperBound }]
    }

    /// Returns the dead letters after a number.
    func deadLetters(after id: Int64) -> Slice<MemoryLog<DeadLetter>> {
        deadLetters[deadLetters.partitioningIndex { $0.id > id }...]
    }
}

extension RandomAccessCollection where Index == Int {
    /// The first position whose element belongs to the second part, the list being parted already.
    func partitioningIndex(_ belongsToSecond: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if belongsToSecond(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

/// A tombstone with the time of the save that wrote it, in microseconds since 1970 UTC.
struct MemoryTombstone: Sendable {
    let tombstone: Tombstone
    let saved: Int64
}
