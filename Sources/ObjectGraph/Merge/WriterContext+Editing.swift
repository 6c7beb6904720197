import GraphCore

// How editing contexts save: between the chunks of the events, in transactions of their own.
extension WriterContext {
    /// Saves the changes of an editing context, all of them or none.
    ///
    /// Chunks that are not committed yet are committed first, so that neither can undo the other.
    ///
    /// - Throws: ``EditingError``, ``StoreError``; what a policy throws.
    package func save(_ edits: EditSet, author: String?, name: String?) throws -> EditOutcome {
        try exclusively {
            try commitChunks()
            var refusal: (any Error)?
            var outcome: EditOutcome?
            try undoingOnFailure("save the changes") {
                try beginIfNeeded()
                do {
                    outcome = try write(edits, author: author, name: name)
                } catch let error where !(error is StoreError) {
                    refusal = error
                }
            }
            if let refusal {
                try rollback()
                throw EditingError.of(refusal)
            }
            try commit()
            guard let outcome else { return EditOutcome(targets: [:]) }
            return outcome
        }
    }

    private func write(_ edits: EditSet, author: String?, name: String?) throws -> EditOutcome {
        registry.reset()
        defer { registry.reset() }
        let time = options.now()
        let replay = SaveMerge(edits, registry: registry, applier: applier, time: time)
        try replay.run()
        let history = HistoryWriter(
            session, time: time, author: author ?? options.author, context: name ?? options.name,
            source: nil, nextChange: nextChange)
        var tally = ChangeTally(entityCount: store.model.entities.count)
        try Saver(registry: registry, session: session, work: work(history)).save(into: &tally)
        let token = try history.close()
        var outcome = replay.outcome()
        outcome.result.token = token
        outcome.result.conflicts = replay.notes.map { $0.saved(token, at: time, source: name ?? options.name) }
        try session.append(outcome.result.conflicts)
        if let token { savedToken = token }
        nextChange = history.nextChange
        uncommittedCount += tally.total
        return outcome
    }
}

extension EditingError {
    /// Translates the refusals of the events' engine into errors of a context; other errors pass unchanged.
    package static func of(_ error: any Error) -> any Error {
        (error as? EventFailure).map { EditingError(.type, $0.description) } ?? error
    }
}
