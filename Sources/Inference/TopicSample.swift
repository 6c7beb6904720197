import Foundation
import GraphCore
import IngestCore
import KafkaClient
import Logging
import RecordDecoding
import SQLiteStorage

/// Copies the first records of a topic into a file of lines such as those of `kcat -J`, for a survey.
package final class TopicSample {
    /// The records that were read.
    package struct Summary: Sendable, Equatable {
        /// The records with a value that the file holds.
        package var records = 0
        /// The records that are no JSON objects.
        package var unreadable = 0
        /// The records without a value, which the file holds too.
        package var deletions = 0
        /// Whether the topic has more.
        package var hasMore = false

        /// The records that were read, each of which counts towards the limit.
        fileprivate var total: Int { records + unreadable + deletions }
    }

    /// How long a broker that gives nothing is waited for.
    private static let silenceSeconds = 30.0

    private let topic: String
    private let recordLimit: Int
    private let parser: JSONParser
    private let contents: RecordContents
    private let file: FileHandle
    /// The lines that are not in the file yet.
    private var output: [UInt8] = []
    private static let outputBytes = 1 << 20
    private var summary = Summary()
    /// Why the first unreadable record is that.
    private var reason: String?

    private init(topic: String, recordLimit: Int, _ configuration: WorkerConfiguration, _ file: FileHandle) throws {
        self.topic = topic
        self.file = file
        self.recordLimit = recordLimit
        contents = RecordContents(configuration.makeSchemaRegistry(), limits: configuration.limits)
        parser = JSONParser(maximumBytes: 1 << 30)
    }

    /// Reads the oldest records of each partition, in the order in which the broker gives them.
    ///
    /// - Throws: `KafkaError`; `StoreError` where the file cannot be made; ``InferenceError`` where there is no such topic, or nothing in it can be read.
    package static func write(
        topic: String, to path: String, recordLimit: Int, configuration: WorkerConfiguration, logger: Logger
    ) throws -> Summary {
        // A copy of an earlier run stays until this one is whole.
        let draft = path + ".new"
        unlink(draft)
        try DurableFile.make(draft)
        defer { unlink(draft) }
        let file = try FileHandle(forWritingTo: URL(filePath: draft))
        let sample = try TopicSample(topic: topic, recordLimit: recordLimit, configuration, file)
        try sample.read(configuration.kafka, logger)
        try sample.flush()
        try file.close()
        guard sample.summary.records > 0 else {
            throw InferenceError(
                "init.topic",
                "The topic \(topic) holds no JSON objects, only \(counted(sample.summary.total, "other record"))"
                    + (sample.summary.hasMore ? " at its beginning" : "")
                    + (sample.reason.map { ". The first: \($0)" } ?? ""),
                remedy: sample.summary.hasMore
                    ? "Read more of it with --sample-records" : "Name a topic with JSON, or one that has records")
        }
        try DurableFile.replace(path, with: draft)
        return sample.summary
    }

    private func read(_ kafka: KafkaSettings, _ logger: Logger) throws {
        let admin = try Admin(configuration: kafka.clientConfiguration(logger: logger))
        guard let found = try admin.metadata().topics[topic], !found.isEmpty else {
            throw InferenceError(
                "init.topic", "The broker has no topic \(topic)",
                remedy: "Correct the name, or set kafka.bootstrap.servers to its broker")
        }
        var ends: [TopicPartition: Int64] = [:]
        var starts: [TopicPartition: Int64] = [:]
        for partition in found.map({ TopicPartition(topic, $0.number) }) {
            let marks = try admin.watermarks(partition)
            guard marks.low < marks.high else { continue }
            (starts[partition], ends[partition]) = (marks.low, marks.high)
        }
        let consumer = try Consumer(withoutGroup: try kafka.consumerConfiguration(logger: logger))
        defer { try? consumer.close(timeoutMilliseconds: 5000) }
        try consumer.assign(adding: starts)
        var heard = MonotonicClock.seconds()
        while !ends.isEmpty, summary.total < recordLimit {
            let batch = try consumer.poll(maxRecords: recordLimit - summary.total, timeoutMilliseconds: 100)
            for record in batch {
                try take(record)
                if output.count >= Self.outputBytes { try flush() }
                if let end = ends[record.topicPartition], record.offset + 1 >= end { ends[record.topicPartition] = nil }
            }
            for event in batch.errors where event.error.code == .partitionEnd {
                if let partition = event.topicPartition { ends[partition] = nil }
            }
            if !batch.isEmpty { heard = MonotonicClock.seconds() }
            if MonotonicClock.seconds() - heard > Self.silenceSeconds {
                throw KafkaError(
                    .timedOut, "the broker has given nothing of \(topic) for \(Int(Self.silenceSeconds)) seconds")
            }
        }
        summary.hasMore = !ends.isEmpty
    }

    private func flush() throws {
        try file.write(contentsOf: output)
        output.removeAll(keepingCapacity: true)
    }

    private func take(_ record: ConsumedRecord) throws {
        do throws(DecodeError) {
            try contents.plain(ConsumerWorker.source(record, record.topicPartition)) { record throws(DecodeError) in
                try record.withPlainKey { key in
                    var plain = record
                    plain.key = key
                    keep(plain)
                }
            }
        } catch {
            if error.isRetriable { throw error }
            reason = reason ?? error.message
            summary.unreadable += 1
        }
    }

    private func keep(_ record: SourceRecord) {
        guard let line = RecordLine.text(of: record) else { return summary.unreadable += 1 }
        if let value = record.value {
            guard let root = try? parser.parse(value).root, [.object, .array].contains(root.kind) else {
                return summary.unreadable += 1
            }
            if SchemaFields.unwrapped(root).payload.isNull { summary.deletions += 1 } else { summary.records += 1 }
        } else {
            summary.deletions += 1
        }
        output += line.utf8
        output.append(UInt8(ascii: "\n"))
    }
}
