import GRDBSQLite

extension WriterConnection: WriterSession {
    var sets: any SetOperations { self }

    func access<Result>(_ body: () throws -> Result) throws -> Result {
        guard let storage else {
            throw StoreError.closed
        }
        return try storage.onWriter { _ in try body() }
    }

    func close() {
        if onProgress != nil { onProgress = nil }
        releaseStatements()
    }

    // MARK: The lease

    func claim(ttlSeconds: Double, now: Int64) throws(StoreError) -> StoreCounters {
        try run("BEGIN IMMEDIATE")
        do {
            lease = try Lease.take(self, holder: .current(), ttlSeconds: ttlSeconds, now: now)
            tombstoneFilter.discard()
            identityBounds.discard()
            let counters = try counters()
            try commit()
            return counters
        } catch {
            try? rollback()
            throw error
        }
    }

    func renewClaim(now: Int64) throws(StoreError) { try lease?.renew(self, now: now) }

    func releaseClaim() throws(StoreError) {
        try lease?.release(self)
        lease = nil
    }

    // MARK: Transactions

    var isInTransaction: Bool { sqlite3_get_autocommit(connection) == 0 }

    func begin() throws(StoreError) {
        try run("BEGIN IMMEDIATE")
        try lease?.check(self)
    }

    func commit() throws(StoreError) { try run("COMMIT") }

    /// Undoes what was not committed; SQLite may have done so itself after a failure.
    func rollback() throws(StoreError) {
        if isInTransaction { try run("ROLLBACK") }
    }

    func undoingOnFailure<Result>(_ body: () throws -> Result) throws -> Result {
        try run("SAVEPOINT part")
        do {
            let result = try body()
            try run("RELEASE part")
            return result
        } catch {
            // After some failures SQLite has undone the whole transaction itself.
            if isInTransaction {
                try run("ROLLBACK TO part")
                try run("RELEASE part")
            }
            throw error
        }
    }

    // MARK: Counters

    func counters() throws(StoreError) -> StoreCounters {
        let first: [Int64] = if let firstKeys { firstKeys } else { try keysAfterRows() }
        firstKeys = first
        return StoreCounters(
            nextKeys: zip(try primaryKeySequences(), first).map { max($0, $1) }, nextChange: try nextChangeID(),
            hasTombstones: try hasTombstones())
    }

    // MARK: Sent dead-letter records

    func putSentDeadLetter(_ id: Int64, topic: String) throws(StoreError) {
        try putMetadata(DeadLetter.cursorKey(topic), "\(id)")
    }

    func removeDeadLetters(_ ids: [Int64]) throws(StoreError) {
        for id in ids { try removeDeadLetter(id) }
    }

    func removeConflicts(through id: Int64) throws(StoreError) -> Int {
        try run("DELETE FROM _conflict WHERE id <= ?", id)
        return Int(changedRowCount)
    }
}
