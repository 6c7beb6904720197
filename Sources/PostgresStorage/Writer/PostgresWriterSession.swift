import StoreSQL

/// The writer of a store in PostgreSQL.
///
/// Statements without results wait and go out with the next one that has some, at the latest with the commit. So a chunk
/// takes as many round trips as it asks questions, one for what it writes, and one for the commit.
final class PostgresWriterSession: WriterSession {
    let model: ObjectModel
    let storage: PostgresStorage
    private(set) var connection: PostgresConnection { didSet { connection.onProgress = onProgress } }
    var onProgress: (() -> Void)? { didSet { connection.onProgress = onProgress } }
    /// Whether the store knows of this connection, as far as its writer has to tell.
    private var isRegistered = true
    let plans: PostgresReadPlan
    /// The number of the claim; nil before it.
    var epoch: Int64?
    var claimSeconds = 0.0
    /// The table of the claim; nil before it.
    private(set) var leaseTable: Int64?
    private var depth = 0
    private(set) var isInTransaction = false
    /// The last token that was given out; nil until the open transaction has read it.
    var lastToken: Int64?
    /// The header of the history's open transaction: its row is written once the number of changes is known.
    var openHeader: HistoryHeader?
    /// The expression of the mark of the connection's server.
    private(set) var serverMark: String
    /// The mark that the store has noted, as far as this session has seen.
    var comparedServer: String?
    /// The tombstones of a store that this session alone writes.
    var tombstoneFilter = TombstoneFilter()
    /// The session's part among several writers; nil where it is the only one.
    let share: WriterShare?
    /// The reads and writes of a transaction that begins at its commit.
    private(set) var draft: WriteDraft?
    /// The counters as the open transaction found them, until they are asked for.
    private var foundCounters: StoreCounters?

    var tables: [PostgresTable] { storage.tables }
    var joinsUpdates: Bool { true }
    var drafts: Bool { true }
    var isDraft: Bool { draft != nil }
    /// The last token before the last commit of a draft.
    var tokenShift: Int64 = 0

    init(_ storage: PostgresStorage) throws(StoreError) {
        self.storage = storage
        model = storage.model
        connection = try storage.connect(.writer)
        plans = PostgresReadPlan(model: storage.model, tables: storage.tables)
        let sharing = storage.options
        share = sharing.writers == .many ? WriterShare(storage.model, sharing.faults) : nil
        serverMark = try Self.mark(connection)
    }

    deinit { if isInTransaction { storage.noteTransaction(false) } }

    /// The plan whose answers have hashes, and the one that asks whether they are the same.
    var digestPlans: PostgresReadPlan { plans(.hashedRows) }
    var checkPlans: PostgresReadPlan { plans(.digest) }

    private func plans(_ form: PostgresReadPlan.Form) -> PostgresReadPlan {
        PostgresReadPlan(model: model, tables: tables, form: form, columns: share?.columns)
    }

    /// Lets a statement of the transaction go out with the next round trip. The statement of a draft goes out with the
    /// draft's commit.
    func enqueue(_ statement: PostgresStatement) {
        if let draft { draft.append(statement) } else { connection.enqueue(statement) }
    }

    // MARK: Access

    func access<Result>(_ body: () throws -> Result) throws -> Result { try body() }

    func claim(ttlSeconds: Double, now: Int64) throws(StoreError) -> StoreCounters {
        try storage.checkOpen()
        claimSeconds = ttlSeconds
        tombstoneFilter.discard()
        if let share { return try join(share, now: now) }
        do throws(StoreError) {
            try lockForClaim()
            let next = try checkedEpoch(now: now) + 1
            connection.enqueue(lease(epoch: next, now: now))
            limitTransactions()
            let counters = try readCounters()
            try finish()
            epoch = next
            return counters
        } catch {
            connection.undo()
            throw error
        }
    }

    /// Begins a transaction, and waits for the one that has the store.
    private func lockForClaim() throws(StoreError) {
        do throws(StoreError) {
            try connection.run([.begin, Self.lock], "claim the store")
        } catch {
            // The holder is in a transaction, and may be so for long.
            throw error.code == .busy ? leased("a process in a transaction") : error
        }
    }

    /// Returns the number of the last claim, unless its holder lives.
    ///
    /// A migration or a rebuild may have held the lock before, and have put a store of another model in this one's
    /// place. So the model is compared here, and the row that is locked now belongs to the store that the schema holds.
    private func checkedEpoch(now: Int64) throws(StoreError) -> Int64 {
        try storage.checkMetadata(connection, adopts: false)
        let found = try FoundLease(connection, now: now, "claim the store")
        if let holder = found.holder { throw leased(holder) }
        note(table: found.table)
        return found.epoch
    }

