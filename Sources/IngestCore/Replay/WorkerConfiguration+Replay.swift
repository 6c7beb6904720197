import GraphCore
import Logging

/// The counts of a replay of files.
public struct ReplayCounts: Sendable, Equatable {
    /// The records that were read.
    public let records: Int
    /// The events that were applied, repeated ones included.
    public let applied: Int
    /// The events older than what the store knew, which changed nothing.
    public let stale: Int
    /// The records that asked nothing of the store.
    public let filtered: Int
    /// The records that the store keeps as dead-letter records, with their reasons.
    public let deadLetters: Int
    /// The placeholders that were made for objects that had not arrived.
    public let placeholders: Int

    init(_ summary: IngestPipeline.Summary) {
        records = summary.records
        applied = summary.applied
        stale = summary.stale
        filtered = summary.filtered
        deadLetters = summary.deadLetters
        placeholders = summary.placeholders
    }
}

extension WorkerConfiguration {
    /// Reads record files into the store, as `ingest-worker replay` does. Each record takes effect once, however often
    /// a program replays the file.
    ///
    /// The store keeps how far a file was read: the next call goes on there, also after a crash. A cancelled task ends the
    /// replay after a last commit. The call blocks its thread, and takes the store's lease while it lasts.
    ///
    /// - Parameters:
    ///   - files: the paths; `-` is standard input.
    ///   - model: the model of the store.
    ///   - restarts: whether to read files from their beginning: a record that the store knows changes nothing.
    ///   - logger: reports dead-letter records.
    /// - Throws: ``RecordFileError``, ``RouteError``, `StoreError` (`store.leased` while another writer has the store), or
    ///   an error with code `ingest.halted`. The records before the failure stay.
    public func replay(
        files: [String], model: ObjectModel, restarts: Bool = false, logger: Logger
    ) throws -> ReplayCounts {
        try withPipeline(model: model, logger: logger) { pipeline in
            let engine = ReplayEngine(
                pipeline: pipeline, configuration: self, logger: logger, isStopping: { Task.isCancelled })
            for path in files where !Task.isCancelled { _ = try engine.replay(path: path, restarts: restarts) }
            return ReplayCounts(pipeline.summary)
        }
    }

    /// Calls `body` with a pipeline into the store, which it closes afterwards. After a failure the records before it stay,
    /// and the position with them.
    ///
    /// - Throws: `StoreError`, and what `body` throws.
    package func withPipeline<Result>(
        model: ObjectModel, logger: Logger, _ body: (IngestPipeline) throws -> Result
    ) throws -> Result {
        let store = try openStore(model: model)
        let writer = try WriterContext(store: store, options: writerOptions)
        let pipeline = IngestPipeline(writer: writer, configuration: self, logger: logger)
        do {
            let result = try body(pipeline)
            try writer.close()
            return result
        } catch {
            // After a failure of the disk it writes nothing more.
            if !store.needsVerification {
                try? pipeline.finish()
                try? writer.close()
            }
            throw error
        }
    }
}
