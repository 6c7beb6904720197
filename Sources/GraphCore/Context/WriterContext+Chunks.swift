// How a chunk becomes rows and history.
extension WriterContext {
    package func save(
        _ chunk: Chunk, _ deadLetter: (Int, EventFailure) -> DeadLetter?, isolatesEvents: Bool
    ) throws -> ChunkResult {
        let history = HistoryWriter(
            session, time: options.now(), author: options.author, context: options.name, source: chunk.source,
            trace: chunk.trace, nextChange: nextChange)
        var tally = ChangeTally(entityCount: store.model.entities.count)
        var run = ChunkRun()
        let events = chunk.packed ?? PackedEvents(store.model)
        run.outcomes.reserveCapacity(events.count)
        if isolatesEvents {
            for index in 0..<events.count { try applyAlone(events, index, history, &tally, &run) }
        } else {
            try applyTogether(events, 0..<events.count, history, &tally, &run)
        }
        try session.write(chunk.ledger(run.outcomes, deadLetter))
        let token = try history.close()
        if let token, isDraft { draftToken = token } else if let token { savedToken = token }
        nextChange = history.nextChange
        uncommittedCount += tally.total + chunk.positions.count
        return ChunkResult(
            outcomes: run.outcomes, changes: tally, placeholderCount: run.placeholderCount, token: token)
    }

    package struct ChunkRun {
        package var outcomes: [EventOutcome]
        package var placeholderCount: Int

        package init() { (outcomes, placeholderCount) = ([], 0) }
    }

