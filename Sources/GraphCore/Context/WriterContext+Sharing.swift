// Writers that share a store: docs/explanation/many-writers.md.
extension WriterContext {
    /// Whether other writers write the store too.
    package var sharesStore: Bool { session.sharesStore }

    /// Takes partitions over from their former writer. Read their positions afterwards.
    ///
    /// - Throws: ``StoreError``; applied chunks are undone then.
    package func claimPartitions(_ partitions: [StorePartition]) throws(StoreError) {
        if partitions.isEmpty || !sharesStore { return }
        try commit()
        try undoingOnFailure("claim partitions") { try session.claimPartitions(partitions) }
    }

    /// Takes or keeps a role that one of several writers has, and commits that with the applied events.
    ///
    /// - Returns: a number that changes with each taking of the role, or nil where another writer has it.
    package func holdRole(_ name: String) throws(StoreError) -> Int64? {
        try change("hold the role '\(name)'") { try $0.holdRole(name) }
    }

    // MARK: Drafts

    /// Whether chunks may be drafts, which are read before their transactions begin.
    package var drafts: Bool {
        // A program's checks may look at sums, which a draft does not compare with other writers' changes.
        session.drafts && (!sharesStore || options.validators.isEmpty)
    }

    /// Begins the transaction of a chunk: a draft, unless the last ones were lost.
    func beginDraft(of chunk: Chunk) throws {
        guard drafts else { return try beginIfNeeded() }
        guard attempts.drafts else {
            try beginIfNeeded()
            isLockedChunk = true
            return
        }
        try session.beginDraft(keyCount: chunk.packed?.identityCount ?? 0)
        isDraft = true
        try takeCounters()
    }

    /// Saves a chunk whose transaction is a draft.
    ///
    /// - Throws: ``StoreError`` with code `store.conflict` also where an event was refused: with the lock it is found.
    func saveDraft(_ chunk: Chunk, _ deadLetter: (Int, EventFailure) -> DeadLetter?) throws(StoreError) -> ChunkResult {
        try noticingConflicts { () throws(StoreError) in
            do {
                return try save(chunk, deadLetter, isolatesEvents: false)
            } catch {
                throw StoreError(error, action: "save the chunk")
            }
        }
    }

    /// Calls `body`, and reports what made a draft fail as a conflict: with the lock the chunk shows what is the matter.
    ///
    /// - Parameter comparing: whether `body` compares the draft's reads with the store, and so tells another writer's changes.
    func noticingConflicts<Result>(
        comparing: Bool = false, _ body: () throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        let wasDraft = exclusively { isDraft }
        do {
            return try body()
        } catch {
            switch error.code {
            case .disconnected, .fenced, .positionConflict, .busy: throw error
            case .conflict: break
            default: if !wasDraft { throw error }
            }
            exclusively { attempts.lost(toAnother: comparing && error.code == .conflict) }
            throw StoreError(
                .conflict, "Another writer has got in the way: \(error.message)", remedy: "Apply the chunk again")
        }
    }

    /// Notes the end of a transaction.
    func noteCommit() {
        if isDraft, let token = draftToken { savedToken = token + session.tokenShift }
        if isDraft || isLockedChunk { attempts.committed(isDraft: isDraft) }
        (isDraft, isLockedChunk, draftToken) = (false, false, nil)
    }
}