    /// Notes the table whose row this session has locked: no other one may take its place while the claim holds.
    func note(table: Int64) {
        leaseTable = table
        storage.noteWritten(table)
    }

    func leased(_ holder: String) -> StoreError {
        StoreError(
            .leased, "Another worker writes this store: \(holder)",
            remedy: "Stop it, or give this worker another store")
    }

    private func lease(epoch: Int64, now: Int64) -> PostgresStatement {
        var statement = PostgresStatement(
            """
            UPDATE _lease SET epoch = $1::int8, holder = $2::text, expires = $3::int8, backend = \(connection.backend), \
            started = \(connection.backendStart) WHERE id = 1
            """)
        statement.bind(epoch, Holder.text, now + Int64(claimSeconds * 1_000_000))
        return statement
    }

    func renewClaim(now: Int64) throws(StoreError) {
        if let share {
            enqueue(membership(share, now: now))
        } else if let epoch {
            enqueue(lease(epoch: epoch, now: now))
        }
    }

    func releaseClaim() throws(StoreError) {
        if let share { return leave(share) }
        guard let epoch else { return }
        var statement = PostgresStatement("UPDATE _lease SET expires = 0 WHERE id = 1 AND epoch = $1::int8")
        statement.bind(epoch)
        connection.enqueue(statement)
    }

    func close() {
        try? rollback()
    }

    // MARK: Transactions

    func begin() throws(StoreError) {
        try storage.checkOpen()
        try reconnectIfLost()
        // The locked row keeps every other writer out up to the commit. A statement sees the others' commits where it
        // begins once the row is locked. The first question goes out with these; a commit without one waits for them.
        lastToken = nil
        connection.enqueue(.begin)
        connection.enqueue(Self.lock) { [epoch, leaseTable, storage] result throws(StoreError) in
            guard let row = result.first, epoch == nil || row.integer(0) == epoch else { throw Self.fenced }
            if let leaseTable, row.integer(1) != leaseTable { throw StoreError.displaced(storage.path) }
        }
        connection.enqueue(readToken) { [weak self] result throws(StoreError) in
            self?.lastToken = result.first?.integer(0) ?? 0
            try self?.compare(server: result.first?.text(1) ?? "")
        }
        if share != nil {
            do throws(StoreError) {
                foundCounters = counters(try connection.run(counterStatements, "begin a transaction")[...])
            } catch {
                connection.undo()
                throw error
            }
        }
        isInTransaction = true
        storage.noteTransaction(true)
    }

