/// The writer of a store in PostgreSQL.
///
/// Statements without results wait and go out with the next one that has some, at the latest with the commit. So a chunk
/// takes as many round trips as it asks questions, and two for its transaction.
final class PostgresWriterSession: WriterSession {
    let model: ObjectModel
    let storage: PostgresStorage
    private(set) var connection: PostgresConnection
    let plans: PostgresReadPlan
    /// The number of the claim; nil before it.
    private var epoch: Int64?
    private var claimSeconds = 0.0
    private var depth = 0
    private(set) var isInTransaction = false
    /// The last token that was given out.
    private var lastToken: Int64 = 0

    var tables: [PostgresTable] { storage.tables }

    init(_ storage: PostgresStorage) throws(StoreError) {
        self.storage = storage
        model = storage.model
        connection = try storage.connect(.writer)
        plans = PostgresReadPlan(model: storage.model, tables: storage.tables)
    }

    deinit { if isInTransaction { storage.noteTransaction(false) } }

    func load(_ plan: [ReadRequest], each: (Int, ReadAnswer) -> Void) throws(StoreError) {
        if plan.isEmpty { return }
        if !isInTransaction { try reconnectIfLost() }
        plans.answer(plan, try connection.run(try plans.statements(plan), "read the store"), each: each)
    }

    // MARK: Access

    func access<Result>(_ body: () throws -> Result) throws -> Result { try body() }

    func claim(ttlSeconds: Double, now: Int64) throws(StoreError) -> StoreCounters {
        try storage.checkOpen()
        claimSeconds = ttlSeconds
        // A holder whose connection has ended is gone, however long its claim would hold.
        let query = PostgresStatement(
            """
            SELECT l.epoch, l.holder, l.expires, EXISTS (SELECT 1 FROM pg_stat_activity a WHERE a.pid = l.backend \
            AND (a.backend_start IS NULL OR a.backend_start = l.started)), l.backend = pg_backend_pid() \
            FROM _lease l WHERE l.id = 1 FOR UPDATE
            """)
        do throws(StoreError) {
            let row = try connection.run([PostgresStatement("BEGIN"), query], "claim the store").last?.first
            guard let row else {
                throw StoreError(.corrupt, "The store has no row for its writer", remedy: "Restore a copy")
            }
            if row.flag(3), !row.flag(4), row.integer(2) > now {
                throw leased(row.text(1))
            }
            let next = row.integer(0) + 1
            connection.enqueue(lease(epoch: next, now: now))
            let counters = try readCounters()
            try finish()
            epoch = next
            return counters
        } catch {
            connection.undo()
            // The holder is in a transaction, and may be so for long.
            if error.code == .busy { throw leased("a process in a transaction") }
            throw error
        }
    }

    private func leased(_ holder: String) -> StoreError {
        StoreError(
            .leased, "Another worker writes this store: \(holder)",
            remedy: "Stop it, or give this worker another store")
    }

    /// When the connection's own process of the server began.
    private static let startTime = "(SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())"

    private func lease(epoch: Int64, now: Int64) -> PostgresStatement {
        var statement = PostgresStatement(
            """
            UPDATE _lease SET epoch = $1::int8, holder = $2::text, expires = $3::int8, backend = pg_backend_pid(), \
            started = \(Self.startTime) WHERE id = 1
            """)
        statement.bind(epoch)
        statement.bind(Holder.text)
        statement.bind(now + Int64(claimSeconds * 1_000_000))
        return statement
    }

    func renewClaim(now: Int64) throws(StoreError) {
        if let epoch { connection.enqueue(lease(epoch: epoch, now: now)) }
    }

    func releaseClaim() throws(StoreError) {
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
        // The locked row keeps every other writer out up to the commit.
        let query = PostgresStatement(
            "SELECT l.epoch, t.token FROM _lease l, _token t WHERE l.id = 1 AND t.id = 1 FOR UPDATE OF l")
        do throws(StoreError) {
            let row = try connection.run([PostgresStatement("BEGIN"), query], "begin a transaction").last?.first
            guard let row, epoch == nil || row.integer(0) == epoch else {
                throw StoreError(
                    .fenced, "Another worker has taken this store over",
                    remedy: "Nothing was written; stop this worker")
            }
            lastToken = row.integer(1)
        } catch {
            connection.undo()
            throw error
        }
        isInTransaction = true
        storage.noteTransaction(true)
    }

    /// Connects again after the connection was lost. The claim stays, because its number decides; the new connection is
    /// what tells others that its holder lives.
    private func reconnectIfLost() throws(StoreError) {
        guard connection.isLost else { return }
        connection = try storage.connect(.writer)
        guard let epoch else { return }
        var statement = PostgresStatement(
            """
            UPDATE _lease SET backend = pg_backend_pid(), started = \(Self.startTime) WHERE id = 1 AND epoch = $1::int8
            """)
        statement.bind(epoch)
        try connection.run(statement, "connect again")
    }

