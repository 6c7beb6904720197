import ObjectGraph

/// A request on its way through a store's writer, one step at a time. The writer commits each step, which is small
/// enough to stand between two chunks of a running worker. A step's effect stays when no other step follows.
package final class ControlWork {
    private let request: ControlRequest
    private let writer: WriterContext
    private let retry: DeadLetterRetry
    private var letters: LetterBatches?
    private var purged = PurgeResult()
    private let limits: ChunkConfiguration
    /// Called with each line of progress for the client.
    package var onNote: (String) -> Void = { _ in }

    /// Makes the work of a request through a context that holds the store's lease.
    package init(_ request: ControlRequest, writer: WriterContext, configuration: WorkerConfiguration) {
        self.request = request
        self.writer = writer
        limits = configuration.chunk
        retry = DeadLetterRetry(writer: writer, configuration: configuration)
        retry.onFailure = { [unowned self] letter in onNote(letter.summary) }
    }

    /// Does the next step, and returns the result after the last one.
    ///
    /// - Throws: `StoreError`, or ``ControlError`` where the request asks for what cannot be; earlier steps stay.
    package func step() throws -> ControlResult? {
        switch request {
        case .retryDeadLetters(let selection):
            if letters == nil { letters = try LetterBatches(selection, writer.store, limits) }
            if let ids = letters?.next() { try retry.retry(ids) }
            return letters?.isEmpty == false ? nil : .retried(retry.summary)
        case .dropDeadLetters(let selection):
            if letters == nil { letters = try LetterBatches(selection, writer.store, limits) }
            if let ids = letters?.next() { try writer.removeDeadLetters(ids) }
            return letters?.isEmpty == false ? nil : .dropped(letters?.count ?? 0)
        case .purgeHistory(let purge):
            purged.add(try writer.purgeHistory(purge))
            return purged.isFinished ? .purged(purged) : nil
        case .putCursor(let name, let token):
            try put(name, token)
            return .cursorPut
        case .removeCursor(let name): return .cursorRemoved(try writer.removeCursor(name))
        case .dropConflicts(let id): return .conflictsDropped(try writer.dropConflicts(through: id))
        }
    }

    /// Does all steps.
    ///
    /// - Throws: as ``step()``.
    package func finish() throws -> ControlResult {
        while true {
            if let result = try step() { return result }
        }
    }

    private func put(_ name: String, _ token: Int64) throws {
        let last = try writer.store.read { try $0.lastToken() }
        guard (0...last).contains(token) else {
            throw ControlError(
                .token, "The history has no token \(token)", remedy: "The tokens are those from 0 to \(last)")
        }
        try writer.putCursors([name: token])
        try writer.commit()
    }
}

/// The numbers of selected dead letters, cut into batches that a chunk's bounds allow. A letter may hold megabytes, so
/// the numbers alone are in memory.
struct LetterBatches {
    private var letters: ArraySlice<(id: Int64, bytes: Int)>
    private let limits: ChunkConfiguration
    /// The number of all that were selected.
    let count: Int

    /// Selects letters, in the order of their original positions.
    init(_ selection: DeadLetterSelection, _ store: Store, _ limits: ChunkConfiguration) throws {
        letters = try store.read { try $0.deadLetterIDs(selection) }[...]
        count = letters.count
        self.limits = limits
    }

    /// Whether no batch follows.
    var isEmpty: Bool { letters.isEmpty }

    /// Takes the next batch, or nil at the end.
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
