import GRDBSQLite

extension SQLiteWriterSession: SQLWriterSession {
    typealias Dialect = SQLiteDialect

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
            try storage?.checkPlace()
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
        try storage?.checkPlace()
    }

    func commit() throws(StoreError) {
        try run("COMMIT")
        tombstoneFilter.keep()
        identityBounds.keep()
    }

    func rollback() throws(StoreError) {
        noteUndone()
        if let storage {
            try storage.undoTransaction(connection)
        } else {
            try PreparedStatement.undoTransaction(on: connection)
        }
    }

    private func noteUndone() {
        tombstoneFilter.undo()
        identityBounds.undo()
    }

    func undoingOnFailure<Result>(_ body: () throws -> Result) throws -> Result {
        try run("SAVEPOINT part")
        do {
            let result = try body()
            try run("RELEASE part")
            return result
        } catch {
            noteUndone()
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

    // MARK: The store's own tables

    func query(_ query: SQLFragment, _ action: String, each: (PreparedStatement) -> Bool) throws(StoreError) {
        let statement = try statement(query.sql)
        statement.bind(query.parameters)
        defer { statement.reset() }
        while try statement.step(), each(statement) {}
    }

    func rows(
        about keys: [Int64], _ query: (String) -> String, each: (PreparedStatement) -> Void
    ) throws(StoreError) {
        try KeyList.forEachPart(of: keys) { list throws(StoreError) in
            try statement(query("IN (\(list))"))
        } body: { statement throws(StoreError) in
            while try statement.step() { each(statement) }
        }
    }

    @discardableResult
    func change(_ statement: SQLFragment, _ action: String) throws(StoreError) -> Int {
        try execute(statement)
        return Int(changedRowCount)
    }

    func execute(_ statement: SQLFragment) throws(StoreError) {
        let prepared = try self.statement(statement.sql)
        prepared.bind(statement.parameters)
        try prepared.run()
    }

    func putMetadata(_ values: [String: String]) throws(StoreError) {
        for (key, value) in values { try putMetadata(key, value) }
    }

    func removeDeadLetters(_ ids: [Int64]) throws(StoreError) {
        for id in ids { try removeDeadLetter(id) }
    }
}
