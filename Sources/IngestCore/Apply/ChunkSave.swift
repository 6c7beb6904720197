import GraphCore
import RecordDecoding

/// A closed chunk on its way into the store: applied and committed, again where another writer got in the way.
///
/// One thread at a time uses it: the pipeline's, or the one that carries it out, until the pipeline takes it back.
final class ChunkSave: @unchecked Sendable {
    /// The outcome of a saved chunk.
    struct Report {
        var events = 0
        var stale = 0
        /// The events that the store refused, by their indexes in the chunk, ascending.
        var failures: [(index: Int, failure: EventFailure)] = []
        var placeholders = 0
        let changes: ChangeTally
        /// The number of rows that the commit wrote.
        var rows = 0
        /// How long the save took, and the commit at its end, in seconds.
        var seconds = 0.0
        var commitSeconds = 0.0
        /// The token of the history transaction, or nil where nothing changed.
        var token: Int64?
        /// When the chunk was committed, in microseconds since 1970 UTC.
        var time: Int64 = 0
    }

    /// An event that the store refused where one bad record is to stop the worker.
    struct Refusal: Error {
        let place: RecordPlace
        let failure: EventFailure
    }

    /// The parts of a pipeline that a save needs.
    struct Tools {
        let writer: WriterContext
        let toleratesErrors: Bool
        let metrics: WorkerMetrics?
        let tracing: WorkerTracing
        let clock: WorkerClock
    }

    private(set) var chunk: PendingChunk
    let closed: ChunkPolicy.Closed
    /// The positions that the save makes last.
    let positions: [SourcePosition]
    /// How often another writer got in the way.
    private(set) var conflicts = 0
    private(set) var outcome: Result<Report, any Error>?
    private let tools: Tools

    init(_ chunk: PendingChunk, _ closed: ChunkPolicy.Closed, positions: [SourcePosition], _ tools: Tools) {
        self.chunk = chunk
        self.closed = closed
        self.positions = positions
        self.tools = tools
    }

    /// Applies the chunk and commits it.
    func run() {
        outcome = Result {
            try tools.tracing.span("ingest chunk", ofKind: .consumer, of: [chunk.origin?.trace].compactMap(\.self)) {
                span in
                span?.attributes["messaging.batch.message_count"] = chunk.events.count
                span?.attributes["ingest.source"] = chunk.source
                return try save()
            }
        }
    }

    /// Hands the chunk back, emptied, so that its memory serves another one.
    ///
    /// The thread that has decoded the events frees them, too: an allocator is fastest where both happen on one thread.
    func takeChunk() -> PendingChunk {
        var emptied = PendingChunk(tools.writer.store.model)
        swap(&emptied, &chunk)
        emptied.removeAll()
        return emptied
    }

    private func save() throws -> Report {
        while true {
            do {
                let (started, token) = (tools.clock.seconds(), tools.writer.committedToken)
                var report = try apply()
                report.rows = tools.writer.uncommittedRows
                let applied = tools.clock.seconds()
                try tools.writer.commit()
                let ended = tools.clock.seconds()
                report.time = tools.clock.microseconds()
                (report.seconds, report.commitSeconds) = (ended - started, ended - applied)
                // The token of a draft is known only after the commit.
                report.token = tools.writer.committedToken == token ? nil : tools.writer.committedToken
                // Before anything of the chunk is notified.
                if let origin = chunk.origin {
                    tools.metrics?.latency.committed(
                        recordTime: origin.recordTime, readTime: origin.readTime, token: report.token, at: report.time)
                }
                return report
            } catch let error as StoreError where error.code == .conflict && mayConflict {
                // A draft of the only writer is lost where the chunk needs more than reads and then writes.
                if tools.writer.sharesStore { conflicts += 1 }
            }
        }
    }

    private var mayConflict: Bool { tools.writer.drafts && tools.toleratesErrors }

    /// Applies the chunk without a commit.
    ///
    /// - Throws: `StoreError`, or ``Refusal``.
    func apply() throws -> Report {
        var saved = WriterContext.Chunk(
            events: [], source: chunk.source, positions: positions, deadLetters: chunk.deadLetters)
        saved.packed = chunk.events
        saved.trace = chunk.origin?.trace
        let result = try tools.writer.apply(saved, mayConflict: mayConflict) {
            chunk.deadLetter($0, $1, time: tools.clock.microseconds())
        }
        var report = Report(
            events: result.outcomes.count, placeholders: result.placeholderCount, changes: result.changes)
        for (index, outcome) in result.outcomes.enumerated() {
            switch outcome {
            case .applied: break
            case .stale: report.stale += 1
            case .failed(let failure):
                if !tools.toleratesErrors { throw Refusal(place: chunk.place(index), failure: failure) }
                report.failures.append((index, failure))
            }
        }
        return report
    }
}
