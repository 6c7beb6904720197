// Chunks that are read and decided before their transaction begins: docs/explanation/many-writers.md.
extension PostgresWriterSession {
    /// Begins a draft: a transaction of which the server knows nothing before the commit.
    func beginDraft(keyCount: Int) throws(StoreError) {
        try storage.checkOpen()
        try reconnectIfLost()
        // A transaction learns the server's mark, and begins an epoch where another server has taken over.
        if comparedServer == nil { try inTransaction { () throws(StoreError) in } }
        let draft = WriteDraft()
        if let share {
            try reserveKeys(share, count: Int64(keyCount))
            let next = model.entities.map { share.keys[$0.rootIndex]?.lowerBound ?? 1 }
            // The numbers of changes and tokens count from the numbers that the commit finds.
            draft.counters = StoreCounters(nextKeys: next, nextChange: 1, hasTombstones: true)
        }
        open(draft)
    }

    /// Makes sure that this writer has so many keys of each hierarchy that no other writer gives out.
    private func reserveKeys(_ share: WriterShare, count: Int64) throws(StoreError) {
        let wanting = model.rootEntities.filter { (share.keys[$0.index]?.count ?? 0) < count }
        if wanting.isEmpty { return }
        // Few of the objects that a chunk names are new ones, so a block lasts for many chunks.
        let length = max(count * WriterShare.chunksOfKeys, WriterShare.keyBlockLength)
        let results = try inTransaction { () throws(StoreError) in
            try connection.run(wanting.map { block(of: $0, length) }, "reserve keys")
        }
        for (root, result) in zip(wanting, results) {
            let end = result.first?.integer(0) ?? 0
            share.keys[root.index] = end - length..<end
        }
    }

    private func block(of root: Entity, _ length: Int64) -> PostgresStatement {
        var statement = PostgresStatement(
            """
            INSERT INTO _sequence (entity, next) \
            SELECT $1::text, coalesce((SELECT max(pk) + 1 FROM \(tables[root.index].name)), 1) + $2::int8 \
            ON CONFLICT (entity) DO UPDATE SET next = greatest(_sequence.next, excluded.next - $2::int8) + $2::int8 \
            RETURNING next
            """)
        statement.bind(root.name, length)
        return statement
    }

    /// Reads outside of a transaction, and keeps a digest of each answer.
    func load(
        _ plan: [ReadRequest], into draft: WriteDraft, in arena: ValueArena, each: (Int, ReadAnswer) -> Void
    ) throws(StoreError) {
        // The draft reads the token before the rows, so a commit between the two shows as a later token.
        let (asked, positions) = try withoutMissingTombstones(plan)
        let head = draft.found == nil ? [readToken] : []
        var results = try connection.run(head + (try digestPlans.statements(asked)), "read the store")
        if !head.isEmpty {
            let row = results.removeFirst().first
            draft.found = (row?.integer(0) ?? 0, row?.text(1) ?? "")
        }
        var digests = [ReadDigest](repeating: ReadDigest(), count: plan.count)
        var present: [Int: Set<Value>] = [:]
        let looksForTombstones = plan.contains { $0.isOfTombstones }
        digestPlans.answer(asked, results, in: arena) { position, answer in
            if looksForTombstones, case .row(let row) = answer, !row.isPlaceholder {
                present[row.entity.rootIndex, default: []].insert(row.values[row.entity.identitySlot])
            }
            each(positions[position], answer)
        } hash: { position, hash in
            digests[positions[position]].add(hash)
        }
        try draft.note(plan, digests, present: present)
    }

    // MARK: The commit

    /// Takes the store's lock, compares what the draft has read, and writes it, all in one round trip. A comparison that
    /// fails is an error of the server, which skips the statements behind it.
    ///
    /// - Throws: ``StoreError`` with code `store.conflict` where another writer has changed what was read.
    func commit(_ draft: WriteDraft) throws(StoreError) {
        do throws(StoreError) {
            // The reads of one server say nothing of another's store.
            if let found = draft.found, found.server != comparedServer { throw Self.takenOver }
            var statements = [.begin, lockingStatement(), headStatement()]
            statements += draft.positions.map(put)
            if let comparison = try comparison(of: draft) { statements.append(comparison) }
            statements += draft.statements.map(\.counted) + [PostgresStatement("COMMIT")]
            let results = try connection.run(statements, "commit")
            guard results.last?.tag == "COMMIT" else { throw StoreError.conflict }
            tokenShift = results[2].first?.integer(0) ?? 0
            for (root, key) in draft.nextKeys {
                guard let block = share?.keys[root] else { continue }
                share?.keys[root] = min(key, block.upperBound)..<block.upperBound
            }
        } catch {
            // Where the answer to the commit was lost, the keys may be taken. Another server may give them out again.
            let keepsKeys = share?.faults.contains(.keepsKeys) == true
            if connection.isLost || error.code == .disconnected && !keepsKeys { share?.keys = [:] }
            comparedServer = nil
            connection.undo()
            throw error
        }
    }

