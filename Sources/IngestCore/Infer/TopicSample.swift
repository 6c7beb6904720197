import Foundation
import KafkaClient
import Logging
import ObjectGraph

/// Copies the first records of a topic into a file of JSON lines, for a survey.
package final class TopicSample {
    /// The records that were read.
    package struct Summary: Sendable, Equatable {
        /// The records that the file holds.
        package var records = 0
        /// The records that are no JSON objects.
        package var unreadable = 0
        /// The records without a value.
        package var deletions = 0
        /// Whether all of them have the schema wrapper of Kafka Connect.
        package var isWrapped = false
        /// Whether the topic has more.
        package var hasMore = false

        /// The format of the topic in a configuration.
        package var format: EventFormat { isWrapped ? .connect : .json }
    }

    /// How long a broker that gives nothing is waited for.
    private static let silenceSeconds = 30.0

    private let topic: String
    private let recordLimit: Int
    private let parser: JSONParser
    private let contents: RecordContents
    private var output: [UInt8] = []
    private var summary = Summary()
    private var wrapped = 0

    private init(topic: String, recordLimit: Int, _ configuration: WorkerConfiguration) throws {
        self.topic = topic
        self.recordLimit = recordLimit
        contents = try RecordContents(SchemaRegistry(configuration), limits: configuration.limits)
        parser = try JSONParser(maximumBytes: 1 << 30)
    }

    /// Reads the oldest records of each partition, in the order in which the broker gives them.
    ///
    /// - Throws: `KafkaError`; ``InferenceError`` where there is no such topic, or nothing in it can be read.
    package static func write(
        topic: String, to path: String, recordLimit: Int, configuration: WorkerConfiguration, logger: Logger
    ) throws -> Summary {
        let sample = try TopicSample(topic: topic, recordLimit: recordLimit, configuration)
        try sample.read(configuration.kafka, logger)
        guard sample.summary.records > 0 else {
            throw InferenceError(
                "init.topic",
                "The topic \(topic) holds no JSON objects, only \(counted(sample.summary.unreadable, "other record"))",
                remedy: "Name a topic with JSON, or one that has records")
        }
        try Data(sample.output).write(to: URL(filePath: path), options: .atomic)
        sample.summary.isWrapped = sample.wrapped == sample.summary.records
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
        var heard = HealthMonitor.monotonicSeconds()
        while !ends.isEmpty, summary.records < recordLimit {
            let batch = try consumer.poll(maxRecords: recordLimit - summary.records, timeoutMilliseconds: 100)
            for record in batch {
                try take(record)
                if let end = ends[record.topicPartition], record.offset + 1 >= end { ends[record.topicPartition] = nil }
            }
            for event in batch.errors where event.error.code == .partitionEnd {
                if let partition = event.topicPartition { ends[partition] = nil }
            }
            if !batch.isEmpty { heard = HealthMonitor.monotonicSeconds() }
            if HealthMonitor.monotonicSeconds() - heard > Self.silenceSeconds {
                throw KafkaError(
                    .timedOut, "the broker has given nothing of \(topic) for \(Int(Self.silenceSeconds)) seconds")
            }
        }
        summary.hasMore = !ends.isEmpty
    }

    private func take(_ record: ConsumedRecord) throws {
        var source = ConsumerWorker.source(record, record.topicPartition)
        // A survey looks at values only.
        source.key = nil
        let taken: Result<Void, any Error>
        do throws(DecodeError) {
            taken = try contents.plain(source) { plain throws(DecodeError) in
                Result { try take(value: plain.value) }
            }
        } catch {
            if error.isRetriable { throw error }
            return summary.unreadable += 1
        }
        try taken.get()
    }

    private func take(value: UnsafeRawBufferPointer?) throws {
        guard let value else { return summary.deletions += 1 }
        guard let root = try? parser.parse(value).root, root.kind == .object else { return summary.unreadable += 1 }
        let (payload, schema) = EventDecoder.unwrapped(root)
        if payload.isNull { return summary.deletions += 1 }
        if payload.member("op") != nil, payload.member("source") != nil {
            throw InferenceError(
                "init.debezium", "The topic \(topic) holds change events of Debezium, which need no inferred routes",
                remedy: "Give it 'format: debezium', and write a model with the tables' entities")
        }
        payload.serialize(into: &output)
        output.append(UInt8(ascii: "\n"))
        summary.records += 1
        if schema != nil { wrapped += 1 }
    }
}
