// How a chunk becomes rows and history.
extension WriterContext {
    func save(
        _ chunk: Chunk, _ deadLetter: (Int, EventFailure) -> DeadLetter?, isolatesEvents: Bool
    ) throws -> ChunkResult {
        let history = HistoryWriter(
            store: connection, time: options.now(), author: options.author, context: options.name,
            source: chunk.source, nextChange: nextChange)
        var tally = ChangeTally(entityCount: store.model.entities.count)
        var run = ChunkRun(outcomes: [], placeholderCount: 0)
        run.outcomes.reserveCapacity(chunk.events.count)
        if isolatesEvents {
            for index in chunk.events.indices {
                try applyAlone(chunk.events[index...index], history, &tally, &run)
            }
        } else {
            try applyTogether(chunk.events[...], history, &tally, &run)
        }
        var letters = chunk.deadLetters
        for (index, outcome) in run.outcomes.enumerated() {
            if case .failed(let failure) = outcome, let letter = deadLetter(index, failure) { letters.append(letter) }
        }
        try connection.append(letters)
        try connection.settleLetters(of: chunk, run.outcomes)
        for position in chunk.positions { try connection.put(position) }
        try history.close()
        if history.hasChanges { savedToken = history.token }
        nextChange = history.nextChange
        uncommittedCount += tally.total + chunk.positions.count
        return ChunkResult(
            outcomes: run.outcomes, changes: tally, placeholderCount: run.placeholderCount,
            token: history.hasChanges ? history.token : nil)
    }

    struct ChunkRun {
        var outcomes: [EventOutcome]
        var placeholderCount: Int
    }

    func applyTogether(
        _ events: ArraySlice<ChangeSet>, _ history: HistoryWriter, _ tally: inout ChangeTally, _ run: inout ChunkRun
    ) throws {
        var rest = events
        while !rest.isEmpty {
            registry.reset()
            try Prefetch(registry: registry).load(rest)
            let prefetched = registry.loadedCount
            var large: (deletion: EventApplier.LargeDeletion, isAlone: Bool)?
            var truncation: ObjectOperation?
            while let event = rest.popFirst() {
                truncation = event.truncation
                if truncation != nil { break }
                do {
                    run.outcomes.append(try applier.apply(event))
                    // Many deletions, each within its bound, are not to add up: save what there is, and go on.
                    if registry.loadedCount - prefetched > Self.maximumGrowth { break }
                } catch let deletion as EventApplier.LargeDeletion {
                    // In the store only what stood there before the event can be deleted.
                    large = (deletion, event.operations.count == 1 && event.operations[0].kind == .delete)
                    break
                }
            }
            try flush(history, &tally, &run)
            if let truncation { run.outcomes.append(try truncateInStore(truncation, history, &tally)) }
            guard let large else { continue }
            if large.isAlone {
                run.outcomes.append(try deleteInStore(large.deletion, history, &tally))
            } else {
                let reason = "The event deletes too much in passing; send the deletion alone"
                run.outcomes.append(.failed(EventFailure(code: "delete.too_large", reason)))
            }
        }
        registry.reset()
    }

    /// The number of objects that a chunk's events may have read beyond those that were foreseen.
    private static let maximumGrowth = 5000

    /// Applies one event under a savepoint of its own; a rule of the schema that it breaks, or a stored
    /// value that nothing can be done with, is its failure.
    private func applyAlone(
        _ event: ArraySlice<ChangeSet>, _ history: HistoryWriter, _ tally: inout ChangeTally, _ run: inout ChunkRun
    ) throws {
        let (outcomeCount, placeholderCount) = (run.outcomes.count, run.placeholderCount)
        let changesBefore = history.nextChange
        var ownTally = ChangeTally(entityCount: store.model.entities.count)
        try connection.begin(.event)
        do {
            try applyTogether(event, history, &ownTally, &run)
            try connection.release(.event)
            tally.add(ownTally)
        } catch let error as StoreError where error.isOfOneEvent {
            try connection.rollback(to: .event)
            try restart()
            history.rewind(to: changesBefore)
            run.placeholderCount = placeholderCount
            run.outcomes.removeLast(run.outcomes.count - outcomeCount)
            run.outcomes.append(.failed(EventFailure(code: error.code.rawValue, error.description)))
        }
    }

    private func flush(_ history: HistoryWriter, _ tally: inout ChangeTally, _ run: inout ChunkRun) throws(StoreError) {
        try Saver(registry: registry, plan: plan, history: history).save(into: &tally)
        run.placeholderCount += registry.placeholderCount
        if applier.notes.isEmpty { return }
        let notes = applier.notes
        applier.notes = []
        for note in notes {
            try connection.append(note.saved(history.token, at: options.now(), source: history.source))
        }
    }

    /// Carries a deletion out inside the store; what the chunk held before it is saved already.
    private func deleteInStore(
        _ deletion: EventApplier.LargeDeletion, _ history: HistoryWriter, _ tally: inout ChangeTally
    ) throws -> EventOutcome {
        let tombstone = Tombstone(version: deletion.version, time: deletion.time)
        return try carryOutInStore(history, &tally) { sets, tally in
            for root in deletion.roots {
                try sets.delete(
                    entity: store.model.entities[root.entity], pk: root.pk, tombstone: tombstone, into: &tally)
            }
        }
    }

    private func truncateInStore(
        _ truncation: ObjectOperation, _ history: HistoryWriter, _ tally: inout ChangeTally
    ) throws -> EventOutcome {
        try carryOutInStore(history, &tally) { sets, tally in
            try sets.truncate(store.model.entities[truncation.entity], time: truncation.time, into: &tally)
        }
    }

    private func carryOutInStore(
        _ history: HistoryWriter, _ tally: inout ChangeTally,
        _ body: (SetDeletion, inout ChangeTally) throws -> Void
    ) throws -> EventOutcome {
        registry.reset()
        try connection.begin(.deletion)
        let changesBefore = history.nextChange
        var ownTally = ChangeTally(entityCount: store.model.entities.count)
        do {
            let sets = SetDeletion(
                store: connection, history: history, plan: plan, validators: applier.validators)
            try body(sets, &ownTally)
            try connection.release(.deletion)
            registry.storeHasTombstones = true
            tally.add(ownTally)
            return .applied
        } catch let failures as ValidationFailures {
            try connection.rollback(to: .deletion)
            history.rewind(to: changesBefore)
            return .failed(EventFailure(failures))
        }
    }
}