    /// Calls `body` in a transaction of its own.
    func inTransaction<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        try begin()
        do throws(StoreError) {
            let result = try body()
            try commit()
            return result
        } catch {
            try? rollback()
            throw error
        }
    }

    /// Begins a transaction of which the server knows nothing yet.
    func open(_ draft: WriteDraft) {
        self.draft = draft
        isInTransaction = true
        storage.noteTransaction(true)
    }

    static let lock = PostgresStatement(
        "SELECT epoch, \(FoundLease.table) FROM _lease WHERE id = 1 FOR UPDATE")
    static let fenced = StoreError(
        .fenced, "Another worker has taken this store over", remedy: "Nothing was written; stop this worker")

    /// Connects again after the connection was lost. The claim stays, because its number decides; the new connection is
    /// what tells others that its holder lives.
    func reconnectIfLost() throws(StoreError) {
        if connection.isLost {
            isRegistered = false
            connection = try storage.connect(.writer)
            serverMark = try Self.mark(connection)
            comparedServer = nil
            tombstoneFilter.discard()
        }
        if isRegistered { return }
        if let share { try rejoin(share) } else { try restoreClaim() }
        isRegistered = true
    }

    private func restoreClaim() throws(StoreError) {
        guard let epoch else { return }
        limitTransactions()
        var statement = PostgresStatement(
            """
            UPDATE _lease SET backend = \(connection.backend), started = \(connection.backendStart) \
            WHERE id = 1 AND epoch = $1::int8
            """)
        statement.bind(epoch)
        try connection.run(statement, "connect again")
    }

    func commit() throws(StoreError) {
        if let draft { try commit(draft) } else { try finish() }
        draft = nil
        tombstoneFilter.keep()
        isInTransaction = false
        foundCounters = nil
        storage.noteTransaction(false)
    }

    /// Commits the open transaction.
    func finish() throws(StoreError) {
        try connection.settle("commit")
        let result = try connection.run(PostgresStatement("COMMIT"), "commit")
        if result.tag == "COMMIT" { return }
        // A transaction in which a statement has failed ends without effect and without an error.
        throw StoreError(.database, "Could not commit: the server has undone it", remedy: "Report this with the log")
    }

    func rollback() throws(StoreError) {
        connection.forget()
        tombstoneFilter.undo()
        comparedServer = nil
        guard isInTransaction else { return }
        isInTransaction = false
        foundCounters = nil
        storage.noteTransaction(false)
        if draft != nil { return draft = nil }
        depth = 0
        try connection.rollback()
    }

    func undoingOnFailure<Result>(_ body: () throws -> Result) throws -> Result {
        if draft != nil { throw StoreError.conflict }
        // A statement that fails before the part must not fail within it.
        if !connection.waiting.isEmpty { try connection.run([], "save") }
        depth += 1
        defer { depth -= 1 }
        let (token, trips, count) = (lastToken, connection.roundTripCount, connection.waiting.count)
        connection.enqueue(PostgresStatement("SAVEPOINT part"))
        do {
            let result = try body()
            // The waiting statements belong to this part, so their failure has to show here.
            try connection.run(PostgresStatement("RELEASE part"), "save")
            return result
        } catch {
            lastToken = token
            tombstoneFilter.undo()
            if connection.roundTripCount == trips {
                connection.forget(from: count)
            } else {
                connection.forget()
                if isInTransaction, !connection.isLost {
                    try connection.run([PostgresStatement("ROLLBACK TO part"), PostgresStatement("RELEASE part")])
                }
            }
            throw error
        }
    }

    // MARK: Counters

    func counters() throws(StoreError) -> StoreCounters {
        if let found = draft?.counters {
            draft?.counters = nil
            return found
        }
        if let found = foundCounters {
            foundCounters = nil
            return found
        }
        if !isInTransaction { try reconnectIfLost() }
        return try readCounters()
    }

    func readCounters() throws(StoreError) -> StoreCounters {
        counters(try connection.run(counterStatements, "read the counters")[...])
    }

    private var counterStatements: [PostgresStatement] {
        let roots = model.rootEntities
        var keys = PostgresStatement(
            roots.enumerated().map { index, root in
                """
                SELECT \(index)::int8, greatest((SELECT next FROM _sequence WHERE entity = \
                \(SQLText.literal(root.name))), (SELECT max(pk) + 1 FROM \(tables[root.index].name)), 1)
                """
            }.joined(separator: " UNION ALL "))
        if roots.isEmpty { keys = PostgresStatement("SELECT 0::int8, 1::int8 WHERE false") }
        return [keys, PostgresStatement("SELECT \(Self.nextChange), EXISTS (SELECT 1 FROM _tombstone)")]
    }

    /// The expression of the number of the next change.
    static let nextChange = """
        greatest((SELECT max(id) + 1 FROM _history_change), (SELECT "firstChange" + "changeCount" \
        FROM _history_transaction ORDER BY token DESC LIMIT 1), \
        (SELECT value::int8 FROM _metadata WHERE key = 'nextChange'), 1)
        """

    /// Returns the counters that the results of both statements tell.
    private func counters(_ results: ArraySlice<PostgresResult>) -> StoreCounters {
        let roots = model.rootEntities
        var next = [Int64](repeating: 1, count: model.entities.count)
        for row in results.first?.rows.map({ $0 }) ?? [] { next[roots[Int(row.integer(0))].index] = row.integer(1) }
        let numbers = results.last?.first
        return StoreCounters(
            nextKeys: model.entities.map { next[$0.rootIndex] }, nextChange: numbers?.integer(0) ?? 1,
            hasTombstones: numbers?.flag(1) ?? false)
    }

    func write(nextKeys: [(root: Int, key: Int64)]) throws(StoreError) {
        let keys = Dictionary(nextKeys.map { (model.entities[$0.root].name, $0.key) }) { _, last in last }
        if keys.isEmpty { return }
        if let draft, share != nil {
            for (root, key) in nextKeys { draft.nextKeys[root] = key }
            return
        }
        var statement = PostgresStatement(
            """
            INSERT INTO _sequence (entity, next) SELECT * FROM unnest($1::text[], $2::int8[]) \
            ON CONFLICT (entity) DO UPDATE SET next = greatest(_sequence.next, excluded.next)
            """)
        statement.bind(Array(keys.keys), Array(keys.values))
        enqueue(statement)
    }

    // MARK: Sets

    var sets: any SetOperations {
        get throws(StoreError) {
            // A draft has none before its transaction begins.
            if draft != nil { throw .conflict }
            return RowSetOperations(self, snapshot: PostgresSnapshot(connection, model, tables))
        }
    }
}
