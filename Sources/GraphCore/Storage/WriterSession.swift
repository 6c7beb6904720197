/// The one writer of a store: transactions under a lease, look-ups, and what a save writes.
///
/// Used by one thread at a time; ``WriterContext`` sees to that. Every method that writes needs an open transaction. Calls
/// are made for a chunk or for a list, never for a row.
package protocol WriterSession: RowReader {
    /// The model of the store.
    var model: ObjectModel { get }

    /// Called again and again while work in the store proceeds, on the thread that uses the session. It may not call the
    /// session.
    var onProgress: (() -> Void)? { get set }

    // MARK: Access

    /// Calls `body` where the session may be used, such as on the thread of the storage's connection.
    func access<Result>(_ body: () throws -> Result) throws -> Result

    /// Makes the session the only writer, and returns the counters that it continues.
    ///
    /// - Parameters:
    ///   - ttlSeconds: for how long writers on other machines wait before they take the store from a silent holder.
    ///   - now: the time in microseconds since 1970 UTC.
    /// - Throws: ``StoreError`` with code `store.leased` where another writer holds the store.
    func claim(ttlSeconds: Double, now: Int64) throws(StoreError) -> StoreCounters

    /// Prolongs the claim, inside the open transaction.
    func renewClaim(now: Int64) throws(StoreError)

    /// Gives the claim up, inside the open transaction, so that the next writer need not wait.
    func releaseClaim() throws(StoreError)

    /// Frees the resources of the storage that a session holds. The session is not used afterwards.
    func close()

    // MARK: Other writers

    /// Whether other writers write the store between this one's transactions. Then the counters are read in each one.
    var sharesStore: Bool { get }

    /// Whether a chunk may be a draft. Over a network that takes fewer round trips, also where nobody else writes.
    var drafts: Bool { get }

    /// Begins a transaction that holds no other writer up before its commit. The commit fails with `store.conflict` where
    /// another writer has changed the rows that were read. So does every call that needs more than reads and then writes.
    /// Rows that the store refuses show at the commit.
    ///
    /// Its tokens count from ``tokenShift``, which the commit finds.
    ///
    /// - Parameter keyCount: how many objects of a hierarchy it may make.
    func beginDraft(keyCount: Int) throws(StoreError)

    /// The last token before the last commit of a draft.
    var tokenShift: Int64 { get }

    /// Takes partitions over from their former writer, in a transaction of its own. A position that the former writer
    /// saves afterwards fails with `store.position_conflict`.
    func claimPartitions(_ partitions: [StorePartition]) throws(StoreError)

    /// Takes or keeps a role that one of several writers has, inside the open transaction.
    ///
    /// - Returns: a number that changes with each taking of the role, or nil where another writer has it.
    func holdRole(_ name: String) throws(StoreError) -> Int64?

    // MARK: Transactions

    var isInTransaction: Bool { get }

    /// Begins a transaction.
    ///
    /// - Throws: ``StoreError`` with code `store.fenced` where another writer has taken the store. Over a network the first
    ///   question throws it, at the latest the commit.
    func begin() throws(StoreError)

    func commit() throws(StoreError)

    /// Undoes the open transaction, if there is one. Where that fails, no later call works in that transaction: the session
    /// undoes it first, or has no connection.
    func rollback() throws(StoreError)

    /// Calls `body`, and undoes what it wrote where it throws; the transaction stays open. Calls may be nested.
    func undoingOnFailure<Result>(_ body: () throws -> Result) throws -> Result

    // MARK: Counters

    /// Returns the counters as they are stored: at the start, and after work was undone.
    func counters() throws(StoreError) -> StoreCounters

    /// Stores the next primary keys of hierarchies, given by the positions of their roots.
    func write(nextKeys: [(root: Int, key: Int64)]) throws(StoreError)

    // MARK: Writing

    /// Whether all changed rows of a hierarchy are best written as one list, with the slots that any of them changes. Over
    /// a network each list is a statement.
    var joinsUpdates: Bool { get }

    /// Writes rows and links.
    ///
    /// Over a network a later call throws: at the latest ``closeHistory(token:changeCount:)``, the commit, or the end of
    /// ``undoingOnFailure(_:)``.
    ///
    /// - Throws: ``StoreError`` with code `store.constraint` where a row breaks a rule of the schema.
    func write(_ changes: RowChanges) throws(StoreError)

    /// Writes and removes tombstones.
    func write(_ changes: TombstoneChanges) throws(StoreError)

    /// Opens a transaction of the history and returns its token, which is greater than all before.
    func openHistory(_ header: HistoryHeader) throws(StoreError) -> Int64

    /// Appends changes to the open transaction of the history.
    func append(_ entries: HistoryEntries, token: Int64) throws(StoreError)

    /// Ends a transaction of the history; one without changes is removed.
    func closeHistory(token: Int64, changeCount: Int64) throws(StoreError)

    /// Writes the rest of a chunk, beside its events: dead-letter records, the outcome of their retries, and positions.
    ///
    /// - Throws: ``StoreError`` with code `store.position_conflict` where the store holds another position than a new one
    ///   has to follow.
    func write(_ ledger: ChunkLedger) throws(StoreError)

    /// Appends conflicts that merge policies have resolved.
    func append(_ conflicts: [ConflictNote]) throws(StoreError)

    /// Writes a new audit entry, or the result of a saved one, and returns its number.
    func put(_ entry: AuditEntry) throws(StoreError) -> Int64

    // MARK: Cursors and clearing

    /// Stores the token through which a reader of the history has read.
    func putCursor(name: String, token: Int64, time: Int64) throws(StoreError)

    /// Removes a cursor; false where there was none.
    func removeCursor(name: String) throws(StoreError) -> Bool

    /// Stores through which number dead-letter records were sent to a topic.
    func putSentDeadLetter(_ id: Int64, topic: String) throws(StoreError)

    /// Removes dead-letter records.
    func removeDeadLetters(_ ids: [Int64]) throws(StoreError)

    /// Removes the resolved conflicts up to a number, and returns how many.
    func removeConflicts(through id: Int64) throws(StoreError) -> Int

    /// Removes one batch of old history.
    func removeHistory(_ purge: HistoryPurge) throws(StoreError) -> PurgeResult

    /// Removes the oldest audit entries that were made before a time, at most `limit`, and returns how many.
    func removeAuditEntries(before time: Int64, limit: Int) throws(StoreError) -> Int

    /// Examines the next `limit` tombstones of a sweep and removes the ones that were saved before a time.
    ///
    /// - Parameter countsOnly: whether they stay, and are only counted.
    func removeTombstones(
        savedBefore time: Int64, from sweep: TombstoneSweep, limit: Int, countsOnly: Bool
    ) throws(StoreError) -> TombstonePurgeResult

    /// Stores a text under a key beside the tables.
    func putNote(_ key: String, _ text: String) throws(StoreError)

    // MARK: Sets

    /// Reads the value at a slot of all destinations of a relationship, each owner's in the order of their primary keys.
    func values(
        at slot: Int, of relationship: Relationship, owners: [Int64], each: (_ owner: Int64, Value) -> Void
    ) throws(StoreError)

    /// Computes a count or an aggregate of some owners from the rows. Owners without destinations may be absent.
    func aggregates(of node: DerivedNode, owners: [Int64]) throws(StoreError) -> [Int64: Value]

    /// Work on more objects than memory should hold.
    var sets: any SetOperations { get throws(StoreError) }
}