    func commit() throws(StoreError) {
        try finish()
        isInTransaction = false
        storage.noteTransaction(false)
    }

    /// Commits what was begun.
    private func finish() throws(StoreError) {
        let result = try connection.run(PostgresStatement("COMMIT"), "commit")
        if result.tag == "COMMIT" { return }
        // A transaction in which a statement has failed ends without effect and without an error.
        throw StoreError(.database, "Could not commit: the server has undone it", remedy: "Report this with the log")
    }

    func rollback() throws(StoreError) {
        connection.forget()
        guard isInTransaction else { return }
        isInTransaction = false
        storage.noteTransaction(false)
        depth = 0
        // The end of a connection undoes its transaction too.
        if !connection.isLost { try connection.run(PostgresStatement("ROLLBACK"), "undo the transaction") }
    }

    func undoingOnFailure<Result>(_ body: () throws -> Result) throws -> Result {
        depth += 1
        defer { depth -= 1 }
        let (token, trips, count) = (lastToken, connection.roundTripCount, connection.waiting.count)
        connection.enqueue(PostgresStatement("SAVEPOINT part"))
        do {
            let result = try body()
            // The waiting statements belong to this part, so their failure has to show here.
            try connection.run(PostgresStatement("RELEASE part"), "save a part")
            return result
        } catch {
            lastToken = token
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
        if !isInTransaction { try reconnectIfLost() }
        return try readCounters()
    }

    private func readCounters() throws(StoreError) -> StoreCounters {
        let roots = model.rootEntities
        var keys = PostgresStatement(
            roots.enumerated().map { index, root in
                """
                SELECT \(index)::int8, greatest((SELECT next FROM _sequence WHERE entity = \
                \(PostgresText.literal(root.name))), (SELECT max(pk) + 1 FROM \(tables[root.index].name)), 1)
                """
            }.joined(separator: " UNION ALL "))
        if roots.isEmpty { keys = PostgresStatement("SELECT 0::int8, 1::int8 WHERE false") }
        let numbers = PostgresStatement(
            """
            SELECT greatest((SELECT max(id) + 1 FROM _history_change), (SELECT "firstChange" + "changeCount" \
            FROM _history_transaction ORDER BY token DESC LIMIT 1), \
            (SELECT value::int8 FROM _metadata WHERE key = 'nextChange'), 1), EXISTS (SELECT 1 FROM _tombstone)
            """)
        let results = try connection.run([keys, numbers], "read the counters")
        var next = [Int64](repeating: 1, count: model.entities.count)
        for row in results[0].rows { next[roots[Int(row.integer(0))].index] = row.integer(1) }
        return StoreCounters(
            nextKeys: model.entities.map { next[$0.rootIndex] }, nextChange: results[1].first?.integer(0) ?? 1,
            hasTombstones: results[1].first?.flag(1) ?? false)
    }

    func write(nextKeys: [(root: Int, key: Int64)]) throws(StoreError) {
        let keys = Dictionary(nextKeys.map { (model.entities[$0.root].name, $0.key) }) { _, last in last }
        if keys.isEmpty { return }
        var statement = PostgresStatement(
            """
            INSERT INTO _sequence (entity, next) SELECT * FROM unnest($1::text[], $2::int8[]) \
            ON CONFLICT (entity) DO UPDATE SET next = excluded.next
            """)
        statement.bind(Array(keys.keys))
        statement.bind(Array(keys.values))
        connection.enqueue(statement)
    }

    // MARK: The history

    func openHistory(_ header: HistoryHeader) throws(StoreError) -> Int64 {
        // The locked row of the claim keeps the number this transaction's own.
        lastToken += 1
        var counter = PostgresStatement("UPDATE _token SET token = $1::int8 WHERE id = 1")
        counter.bind(lastToken)
        connection.enqueue(counter)
        var statement = PostgresStatement(
            """
            INSERT INTO _history_transaction (token, time, author, context, source, "firstChange", "changeCount") \
            VALUES ($1::int8, $2::int8, $3::text, $4::text, $5::text, $6::int8, 0)
            """)
        statement.bind(lastToken)
        statement.bind(header.time)
        statement.bind(header.author)
        statement.bind(header.context)
        statement.bind(header.source)
        statement.bind(header.firstChange)
        connection.enqueue(statement)
        return lastToken
    }

    // MARK: Sets

    var sets: any SetOperations { RowSetOperations(self, snapshot: PostgresSnapshot(connection, model, tables)) }
}
