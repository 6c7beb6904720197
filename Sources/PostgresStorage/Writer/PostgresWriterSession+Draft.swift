// Chunks that are read and decided before their transaction begins: docs/explanation/many-writers.md.
extension PostgresWriterSession {
    /// Begins a draft: a transaction of which the server knows nothing before the commit.
    func beginDraft(keyCount: Int) throws(StoreError) {
        guard let share else { return try begin() }
        try storage.checkOpen()
        try reconnectIfLost()
        try reserveKeys(share, count: Int64(keyCount))
        let draft = WriteDraft()
        let next = model.entities.map { share.keys[$0.rootIndex]?.lowerBound ?? 1 }
        // The numbers of changes and tokens count from those that the commit finds.
        draft.counters = StoreCounters(nextKeys: next, nextChange: 1, hasTombstones: true)
        open(draft)
    }

    /// Makes sure that this writer has so many keys of each hierarchy that no other writer gives out.
    private func reserveKeys(_ share: WriterShare, count: Int64) throws(StoreError) {
        // At least one: a writer without keys has seen another server, whose epoch the reservation begins.
        let count = max(1, count)
        let wanting = model.rootEntities.filter { (share.keys[$0.index]?.count ?? 0) < count }
        if wanting.isEmpty { return }
        let length = max(count, WriterShare.keyBlockLength)
        try begin()
        do throws(StoreError) {
            let results = try connection.run(wanting.map { block(of: $0, length) }, "reserve keys")
            try commit()
            for (root, result) in zip(wanting, results) {
                let end = result.first?.integer(0) ?? 0
                share.keys[root.index] = end - length..<end
            }
        } catch {
            try? rollback()
            throw error
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
        statement.bind(root.name)
        statement.bind(length)
        return statement
    }

    /// Reads outside of a transaction, and keeps a digest of each answer.
    func load(
        _ plan: [ReadRequest], into draft: WriteDraft, each: (Int, ReadAnswer) -> Void
    ) throws(StoreError) {
        // The draft reads the token before the rows, so a commit between the two shows as a later token.
        let head = draft.found == nil ? [readToken] : []
        var results = try connection.run(head + (try digestPlans.statements(plan)), "read the store")
        if !head.isEmpty {
            let row = results.removeFirst().first
            draft.found = (row?.integer(0) ?? 0, row?.text(1) ?? "")
        }
        var digests = [ReadDigest](repeating: ReadDigest(), count: plan.count)
        digestPlans.answer(plan, results, each: each) { digests[$0].add($1) }
        try draft.note(plan, digests)
    }

    // MARK: The commit

    /// Takes the store's lock, compares what the draft has read, and writes it.
    ///
    /// - Throws: ``StoreError`` with code `store.conflict` where another writer has changed what was read.
    func commit(_ draft: WriteDraft, _ share: WriterShare) throws(StoreError) {
        do throws(StoreError) {
            let shift = try openLocked(draft, share)
            var statements = draft.statements.map { $0.counted(fromToken: shift.token, change: shift.change) }
            statements += draft.positions.map { put($0) }
            if draft.hasHistory {
                statements.append(
                    PostgresStatement("UPDATE _token SET token = token + \(share.faults.tokenStep) WHERE id = 1"))
            }
            let results = try connection.run(statements + [PostgresStatement("COMMIT")], "commit")
            guard results.last?.tag == "COMMIT" else { throw StoreError.conflict }
            share.tokenShift = shift.token
            for (root, key) in draft.nextKeys {
                guard let block = share.keys[root] else { continue }
                share.keys[root] = min(key, block.upperBound)..<block.upperBound
            }
        } catch {
            // Where the answer to the commit was lost, the keys may be taken.
            if connection.isLost { share.keys = [:] }
            comparedServer = nil
            connection.undo()
            throw error
        }
    }

    /// Begins the transaction, and returns the last token and the last change's number.
    private func openLocked(
        _ draft: WriteDraft, _ share: WriterShare
    ) throws(StoreError) -> (token: Int64, change: Int64) {
        var checked = draft.reads
        if share.faults.contains(.trustsTombstones) { checked.removeAll { $0.isOfTombstones } }
        if share.faults.contains(.trustsRows) { checked.removeAll { !$0.isOfTombstones } }
        let lock = share.faults.contains(.takesNoLock) ? PostgresStatement("SELECT epoch FROM _lease") : Self.lock
        let head = [PostgresStatement("BEGIN"), lock, readToken, changeStatement] + draft.positions.map(stored)
        let checks = try checks(of: checked, found: draft.found?.token)
        let results = try connection.run(head + checks, "compare what was read")
        guard let row = results[1].first, row.integer(0) == epoch || share.faults.contains(.ignoresEpochs) else {
            throw Self.fenced
        }
        if try isTakenOver(results[2].first?.text(1) ?? "") {
            // The reads and keys are of another server's store. The next transaction begins the epoch.
            comparedServer = nil
            if !share.faults.contains(.keepsKeys) { share.keys = [:] }
            throw .disconnected("commit on another server")
        }
        for (position, result) in zip(draft.positions, results[4...]) where !isStored(position, result.first, share) {
            throw moved(position)
        }
        // The token of one server says nothing of another's.
        let (token, server) = (results[2].first?.integer(0) ?? 0, results[2].first?.text(1) ?? "")
        if let found = draft.found, found.server != server { throw .conflict }
        for (read, result) in zip(checked, results.suffix(checks.count)) {
            if !read.isOfTombstones, token == draft.found?.token { continue }
            guard let row = result.first, ReadDigest(row) == read.digest else { throw StoreError.conflict }
        }
        return (token, (results[3].first?.integer(0) ?? 1) - 1)
    }

    /// The statements that read again what a draft has read. Each change of rows and links has a token, so nobody has made
    /// one where the last token is still the one that was found. A tombstone of an unknown object comes without a token.
    private func checks(of reads: [WriteDraft.Read], found token: Int64?) throws(StoreError) -> [PostgresStatement] {
        let statements = try checkPlans.statements(reads.map(\.request))
        guard let token else { return statements }
        return zip(reads, statements).map { $0.isOfTombstones ? $1 : $1.unless(token: token) }
    }

    /// A statement that returns a partition's position and epoch; null for what the store does not know.
    private func stored(_ position: SourcePosition) -> PostgresStatement {
        var statement = PostgresStatement(
            """
            SELECT (SELECT "nextOffset" FROM _position WHERE topic = $1::text AND partition = $2::int8), \
            (SELECT epoch FROM _fence WHERE topic = $1::text AND partition = $2::int8)
            """)
        statement.bind(position.topic)
        statement.bind(Int64(position.partition))
        return statement
    }

    private func isStored(_ position: SourcePosition, _ row: PostgresRow?, _ share: WriterShare) -> Bool {
        guard let row else { return false }
        let fence = share.fences[StorePartition(topic: position.topic, partition: position.partition)]
        if let fence, row.optionalInteger(1) != fence, !share.faults.contains(.ignoresFences) { return false }
        if share.faults.contains(.ignoresPositions) { return true }
        switch position.predecessor {
        case .anything: return true
        case .nothing: return row.isNull(0)
        case .offset(let offset): return row.optionalInteger(0) == offset
        }
    }
}

extension WriteDraft.Read {
    fileprivate var isOfTombstones: Bool {
        if case .tombstones = request { true } else { false }
    }
}
