import Foundation
import GraphCore
import Logging
import RecordDecoding
import RecordFiles

/// Reads record files into a store: resumes where an earlier run stopped, and can be killed at any time.
package final class ReplayEngine {
    /// How far a replay is.
    package struct Progress: Sendable {
        /// The file's path as it was given; `-` is standard input.
        package let path: String
        /// The number of records done, in this and earlier runs.
        package let records: Int
        /// How many bytes were read from the file on disk, compressed ones where it is compressed.
        package let bytesRead: Int
        /// The file's size on disk, or nil for standard input.
        package let totalBytes: Int?
    }

    /// The outcome of one file.
    package struct FileResult: Sendable {
        /// The file's path as it was given; `-` is standard input.
        package let path: String
        /// The records of this run.
        package let records: Int
        /// The records that an earlier run had done.
        package let resumedAfter: Int
    }

    private let pipeline: IngestPipeline
    private let configuration: WorkerConfiguration
    private let logger: Logger
    private let isStopping: () -> Bool
    private let now: () -> Double
    private var lineParser: JSONParser?
    private let decoders: RecordDecoders
    /// Called a few times a second.
    package var onProgress: (Progress) -> Void = { _ in }

    /// Makes an engine that feeds a pipeline.
    ///
    /// - Parameters:
    ///   - pipeline: where records go.
    ///   - configuration: the mappings of files, and the limits of records.
    ///   - logger: reports a file that was exchanged.
    ///   - now: a monotonic clock in seconds, for the progress.
    ///   - isStopping: asked after each record; true ends the replay after a last commit.
    package init(
        pipeline: IngestPipeline, configuration: WorkerConfiguration, logger: Logger,
        isStopping: @escaping () -> Bool = { false }, now: @escaping () -> Double = MonotonicClock.seconds
    ) {
        self.pipeline = pipeline
        self.configuration = configuration
        self.logger = logger
        self.isStopping = isStopping
        self.now = now
        decoders = RecordDecoders(configuration: configuration, model: pipeline.writer.store.model)
    }

    /// Replays a file from where the store's position of it stands.
    ///
    /// Another file at the same path starts from its beginning; a file that has only grown goes on.
    ///
    /// - Parameters:
    ///   - path: the file's path; `-` is standard input.
    ///   - mapping: how the file is read; nil finds it in the configuration.
    ///   - restarts: forgets the position: every record is applied again, which changes nothing where nothing changed.
    /// - Throws: ``RecordFileError``, ``RouteError``, `StoreError`, ``IngestPipeline/Halt``.
    package func replay(path: String, mapping: FileConfiguration? = nil, restarts: Bool = false) throws -> FileResult {
        let decoding = try FileDecoding(path: path, mapping: mapping, configuration, pipeline.writer.store.model)
        let reader = decoding.reader
        let topic = RecordPlace.topic(ofFile: path)
        let known = try pipeline.writer.store.read { try $0.positions() }.first { $0.topic == topic }
        pipeline.begin(topic: topic, partition: 0, at: known?.nextOffset)
        let start = restarts ? 0 : startRecord(reader, known)
        let skipped = try reader.skip(records: start)
        let detail = reader.fingerprint?.description
        var progress = Recurrence(everySeconds: 0.1)
        var hasMore = true
        var records = HeldRecords(looksAhead: looksAhead(decoding))
        while hasMore, !isStopping() {
            hasMore = try records.next(of: reader, expect: { expect($0, decoding) }) { file in
                let record = decoding.source(of: file)
                if decoding.holdsRecord(file) { return try addLine(record, detail: detail) }
                try pipeline.add(record, nextOffset: Int64(file.number), detail: detail) {
                    record throws(DecodeError) in try decoding.decode(file, record)
                }
            }
            let done = reader.recordNumber - records.count
            if done & 0xff == 0, progress.isDue(at: now()) { onProgress(Progress(reader, done)) }
        }
        try pipeline.finish()
        let done = reader.recordNumber - records.count
        onProgress(Progress(reader, done))
        return FileResult(path: path, records: done - skipped, resumedAfter: skipped)
    }

    /// Whether programs are given the records of a file ahead. A pipe may be slow: none of its records waits for the next.
    private func looksAhead(_ decoding: FileDecoding) -> Bool {
        if decoding.reader.fingerprint == nil || decoding.rows != nil { return false }
        let routes = configuration.topics.flatMap(\.routes) + configuration.files.flatMap(\.routes)
        return decoding.decoder.runsPrograms || routes.contains { $0.program != nil }
    }

    /// Lets the program of a record begin that is decoded soon.
    private func expect(_ file: FileRecord, _ decoding: FileDecoding) -> Bool {
        let record = decoding.source(of: file)
        if !decoding.holdsRecord(file) { return decoding.decoder.expect(record) }
        guard let bytes = record.value, let line = try? RecordLine(bytes, parser: knownLineParser) else { return true }
        return line.withRecord { decoders.expect($0) }
    }

    private var knownLineParser: JSONParser {
        let parser = lineParser ?? RecordLine.parser(configuration.limits)
        lineParser = parser
        return parser
    }

    /// Adds the record that a line holds with its key, as its own source would; the file's position counts.
    private func addLine(_ line: SourceRecord, detail: String?) throws {
        let whole: RecordLine
        do {
            if let fault = line.fault { throw fault }
            guard let bytes = line.value, line.totalBytes == bytes.count else {
                throw DecodeError(
                    code: "decode.too_large",
                    "The line has \(line.totalBytes) bytes, more than limits.maxRecordBytes. Raise the limit")
            }
            whole = try RecordLine(bytes, parser: knownLineParser)
        } catch let error as DecodeError {
            return try pipeline.add(line, nextOffset: line.place.offset, detail: detail) { _ throws(DecodeError) in
                throw error
            }
        }
        try decoders.checkRoutes(of: whole.topic)
        try whole.withRecord { record in
            try pipeline.add(record, at: line.place, nextOffset: line.place.offset, detail: detail) {
                record throws(DecodeError) in try decoders.decode(record)
            }
        }
    }

    private func startRecord(_ reader: RecordFileReader, _ known: SourcePosition?) -> Int {
        // A pipe holds another stream each time; only a file can be gone on with.
        guard reader.path != "-", reader.fingerprint != nil, let known else { return 0 }
        if let earlier = known.detail.flatMap({ FileFingerprint($0) }), !reader.isSameFile(as: earlier) {
            logger.warning(
                "another file stands at this path: it is read from its beginning",
                metadata: ["path": "\(reader.path)"])
            return 0
        }
        return Int(known.nextOffset)
    }
}

extension ReplayEngine.Progress {
    init(_ reader: RecordFileReader, _ records: Int) {
        (path, self.records) = (reader.path, records)
        (bytesRead, totalBytes) = (reader.bytesRead, reader.totalBytes)
    }
}
