/// The writer of a store in memory: it changes a copy of the tables, which a commit hands over to the storage.
final class MemoryWriterSession: WriterSession {
    let model: ObjectModel
    var onProgress: (() -> Void)?
    private let storage: MemoryStorage
    private var tables: MemoryTables
    private var epoch: Int64 = 0
    private(set) var isInTransaction = false

    init(_ storage: MemoryStorage) throws(StoreError) {
        self.storage = storage
        model = storage.model
        tables = try storage.tables()
    }

    func load(
        _ plan: [ReadRequest], in arena: ValueArena, each: (Int, ReadAnswer) -> Void
    ) throws(StoreError) {
        // Without a copy of the open transaction's tables.
        if isInTransaction { return tables.answer(plan, model, in: arena, each: each) }
        try storage.tables().answer(plan, model, in: arena, each: each)
    }

    // MARK: Access

    func access<Result>(_ body: () throws -> Result) throws -> Result { try body() }

    func claim(ttlSeconds: Double, now: Int64) throws(StoreError) -> StoreCounters {
        epoch = try storage.claim(until: now + Int64(ttlSeconds * 1_000_000), now: now)
        claimSeconds = ttlSeconds
        return try counters()
    }

    private var claimSeconds = 0.0
    /// The claims of partitions of a writer that shares the store.
    private var fences: [StorePartition: Int64] = [:]

    var sharesStore: Bool { storage.place.sharesWriters }

    func claimPartitions(_ partitions: [StorePartition]) throws(StoreError) {
        if !sharesStore { return }
        fences.merge(try storage.claimPartitions(partitions)) { _, new in new }
    }

    func holdRole(_ name: String) throws(StoreError) -> Int64? {
        if !sharesStore { return 0 }
        return try storage.holdRole(name, holder: epoch, seconds: claimSeconds)
    }

    func renewClaim(now: Int64) throws(StoreError) {
        storage.renewClaim(epoch, until: now + Int64(claimSeconds * 1_000_000))
    }

    func releaseClaim() throws(StoreError) {
        storage.renewClaim(epoch, until: 0)
        storage.leaveRoles(epoch)
    }

    func close() {}

    // MARK: Transactions

    func begin() throws(StoreError) {
        tables = try storage.begin(epoch)
        isInTransaction = true
    }

    func commit() throws(StoreError) {
        isInTransaction = false
        try storage.commit(tables, of: epoch)
    }

    func rollback() throws(StoreError) {
        if isInTransaction { storage.rollback() }
        isInTransaction = false
    }

    func undoingOnFailure<Result>(_ body: () throws -> Result) throws -> Result {
        let before = tables
        do {
            return try body()
        } catch {
            tables = before
            throw error
        }
    }

    // MARK: Counters

    func counters() throws(StoreError) -> StoreCounters {
        let tables = isInTransaction ? tables : try storage.tables()
        return StoreCounters(
            nextKeys: model.entities.map { entity in
                max(tables.nextKeys[entity.rootIndex], (tables.rows[entity.rootIndex].all.last?.pk ?? 0) + 1)
            }, nextChange: tables.nextChange,
            hasTombstones: tables.tombstones.contains { !$0.isEmpty })
    }

    func write(nextKeys: [(root: Int, key: Int64)]) throws(StoreError) {
        for (root, key) in nextKeys { tables.nextKeys[root] = key }
    }

    // MARK: Writing

    func write(_ changes: RowChanges) throws(StoreError) {
        try tables.write(changes, model)
        onProgress?()
    }

    func write(_ changes: TombstoneChanges) throws(StoreError) { try tables.write(changes) }

    func openHistory(_ header: HistoryHeader) throws(StoreError) -> Int64 { tables.openHistory(header) }

    func append(_ entries: HistoryEntries, token: Int64) throws(StoreError) { tables.append(entries, token: token) }

    func closeHistory(token: Int64, changeCount: Int64) throws(StoreError) {
        tables.closeHistory(token: token, changeCount: changeCount)
    }

    func write(_ ledger: ChunkLedger) throws(StoreError) {
        for position in ledger.positions {
            let partition = StorePartition(topic: position.topic, partition: position.partition)
            guard let fence = fences[partition], !storage.holds(fence, of: partition) else { continue }
            throw StoreError.positionConflict(position)
        }
        try tables.write(ledger)
    }

    func append(_ conflicts: [ConflictNote]) throws(StoreError) {
        for conflict in conflicts {
            tables.lastConflictID += 1
            var conflict = conflict
            conflict.id = tables.lastConflictID
            tables.conflicts.append(conflict)
        }
    }

    func put(_ entry: AuditEntry) throws(StoreError) -> Int64 { tables.put(entry) }

    // MARK: Cursors and clearing

    func putCursor(name: String, token: Int64, time: Int64) throws(StoreError) {
        tables.putCursor(name: name, token: token, time: time)
    }

    func removeCursor(name: String) throws(StoreError) -> Bool { tables.removeCursor(name: name) }

    func putSentDeadLetter(_ id: Int64, topic: String) throws(StoreError) { tables.sentDeadLetters[topic] = id }

    func putNote(_ key: String, _ text: String) throws(StoreError) { tables.notes[key] = text }

    func removeDeadLetters(_ ids: [Int64]) throws(StoreError) {
        let ids = Set(ids)
        tables.deadLetters.removeAll { ids.contains($0.id) }
    }

    func removeConflicts(through id: Int64) throws(StoreError) -> Int {
        let count = tables.conflicts.count
        tables.conflicts.removeAll { $0.id <= id }
        return count - tables.conflicts.count
    }

    func removeHistory(_ purge: HistoryPurge) throws(StoreError) -> PurgeResult { tables.removeHistory(purge) }

    func removeAuditEntries(before time: Int64, limit: Int) throws(StoreError) -> Int {
        tables.removeAuditEntries(before: time, limit: limit)
    }

    func removeTombstones(
        savedBefore time: Int64, from sweep: TombstoneSweep, limit: Int, countsOnly: Bool
    ) throws(StoreError) -> TombstonePurgeResult {
        tables.removeTombstones(savedBefore: time, from: sweep, limit: limit, countsOnly: countsOnly, model)
    }

    // MARK: Sets

    var sets: any SetOperations { RowSetOperations(self, snapshot: MemorySnapshot(tables, model: model)) }
}