    package func applyTogether(
        _ events: PackedEvents, _ range: Range<Int>, _ history: HistoryWriter, _ tally: inout ChangeTally,
        _ run: inout ChunkRun
    ) throws {
        defer { withExtendedLifetime(events) {} }
        var rest = events.events[range]
        while !rest.isEmpty {
            try forgetObjects(history)
            try Prefetch(registry: registry).load(rest)
            let prefetched = registry.loadedCount
            var operationCount = 0
            var large: (deletion: EventApplier.LargeDeletion, isAlone: Bool)?
            var truncation: PackedOperation?
            while let event = rest.popFirst() {
                truncation = event.truncation
                if truncation != nil { break }
                do {
                    let first = operationCount
                    operationCount += event.operations.count
                    run.outcomes.append(try applier.apply(event, from: first))
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
                let reason = "The event deletes too many objects beside its other changes; send the deletion alone"
                run.outcomes.append(.failed(EventFailure(code: "delete.too_large", reason)))
            }
        }
        try forgetObjects(history)
    }

    /// Forgets the saved objects, with all that holds them: then their memory serves the next ones.
    private func forgetObjects(_ history: HistoryWriter) throws(StoreError) {
        try history.flush()
        applier.forget()
        registry.reset()
    }

    /// The number of objects that a chunk's events may read beyond the foreseen ones.
    private static let maximumGrowth = 5000

    /// The number of objects that are saved together in work on more objects than memory should hold.
    private static let maximumPageLength = 1000

    /// Applies one event as a part that can be undone alone. The event fails if it breaks a rule of the schema, or meets a
    /// stored value that no operation can use.
    private func applyAlone(
        _ events: PackedEvents, _ index: Int, _ history: HistoryWriter, _ tally: inout ChangeTally,
        _ run: inout ChunkRun
    ) throws {
        let (outcomeCount, placeholderCount) = (run.outcomes.count, run.placeholderCount)
        var ownTally = ChangeTally(entityCount: store.model.entities.count)
        do {
            try history.undoingOnFailure { try applyTogether(events, index..<index + 1, history, &ownTally, &run) }
            tally.add(ownTally)
        } catch let error as StoreError where error.isOfOneEvent {
            try restart()
            run.placeholderCount = placeholderCount
            run.outcomes.removeLast(run.outcomes.count - outcomeCount)
            run.outcomes.append(.failed(EventFailure(code: error.code.rawValue, error.description)))
        }
    }

    private func flush(_ history: HistoryWriter, _ tally: inout ChangeTally, _ run: inout ChunkRun) throws(StoreError) {
        try Saver(registry: registry, session: session, work: work(history)).save(into: &tally)
        run.placeholderCount += registry.placeholderCount
        if applier.notes.isEmpty { return }
        let token = try history.flush()
        let notes = applier.notes.map { $0.saved(token, at: options.now(), source: history.source) }
        applier.notes = []
        try session.append(notes)
    }

    /// Carries a deletion out inside the store; what the chunk held before it is saved already.
    private func deleteInStore(
        _ deletion: EventApplier.LargeDeletion, _ history: HistoryWriter, _ tally: inout ChangeTally
    ) throws -> EventOutcome {
        let tombstone = Tombstone(version: deletion.version, time: deletion.time)
        return try carryOutInStore(history, &tally) { work, tally in
            for root in deletion.roots {
                try session.sets.delete(
                    store.model.entities[root.entity], pk: root.pk, tombstone: tombstone, work, into: &tally)
            }
        }
    }

    private func truncateInStore(
        _ truncation: PackedOperation, _ history: HistoryWriter, _ tally: inout ChangeTally
    ) throws -> EventOutcome {
        try carryOutInStore(history, &tally) { work, tally in
            try session.sets.truncate(
                store.model.entities[truncation.entity], time: truncation.time, work, into: &tally)
        }
    }

    private func carryOutInStore(
        _ history: HistoryWriter, _ tally: inout ChangeTally,
        _ body: (SetWork, inout ChangeTally) throws -> Void
    ) throws -> EventOutcome {
        registry.reset()
        registry.aggregateMemory?.removeAll()
        var ownTally = ChangeTally(entityCount: store.model.entities.count)
        do {
            try history.undoingOnFailure { try body(work(history), &ownTally) }
            registry.storeHasTombstones = true
            tally.add(ownTally)
            return .applied
        } catch let failures as ValidationFailures {
            return .failed(EventFailure(failures))
        }
    }

    /// The tools of this context's set operations.
    package func work(_ history: HistoryWriter) -> SetWork {
        SetWork(
            history: history, plan: plan, validators: applier.validators,
            pageLength: min(max(1, options.setDeletionThreshold), Self.maximumPageLength))
    }
}

extension WriterContext.Chunk {
    /// The records that the chunk saves beside the effect of its events.
    ///
    /// - Parameter deadLetter: makes the dead letter of a failed event, given its position in the chunk.
    fileprivate func ledger(
        _ outcomes: [EventOutcome], _ deadLetter: (Int, EventFailure) -> DeadLetter?
    ) -> ChunkLedger {
        var ledger = ChunkLedger()
        ledger.positions = positions
        ledger.letters = deadLetters
        for (index, outcome) in outcomes.enumerated() {
            if case .failed(let failure) = outcome, let letter = deadLetter(index, failure) {
                ledger.letters.append(letter)
            }
        }
        for (id, outcome) in zip(retriedLetters, outcomes) {
            switch outcome {
            case .applied, .stale: ledger.removedLetters.append(id)
            case .failed(let failure):
                ledger.failedAttempts.append(
                    FailedAttempt(id: id, stage: "apply", code: failure.code, reason: failure.description))
            }
        }
        ledger.failedAttempts += undecodedLetters.map {
            FailedAttempt(id: $0.id, stage: $0.stage, code: $0.code, reason: $0.reason)
        }
        ledger.removedLetters += unwantedLetters
        return ledger
    }
}

extension WriterContext {
    /// Commits the chunks of events; the next call throws to their caller if that fails.
    package func commitChunks() throws(StoreError) {
        guard uncommittedRows > 0 else { return try commit() }
        do {
            try commit()
        } catch {
            undoneChunks = error
            throw error
        }
    }
}