// A session that is the only writer has every role, and nobody to take partitions from.
extension WriterSession {
    package var sharesStore: Bool { false }

    package var drafts: Bool { false }

    package var joinsUpdates: Bool { false }

    package func beginDraft(keyCount: Int) throws(StoreError) { try begin() }

    package var tokenShift: Int64 { 0 }

    package func claimPartitions(_ partitions: [StorePartition]) throws(StoreError) {}

    package func holdRole(_ name: String) throws(StoreError) -> Int64? { 0 }
}

/// A partition of a topic whose position a store keeps.
package struct StorePartition: Hashable, Sendable {
    package let topic: String
    package let partition: Int32

    package init(topic: String, partition: Int32) {
        self.topic = topic
        self.partition = partition
    }
}

/// The counters that the writer continues.
package struct StoreCounters {
    /// The next primary key by the position of each entity; the entities of a hierarchy have the same.
    package var nextKeys: [Int64]
    /// The number of the next change in the history.
    package var nextChange: Int64
    /// Whether the store has tombstones.
    package var hasTombstones: Bool

    package init(nextKeys: [Int64], nextChange: Int64, hasTombstones: Bool) {
        self.nextKeys = nextKeys
        self.nextChange = nextChange
        self.hasTombstones = hasTombstones
    }
}

/// The tombstones that a save leaves and removes.
package struct TombstoneChanges {
    /// Tombstones to write; one that is there is replaced.
    package var written: [(entity: Entity, identity: Value, tombstone: Tombstone)] = []
    /// Tombstones to remove, for objects that are there again.
    package var removed: [(entity: Entity, identity: Value)] = []
    /// The token of the save, or 0 where nothing changed: a deletion of something unknown is no change of the graph.
    package var token: Int64 = 0
    /// The time of the save, in microseconds since 1970 UTC.
    package var time: Int64 = 0
}

/// The records that a chunk saves beside the effect of its events.
package struct ChunkLedger {
    /// New dead-letter records; of one that the store has already, another attempt is counted.
    package var letters: [DeadLetter] = []
    /// Dead-letter records that were tried again and failed.
    package var failedAttempts: [FailedAttempt] = []
    /// The numbers of dead-letter records that are done with.
    package var removedLetters: [Int64] = []
    package var positions: [SourcePosition] = []
}

/// Why a dead-letter record was refused again.
package struct FailedAttempt {
    /// The record's number.
    package let id: Int64
    package let stage: String
    package let code: String
    package let reason: String
}
