// The answers to read plans, and the tombstones that need no question.
extension PostgresWriterSession {
    func load(
        _ plan: [ReadRequest], in arena: ValueArena, each: (Int, ReadAnswer) -> Void
    ) throws(StoreError) {
        if plan.isEmpty { return }
        if let draft {
            // A read does not see the chunk's own writes before the commit.
            if !draft.statements.isEmpty { throw .conflict }
            // Nobody else writes the store of the only writer, as the commit's comparison of the epoch shows.
            if share != nil { return try load(plan, into: draft, in: arena, each: each) }
        }
        if !isInTransaction { try reconnectIfLost() }
        // With the lock a writer that shares the store asks for all, and learns which tombstones others have made.
        let (asked, positions) = share == nil ? try withoutMissingTombstones(plan) : (plan, Array(plan.indices))
        if asked.isEmpty { return }
        let statements = try plans.statements(asked)
        if asked.count > 1 {
            let results = try connection.run(statements, "read the store")
            return plans.answer(asked, results, in: arena) { position, answer in
                learn(answer)
                each(positions[position], answer)
            }
        }
        // One question may be of all objects that refer to one, so its rows are not held.
        try connection.stream(statements[0], "read the store") { row in
            guard let answer = plans.answer(asked[0], row, in: arena) else { return }
            learn(answer)
            each(positions[0], answer)
        }
    }

    /// Notes a tombstone that another writer may have made.
    private func learn(_ answer: ReadAnswer) {
        if share != nil, case .tombstone(let root, let identity, _) = answer { learn(identity, root) }
    }

    /// Notes a tombstone that another writer has made, once.
    private func learn(_ identity: Value, _ root: Int) {
        let root = model.entities[root]
        if !tombstoneFilter.mayContain(identity, of: root) { tombstoneFilter.insert(identity, of: root) }
    }

    /// Leaves out identities that have no tombstone, and requests for nothing else. Where several writers make tombstones
    /// without telling one another, there may be one nevertheless, which the comparison of a draft finds.
    ///
    /// - Returns: the requests that are left, and their positions in the plan.
    func withoutMissingTombstones(
        _ plan: [ReadRequest]
    ) throws(StoreError) -> (asked: [ReadRequest], positions: [Int]) {
        var (asked, positions) = ([ReadRequest](), [Int]())
        for (position, request) in plan.enumerated() {
            var request = request
            if case .tombstones(let lists) = request {
                if tombstoneFilter.isUnread { try readTombstoneFilter() }
                let candidates = lists.map { root, identities in
                    (root: root, identities: tombstoneFilter.candidates(identities, of: model.entities[root]))
                }
                let wanted = candidates.filter { !$0.identities.isEmpty }
                if wanted.isEmpty { continue }
                request = .tombstones(wanted)
            }
            asked.append(request)
            positions.append(position)
        }
        return (asked, positions)
    }

    /// Notes the tombstones that a transaction writes; of one that is undone they stay, and the table decides.
    func noteTombstones(_ written: [(entity: Entity, identity: Value, tombstone: Tombstone)]) {
        if !tombstoneFilter.isRead { return }
        for each in written { tombstoneFilter.insert(each.identity, of: each.entity) }
    }
}
