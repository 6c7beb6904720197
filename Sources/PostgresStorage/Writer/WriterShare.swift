/// The part of one of several writers that share a store.
final class WriterShare {
    /// The writer's own number in `_writer`.
    let id = Int64.random(in: 1...Int64.max)
    /// The claims of partitions, by the epoch that each one made.
    private(set) var fences: [StorePartition: Int64] = [:]

    /// The keys that no other writer gives out, by the positions of roots.
    var keys: [Int: Range<Int64>] = [:]
    let columns: SharedColumns
    let faults: SharingFaults

    /// The least number of keys that a writer takes for itself at a time.
    static let keyBlockLength: Int64 = 10_000
    /// For how many chunks the keys of a block last that all make as many objects as they name.
    static let chunksOfKeys: Int64 = 8

    init(_ model: ObjectModel, _ faults: SharingFaults) {
        columns = SharedColumns(model)
        self.faults = faults
    }

    /// Notes the epochs that this writer's claims have made.
    func note(_ claims: [StorePartition: Int64]) { fences.merge(claims) { _, new in new } }
}

extension PostgresWriterSession {
    var sharesStore: Bool { share != nil }

    // MARK: Membership

    /// Joins the writers of the store, unless one of them has it for itself.
    ///
    /// The model is compared here, under the lock that a migration holds too. A migration, a rebuild or a writer that
    /// wants the store for itself raises the epoch afterwards, and each transaction compares it.
    func join(_ share: WriterShare, now: Int64) throws(StoreError) -> StoreCounters {
        var query = PostgresStatement(
            """
            SELECT l.epoch, l.holder, l.expires, \(FoundLease.isAlive("l")), \
            (SELECT value FROM _metadata WHERE key = 'group'), \
            (SELECT min(w.holder) FROM _writer w \
            WHERE w.id <> $1::int8 AND w.expires > $2::int8 AND \(FoundLease.isAlive("w"))), l.\(FoundLease.table) \
            FROM _lease l WHERE l.id = 1 FOR UPDATE OF l
            """)
        query.bind(share.id, now)
        do throws(StoreError) {
            let row = try connection.run([.begin, query], "join the store's writers").last?.first
            guard let row else { throw FoundLease.missing }
            if row.flag(3), row.integer(2) > now { throw leased(row.text(1)) }
            try storage.checkMetadata(connection, adopts: false)
            try noteGroup(stored: row.optionalText(4), other: row.optionalText(5))
            connection.enqueue(endedWriters(now: now))
            connection.enqueue(membership(share, now: now))
            limitTransactions()
            let counters = try readCounters()
            try finish()
            epoch = row.integer(0)
            note(table: row.integer(6))
            return counters
        } catch {
            connection.undo()
            throw error
        }
    }

    /// Notes the consumer group of the writers. Two groups would read every record twice, and take each other's partitions.
    private func noteGroup(stored: String?, other holder: String?) throws(StoreError) {
        guard let group = storage.options.group, group != stored else { return }
        if let stored, let holder {
            throw StoreError(
                .unavailable, "Workers of the consumer group '\(stored)' share the store at \(storage.path): \(holder)",
                remedy: "Set kafka.group.id to '\(stored)', or name another schema in store.url")
        }
        connection.enqueue(.putMetadata([(key: "group", value: group)]))
    }

    /// Makes the statement that removes writers from the list which have ended without signing off.
    private func endedWriters(now: Int64) -> PostgresStatement {
        var statement = PostgresStatement(
            """
            DELETE FROM _writer w WHERE NOT \(FoundLease.isAlive("w")) OR w.backend = 0 AND w.expires < $1::int8
            """)
        statement.bind(now)
        return statement
    }

    /// Ends a transaction whose client has stopped, so that it holds nobody up for longer than a claim holds.
    func limitTransactions() {
        connection.set("idle_in_transaction_session_timeout", to: "\(max(1, Int(claimSeconds * 1000)))")
    }

    func membership(_ share: WriterShare, now: Int64) -> PostgresStatement {
        var statement = PostgresStatement(
            """
            INSERT INTO _writer (id, holder, expires, backend, started) \
            VALUES ($1::int8, $2::text, $3::int8, \(connection.backend), \(connection.backendStart)) \
            ON CONFLICT (id) DO UPDATE SET expires = excluded.expires, backend = excluded.backend, \
            started = excluded.started
            """)
        statement.bind(share.id, Holder.text, now + Int64(claimSeconds * 1_000_000))
        return statement
    }

    /// Tells others, after a new connection, that the writer lives.
    func rejoin(_ share: WriterShare) throws(StoreError) {
        var statement = PostgresStatement(
            """
            UPDATE _writer SET backend = \(connection.backend), started = \(connection.backendStart) WHERE id = $1::int8
            """)
        statement.bind(share.id)
        limitTransactions()
        // A standby that was promoted may not know of the keys that this writer has reserved, and give them out again.
        if !share.faults.contains(.keepsKeys) { share.keys = [:] }
        try connection.run(statement, "connect again")
    }

    func leave(_ share: WriterShare) {
        for sql in ["DELETE FROM _role WHERE writer = $1::int8", "DELETE FROM _writer WHERE id = $1::int8"] {
            var statement = PostgresStatement(sql)
            statement.bind(share.id)
            connection.enqueue(statement)
        }
    }

    // MARK: Partitions

    func claimPartitions(_ partitions: [StorePartition]) throws(StoreError) {
        guard let share else { return }
        var statement = PostgresStatement(
            """
            INSERT INTO _fence (topic, partition, epoch) SELECT *, 1 FROM unnest($1::text[], $2::int8[]) \
            ON CONFLICT (topic, partition) DO UPDATE SET epoch = _fence.epoch + 1 RETURNING topic, partition, epoch
            """)
        statement.bind(partitions.map(\.topic), partitions.map { Int64($0.partition) })
        let result = try inTransaction { () throws(StoreError) in try connection.run(statement, "claim partitions") }
        let rows = result.rows.map { row in
            (StorePartition(topic: row.text(0), partition: Int32(row.integer(1))), row.integer(2))
        }
        share.note(Dictionary(rows) { _, last in last })
    }

    // MARK: Roles

    func holdRole(_ name: String) throws(StoreError) -> Int64? {
        guard let share else { return 0 }
        // Epochs never repeat, also where the former holder has given the role up.
        var statement = PostgresStatement(
            """
            INSERT INTO _role (name, epoch, writer, expires) \
            VALUES ($1::text, \(FoundLease.serverTime), $2::int8, \(FoundLease.serverTime) + $3::int8) \
            ON CONFLICT (name) DO UPDATE SET writer = excluded.writer, expires = excluded.expires, \
            epoch = CASE WHEN _role.writer = excluded.writer THEN _role.epoch \
            ELSE greatest(excluded.epoch, _role.epoch + 1) END \
            WHERE _role.writer = excluded.writer OR _role.expires < \(FoundLease.serverTime) \
            OR NOT EXISTS (SELECT 1 FROM _writer w WHERE w.id = _role.writer AND \(FoundLease.isAlive("w"))) \
            RETURNING epoch
            """)
        statement.bind(name, share.id, Int64(claimSeconds * 1_000_000))
        return try connection.run(statement, "hold a role").first?.integer(0)
    }
}
