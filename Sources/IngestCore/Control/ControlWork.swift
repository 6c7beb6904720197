import GraphCore

/// A request on its way through a store's writer, one step at a time. The writer commits each step with the request's
/// audit entry. A step is small enough to stand between two chunks of a running worker, and stays when no other follows.
package final class ControlWork {
    private let request: ControlRequest
    private let writer: WriterContext
    private let retry: DeadLetterRetry
    private let limits: ChunkConfiguration
    private var audit: RequestAudit
    private var letters: LetterBatches?
    /// The result so far, and the result that is committed.
    private var progress: ControlResult?
    private var committed: ControlResult?
    /// Called with each line of progress for the client.
    package var onNote: (String) -> Void = { _ in }

    /// Makes the work of a request through a context that holds the store's lease.
    ///
    /// - Parameters:
    ///   - actor: who asks, for the audit.
    ///   - key: the idempotency key, or nil.
    /// - Throws: `StoreError`, and ``ControlError`` where the key stands for another request.
    package init(
        _ request: ControlRequest, actor: String, key: String? = nil, writer: WriterContext,
        configuration: WorkerConfiguration
    ) throws {
        self.request = request
        self.writer = writer
        limits = configuration.chunk
        audit = try RequestAudit(request, actor: actor, key: key, writer: writer)
        progress = audit.progress
        committed = audit.progress
        var summary = DeadLetterRetry.Summary()
        if case .retried(let earlier) = audit.progress { summary = earlier }
        retry = DeadLetterRetry(writer: writer, configuration: configuration, summary: summary)
        retry.onFailure = { [unowned self] letter in onNote(letter.summary) }
    }

    /// When the request began, in microseconds since 1970 UTC.
    var time: Int64 { audit.time }

    /// The answer of an earlier request with the same key, or nil.
    var earlier: ControlResult? { audit.earlier }

    /// Does the next step, and returns the result after the last one.
    ///
    /// - Throws: `StoreError`, or ``ControlError`` where the request asks for what cannot be; earlier steps stay.
    package func step() throws -> ControlResult? {
        if let earlier = audit.earlier { return earlier }
        do {
            let (result, saved) = try writer.inOneCommit {
                let result = try takeStep()
                progress = result ?? progress
                return (result, try audit.saved(result == nil ? .unfinished : .done, progress, with: writer))
            }
            (audit, committed) = (saved, progress)
            return result
        } catch {
            fail(ControlError(error))
            throw error
        }
    }

    private func takeStep() throws -> ControlResult? {
        switch request {
        case .retryDeadLetters(let selection):
            if let ids = try nextLetters(selection) { try retry.retry(ids) }
            progress = .retried(retry.summary)
            return letters?.isEmpty == false ? nil : progress
        case .dropDeadLetters(let selection):
            var count = if case .dropped(let count) = progress { count } else { 0 }
            if let ids = try nextLetters(selection) {
                try writer.removeDeadLetters(ids)
                count += ids.count
            }
            progress = .dropped(count)
            return letters?.isEmpty == false ? nil : progress
        case .purgeHistory(let purge):
            var purged = if case .purged(let purged) = progress { purged } else { PurgeResult() }
            purged.add(try writer.purgeHistory(purge))
            progress = .purged(purged)
            return purged.isFinished ? progress : nil
        case .confirmPurges: return .purgesConfirmed(try writer.confirmPurges())
        case .putCursor(let name, let token):
            try put(name, token)
            return .cursorPut
        case .removeCursor(let name): return .cursorRemoved(try writer.removeCursor(name))
        case .dropConflicts(let id): return .conflictsDropped(try writer.dropConflicts(through: id))
        // They take no step of the writer: see ``ReadingWork``.
        case .exportDeadLetters, .verify, .backUp: return nil
        }
    }

    /// Saves that a request begins that takes no step of the writer.
    func begin() throws {
        audit = try writer.inOneCommit { try audit.saved(.unfinished, nil, with: writer) }
    }

    /// Saves the result of a request that takes no step of the writer.
    func finish(_ result: ControlResult) throws {
        audit = try writer.inOneCommit { try audit.saved(.done, result, with: writer) }
    }

    /// Saves why the request came to nothing, or to no more. Where the store takes no entry, its own failure is graver.
    func fail(_ error: ControlError) {
        if writer.store.needsVerification { return }
        if let saved = try? writer.inOneCommit({ try audit.saved(.failed, committed, error, with: writer) }) {
            audit = saved
        }
    }

    /// Saves why the request was not begun. A repetition keeps the entry of the first, which may be under way.
    func refuse(_ error: ControlError) {
        if !audit.isRepetition { fail(error) }
    }

    /// Does all steps.
    ///
    /// - Throws: as ``step()``.
    package func finish() throws -> ControlResult {
        while true {
            if let result = try step() { return result }
        }
    }

    private func nextLetters(_ selection: DeadLetterSelection) throws -> [Int64]? {
        if letters == nil {
            letters = try LetterBatches(selection, writer.store, limits, through: audit.lastLetter)
        }
        return letters?.next()
    }

    private func put(_ name: String, _ token: Int64) throws {
        let last = try writer.store.read { try $0.lastToken() }
        guard (0...last).contains(token) else {
            throw ControlError(
                .token, "The history has no token \(token)", remedy: "The tokens are those from 0 to \(last)")
        }
        try writer.putCursors([name: token])
    }
}

/// The numbers of selected dead letters, cut into batches that a chunk's bounds allow. A letter may hold megabytes, so
/// the numbers alone are in memory.
struct LetterBatches {
    private var letters: ArraySlice<(id: Int64, bytes: Int)>
    private let limits: ChunkConfiguration

    /// Selects letters up to a number, in the order of their original positions.
    init(
        _ selection: DeadLetterSelection, _ store: Store, _ limits: ChunkConfiguration, through last: Int64 = .max
    ) throws {
        letters = try store.read { try $0.deadLetterIDs(selection) }.filter { $0.id <= last }[...]
        self.limits = limits
    }

    /// Whether no batch follows.
    var isEmpty: Bool { letters.isEmpty }

    /// Returns the next batch, or nil at the end.
    mutating func next() -> [Int64]? {
        var ids: [Int64] = []
        var bytes = 0
        while ids.count < limits.maxOperations, bytes < limits.maxBytes, let letter = letters.popFirst() {
            ids.append(letter.id)
            bytes += letter.bytes
        }
        return ids.isEmpty ? nil : ids
    }
}