    static let takenOver = StoreError.disconnected("commit on another server")

    /// The statement that takes the store's lock, and refuses a writer of an earlier epoch.
    private func lockingStatement() -> PostgresStatement {
        let faults = share?.faults ?? []
        let isSame =
            faults.contains(.ignoresEpochs)
            ? "$1::int8 + $2::int8 IS NOT NULL" : "epoch = $1::int8 AND \(FoundLease.table) = $2::int8"
        let lock = faults.contains(.takesNoLock) ? "" : " FOR UPDATE"
        var statement = PostgresStatement(
            "SELECT \(PostgresStatement.refusal(unless: isSame, "another worker has taken the store over")) "
                + "FROM _lease WHERE id = 1\(lock)", refusal: Self.fenced)
        statement.bind(epoch, leaseTable)
        return statement
    }

    /// The statement behind the lock. It refuses another server's store, and keeps the numbers that the draft's own count
    /// from; it returns the last token.
    private func headStatement() -> PostgresStatement {
        // The only writer knows the number of its next change.
        let change = share == nil ? "0" : "\(Self.nextChange) - 1"
        let isSame =
            share?.faults.contains(.ignoresServers) == true
            ? "$1::text IS NOT NULL" : "\(serverMark) = $1::text AND EXISTS (SELECT FROM _lease WHERE id = 1)"
        var statement = PostgresStatement(
            """
            SELECT token, set_config('\(PostgresStatement.NumberBase.token.setting)', token::text, true), \
            set_config('\(PostgresStatement.NumberBase.change.setting)', (\(change))::text, true), \
            \(PostgresStatement.refusal(unless: isSame, "the chunk was read on another server")) \
            FROM _token WHERE id = 1
            """, refusal: Self.takenOver)
        statement.bind(comparedServer ?? "")
        return statement
    }

    /// A statement that refuses the draft unless the store still answers its reads alike; nil without any. Each change of
    /// rows and links has a token, so nobody has made one where the last token is still the one that was found. A tombstone
    /// of an unknown object comes without a token.
    private func comparison(of draft: WriteDraft) throws(StoreError) -> PostgresStatement? {
        let faults = share?.faults ?? []
        let isTrusted = (tombstones: faults.contains(.trustsTombstones), rows: faults.contains(.trustsRows))
        let reads = draft.reads.filter { $0.request.isOfTombstones ? !isTrusted.tombstones : !isTrusted.rows }
        guard let token = draft.found?.token, !reads.isEmpty else { return nil }
        var comparison = PostgresStatement("", refusal: .conflict)
        comparison.bind(token)
        var (tombstones, rows) = ([String](), [String]())
        for (read, statement) in zip(reads, try checkPlans.statements(reads.map(\.request))) {
            let answer = comparison.take(statement)
            let place = comparison.places.count
            comparison.bind(Int64(read.digest.count), read.digest.rows)
            let isSame = """
                (SELECT q.n = $\(place + 1)::int8 AND q.h = $\(place + 2)::int8 FROM (\(answer)) AS q(n, h))
                """
            if read.request.isOfTombstones { tombstones.append(isSame) } else { rows.append(isSame) }
        }
        let isUnmoved = "(SELECT token FROM _token WHERE id = 1) = $1::int8"
        // Without rows the token tells nothing, but the statement has its number.
        let areRowsSame =
            rows.isEmpty ? "$1::int8 IS NOT NULL" : "(\(isUnmoved) OR \(rows.joined(separator: " AND ")))"
        let conditions = tombstones + [areRowsSame]
        let words = "another writer has changed what the chunk has read"
        comparison.sql =
            "SELECT \(PostgresStatement.refusal(unless: conditions.joined(separator: " AND "), words))"
        return comparison
    }
}

extension ReadRequest {
    fileprivate var isOfTombstones: Bool {
        if case .tombstones = self { true } else { false }
    }
}
