/// A storage at one moment: all answers of a session are of one commit.
///
/// ``ReadContext`` asks a session, one call for each request. The graph decides before it asks: it checks requests
/// against the model, resolves names, and gives every request its time. It decides afterwards too: it cuts pages, groups
/// changes into transactions, and puts the history's ranges into single changes. A storage only finds and orders rows.
///
/// A session belongs to one thread, and is valid while the call that lends it runs. Calls may be nested: `each` may ask
/// the same session again.
///
/// - ``FetchPosition/precedes(_:in:)`` states a request's order, so every storage returns the same page.
/// - Times are in microseconds since 1970 UTC, values in stored form, and no limit is negative.
/// - A call throws ``StoreError`` where the storage fails, and passes on unchanged what `each` throws. It throws
///   ``FetchPredicateError`` with code `predicate.too_complex`, or ``StoreError`` with code `store.too_complex`, where a
///   correct request is more than the storage can carry out.
package protocol SnapshotSession {
    /// Returns the identity of the store, which its creation fixed.
    func storeID() throws -> String

    // MARK: Objects

    /// Returns the objects of a request in their order. The request's cursor, limit and offset hold.
    func objects(_ request: CheckedFetchRequest) throws -> [FetchedObject]

    /// Calls `each` with the same objects in the same order, until it returns false. One is in memory at a time.
    ///
    /// - Parameter withOrder: whether the values that an object is sorted by come with it; otherwise the list is empty.
    func objects(
        _ request: CheckedFetchRequest, withOrder: Bool, each: (FetchedObject, [Value]) throws -> Bool) throws

    /// Returns an iterator of the same objects in batches of `size`. The graph closes it before the session ends.
    func batches(_ request: CheckedFetchRequest, size: Int) throws -> any ObjectBatches

    /// Returns the rows of a request, whose properties have single values. Limit and offset hold, a cursor has no effect.
    func rows(_ request: CheckedFetchRequest) throws -> [FetchedRow]

    /// Returns the number of objects or rows of a request, without regard to limit, offset and cursor.
    func count(_ request: CheckedFetchRequest) throws -> Int

    /// Returns the number of objects of an entity and its sub-entities, and the number of placeholders among them.
    func count(_ entity: Entity) throws -> (objects: Int, placeholders: Int)

    /// Returns the rows of primary keys in any order; missing keys have none.
    func storedRows(_ entity: Entity, primaryKeys: [Int64]) throws -> [StoredRow]

    /// Returns the rows that a to-many relationship of several objects leads to, each with its owner's primary key.
    ///
    /// The rows of one owner are in the order of the relationship, or else by primary key.
    func destinations(
        _ relationship: Relationship, of owners: [Int64]
    ) throws -> [(owner: Int64, row: StoredRow)]

    // MARK: History

    /// Returns the token of the last transaction that the history holds, or nil if it holds none.
    func lastToken() throws -> Int64?

    /// Returns the token of the last transaction whose changes a purge removed, or 0.
    func purgedToken() throws -> Int64

    /// Returns the epochs of the history.
    func historyEpochs() throws -> HistoryEpochs

    /// Returns the transactions that have a selected change in the order of their tokens, at most `limit`.
    func transactions(_ selection: HistorySelection, limit: Int) throws -> [StoredTransaction]

    /// Returns the selected changes that have a row of their own in the order of their ids, at most `limit`.
    func changes(_ selection: HistorySelection, limit: Int) throws -> [StoredChange]

    /// Calls `each` with the ranges that may have a selected change in the order of their ids, until it returns false.
    func ranges(_ selection: HistorySelection, each: (StoredRange) throws -> Bool) throws

    /// Returns the number of selected changes that have a row of their own.
    func changeCount(_ selection: HistorySelection) throws -> Int

    /// Returns the number of changes in all ranges of a selection that names no object.
    func rangeChangeCount(_ selection: HistorySelection) throws -> Int

    /// Returns the primary keys of an identity's object, and of deleted objects that had this identity.
    func primaryKeys(_ entity: Entity, identity: Value) throws -> [Int64]

    /// Returns the identities of a range's present objects by primary key.
    func identities(_ entity: Entity, in range: HistoryRange) throws -> [Int64: Value]

    /// Returns the identities of a range's deleted objects by primary key. Each was deleted as an object of one of the
    /// entities, by a change whose number is greater than `id`.
    func deletedIdentities(_ entities: [String], in range: HistoryRange, after id: Int64) throws -> [Int64: Value]

    /// Returns the cursors of the history's readers in the order of their names.
    func cursors() throws -> [StoredCursor]

    /// Returns the number of transactions after a token, and the time of the first of them.
    func unread(after token: Int64) throws -> (count: Int64, oldestTime: Int64?)

    // MARK: Tombstones

    /// Calls `each` with the entity's name, the identity and the tombstone of all deleted objects by entity and identity.
    func tombstones(each: (String, Value, Tombstone) throws -> Void) throws

    // MARK: Sources, dead letters, conflicts

    /// Returns the positions of all sources by topic and partition.
    func positions() throws -> [SourcePosition]

    /// Returns the number of selected dead letters whose number is greater than `id`.
    func deadLetterCount(_ selection: DeadLetterSelection, after id: Int64) throws -> Int

    /// Returns the number of the last dead letter, or 0.
    func lastDeadLetterID() throws -> Int64

    /// Returns the selected dead letters after `id` in the order of their numbers, at most `limit`.
    ///
    /// - Parameter valueLimit: the bytes of each value at most, without keys and headers; nil for whole letters.
    func deadLetters(
        _ selection: DeadLetterSelection, after id: Int64, limit: Int, valueLimit: Int?
    ) throws -> [DeadLetter]

    /// Returns the sizes of the records of the dead letters after `id` in the order of their numbers, at most `limit`.
    func deadLetterSizes(after id: Int64, limit: Int) throws -> [DeadLetterSize]

    /// Returns the sizes of the selected records by topic, partition, offset and number.
    func deadLetterSizesByPlace(_ selection: DeadLetterSelection) throws -> [DeadLetterSize]

    /// Calls `each` with the number and times of the selected dead letters that share code, topic and reason.
    func deadLetterReasons(_ selection: DeadLetterSelection, each: (DeadLetterReason) throws -> Void) throws

    /// Returns the number of the last dead letter that was sent to a topic, or 0.
    func sentDeadLetter(topic: String) throws -> Int64

    /// Returns the resolved conflicts after `id` in the order of their numbers, at most `limit`.
    func conflicts(after id: Int64, limit: Int) throws -> [ConflictNote]

    /// Returns the audit entries whose number is less than `id`, the last first, at most `limit`; only entries of
    /// `key`, if one is given.
    func auditEntries(before id: Int64, key: String?, limit: Int) throws -> [AuditEntry]

    /// Returns the number of audit entries that were made before a time.
    func auditCount(before time: Int64) throws -> Int

    // MARK: Notes

    /// Returns the text that is stored under a key beside the tables, or nil.
    func note(_ key: String) throws -> String?
}

extension SnapshotSession {
    /// The history of a storage that no other server takes over has one epoch.
    package func historyEpochs() throws -> HistoryEpochs { HistoryEpochs() }

    package func identities(_ entity: Entity, in range: HistoryRange) throws -> [Int64: Value] {
        let found = try storedRows(entity, primaryKeys: range.keys).filter { $0.entity.isKind(of: entity) }
        return Dictionary(found.map { ($0.pk, $0.values[$0.entity.identitySlot]) }) { first, _ in first }
    }
}

/// The objects of a request in batches.
package protocol ObjectBatches: AnyObject {
    /// Returns the next batch, which has as many objects as its size except for the last; nil at the end.
    func next() throws -> [FetchedObject]?

    /// Ends the iteration; each further batch is nil.
    func close()
}
