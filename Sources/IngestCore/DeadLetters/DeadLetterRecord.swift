import GraphCore
import KafkaClient

/// Makes the record that a dead-letter topic gets: the original key, value and headers, and where and why it failed.
///
/// The headers that begin with `__connect.errors.` are the same as Kafka Connect's sinks write, so that tools for its
/// dead-letter queues read them. Source: org.apache.kafka.connect.runtime.errors.DeadLetterQueueReporter and Stage.
struct DeadLetterRecord: Sendable {
    /// The topic that gets the records.
    let topic: String
    /// The name that stands for the connector's.
    let author: String
    /// The store's own identity, with which a letter's number is unique everywhere.
    let storeIdentity: String
    /// The size above which the value is cut, in bytes of key, value and headers.
    var maximumBytes: Int

    private static let connect = "__connect.errors."
    private static let own = "ingest.deadletter."
    /// The approximate size of a record besides its key, value and headers, and of a header besides its name and value.
    private static let overheadBytes = 128
    private static let headerOverheadBytes = 8

    /// Returns a letter's record.
    func record(_ letter: DeadLetter) -> ProducerRecord {
        var headers = letter.recordHeaders.map { RecordHeader($0.name, $0.value) }
        let context = context(letter)
        var key = letter.key
        let needed = Self.overheadBytes + Self.size(context)
        // Where the original headers or the key leave no room for themselves, the place has to be enough.
        if needed + Self.size(headers) + (key?.count ?? 0) > maximumBytes { headers = [] }
        if needed + Self.size(headers) + (key?.count ?? 0) > maximumBytes { key = nil }
        let room = max(0, maximumBytes - needed - Self.size(headers) - (key?.count ?? 0))
        var value = letter.value
        if let whole = value, whole.count > room { value = Array(whole.prefix(room)) }
        headers += context
        if (value?.count ?? 0) < letter.valueBytes {
            headers.append(Self.header(Self.own + "value.bytes", "\(letter.valueBytes)"))
        }
        return ProducerRecord(
            topic: topic, key: key, value: value, headers: headers, timestampMilliseconds: letter.time / 1000)
    }

    /// The number of the letter that a record of the topic carries; nil where it is none of this store.
    func id(_ record: ConsumedRecord) -> Int64? {
        guard let text = record.headers.last(where: { $0.name == Self.own + "id" })?.value else { return nil }
        let parts = String(decoding: text, as: UTF8.self).split(separator: ":")
        return parts.count == 2 && parts[0] == storeIdentity ? Int64(parts[1]) : nil
    }

    private func context(_ letter: DeadLetter) -> [RecordHeader] {
        let isDecoding = letter.stage == "decode"
        var headers = [
            (Self.connect + "topic", letter.topic), (Self.connect + "partition", "\(letter.partition)"),
            (Self.connect + "offset", "\(letter.offset)"), (Self.connect + "connector.name", author),
            (Self.connect + "task.id", "0"), (Self.connect + "stage", isDecoding ? "VALUE_CONVERTER" : "TASK_PUT"),
            (Self.connect + "class.name", isDecoding ? "IngestCore.EventDecoder" : "ObjectGraph.WriterContext"),
            (Self.connect + "exception.class.name", letter.code), (Self.connect + "exception.message", letter.reason),
            (Self.own + "id", "\(storeIdentity):\(letter.id)"), (Self.own + "attempts", "\(letter.attempts)"),
            (Self.own + "time", Timestamp.text(letter.time)),
        ]
        if let line = letter.line { headers.append((Self.own + "line", "\(line)")) }
        if let timestamp = letter.timestampMilliseconds { headers.append((Self.own + "timestamp", "\(timestamp)")) }
        return headers.map(Self.header)
    }

    private static func header(_ name: String, _ value: String) -> RecordHeader {
        RecordHeader(name, [UInt8](value.utf8))
    }

    private static func size(_ headers: [RecordHeader]) -> Int {
        headers.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) + headerOverheadBytes }
    }
}
