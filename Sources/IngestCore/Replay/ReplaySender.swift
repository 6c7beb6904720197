import GraphCore
import KafkaClient
import Logging
import RecordDecoding
import RecordFiles

/// Sends the records of files to a Kafka topic: JSON as it stands, CSV rows as JSON objects of their columns. A line of
/// `dead-letters export` or of `kcat -J` is sent as the record in it, with its key, headers and timestamp.
///
/// A record's key is its object's entity and identity, so that one object's events stay in order. A record that is no
/// event gets no key; it is sent for the worker to keep as a dead letter.
package final class ReplaySender {
    private let configuration: WorkerConfiguration
    private let model: ObjectModel
    private let topic: String
    private let producer: Producer
    private let lineParser: JSONParser
    private static let flushMilliseconds = 30_000
    /// Called a few times a second.
    package var onProgress: (ReplayEngine.Progress) -> Void = { _ in }

    /// Makes a sender to a topic, with a producer of its own.
    ///
    /// - Throws: `KafkaError` where a property is unknown or refused.
    package init(configuration: WorkerConfiguration, model: ObjectModel, topic: String, logger: Logger) throws {
        self.configuration = configuration
        self.model = model
        self.topic = topic
        lineParser = RecordLine.parser(configuration.limits)
        producer = try Producer(configuration: configuration.kafka.clientConfiguration(logger: logger))
    }

    /// Sends a file's records and returns their number, once all are delivered.
    ///
    /// - Throws: ``RecordFileError``, ``RouteError``, `KafkaError`.
    package func send(path: String) throws -> Int {
        let decoding = try FileDecoding(path: path, configuration, model)
        let reader = decoding.reader
        var progress = Recurrence(everySeconds: 0.1)
        var hasMore = true
        while hasMore {
            hasMore = try reader.next { file in
                if file.isOversize {
                    throw IngestPipeline.Halt(
                        location: "\(path) line \(file.line)",
                        message:
                            "the record has \(file.totalBytes) bytes, more than limits.maxRecordBytes, and cannot be "
                            + "sent whole",
                        remedy: "Raise the limit, or take the record out")
                }
                // Nothing to say on a topic, either.
                if file.fields.isBlank, file.fault == nil { return }
                let record =
                    try heldRecord(file, decoding, path: path) ?? ownRecord(file, decoding, path: path)
                try enqueue(record, from: "\(path) line \(file.line)")
            }
            if progress.isDue(at: MonotonicClock.seconds()) {
                onProgress(ReplayEngine.Progress(reader, reader.recordNumber))
            }
        }
        try flush()
        return reader.recordNumber
    }

    /// Returns a record of the file: JSON as it stands, and a row as the JSON object of its columns. A row that is broken
    /// would lose some of them.
    private func ownRecord(_ file: FileRecord, _ decoding: FileDecoding, path: String) throws -> ProducerRecord {
        func halt(_ message: String) -> IngestPipeline.Halt {
            IngestPipeline.Halt(
                location: "\(path) line \(file.line)", message: message,
                remedy: "Correct the row, and send the file again")
        }
        var value = [UInt8](file.value)
        if let rows = decoding.rows {
            if let fault = file.fault { throw halt(fault.description) }
            do { value = try rows.json(file) } catch { throw halt(error.message) }
        }
        let event = try? decoding.decode(file, decoding.source(of: file))
        return ProducerRecord(topic: topic, key: event.flatMap(key), value: value)
    }

    /// Queues a record that stands at a place of a file.
    private func enqueue(_ record: ProducerRecord, from place: @autoclosure () -> String) throws {
        do {
            try producer.enqueue(record, makingRoom: flush)
        } catch let error as KafkaError where error.code == .messageTooLarge && error.topicPartition?.partition == -1 {
            // The client itself refuses this record. A refusal of the broker names the partition of an earlier one.
            throw IngestPipeline.Halt(
                location: place(), message: "the record is larger than the client sends (kafka.message.max.bytes)",
                remedy: "Raise kafka.message.max.bytes and the topic's max.message.bytes, or take the record out")
        }
    }

    /// Returns the record that a line holds; nil of any other line, and of a line that lacks something.
    private func heldRecord(_ file: FileRecord, _ decoding: FileDecoding, path: String) throws -> ProducerRecord? {
        guard file.fault == nil, decoding.holdsRecord(file),
            let line = try? RecordLine(file.value, parser: lineParser)
        else { return nil }
        return try line.withRecord { record in
            if let fault = record.fault {
                throw IngestPipeline.Halt(
                    location: "\(path) line \(file.line)", message: fault.description,
                    remedy: "Take the line out of the file")
            }
            return ProducerRecord(
                topic: topic, key: record.key.map { [UInt8]($0) }, value: record.value.map { [UInt8]($0) },
                headers: record.headers, timestampMilliseconds: record.timestampMilliseconds)
        }
    }

    private func flush() throws { try producer.flush(timeoutMilliseconds: Self.flushMilliseconds) }

    private func key(_ event: ChangeSet) -> [UInt8]? {
        guard let root = event.operations.last, root.kind != .truncate else { return nil }
        let entity = model.entities[root.entity]
        return [UInt8]("\(entity.name):\(entity.identity.type.text(of: root.identity))".utf8)
    }
}
