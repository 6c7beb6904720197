import GraphCore
import KafkaClient
import RecordDecoding

/// A line of a file that is a record of a topic, with its key: an exported dead letter, or a line of `kcat -J`.
///
/// Source of the second form: kcat's `format.c`, of version 1.7.
package struct RecordLine {
    private let letter: DeadLetter

    /// The topic of the record, or the name under which the store keeps a file's position.
    package var topic: String { letter.topic }

    /// Tells whether bytes are such a line; cheap, for every record of a file is asked.
    package static func matches(_ bytes: UnsafeRawBufferPointer) -> Bool {
        DeadLetterLine.matches(bytes) || isOfKcat(bytes)
    }

    /// Reads a line.
    ///
    /// - Throws: ``DecodeError`` with code `decode.envelope` where something is missing.
    package init(_ bytes: UnsafeRawBufferPointer, parser: JSONParser) throws(DecodeError) {
        let isExported = DeadLetterLine.matches(bytes)
        letter =
            isExported ? try DeadLetterLine.letter(bytes, parser: parser) : try Self.recordOfKcat(bytes, parser)
    }

    /// Calls `body` with the record, whose bytes live for the call.
    package func withRecord<Result, Failure: Error>(
        _ body: (SourceRecord) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try letter.withRecord(body)
    }

    /// Makes a parser of such lines. Base64 and the reason take more room than the record that the limits are about.
    static func parser(_ limits: LimitConfiguration) -> JSONParser {
        JSONParser(maximumBytes: max(limits.maxRecordBytes, 1 << 20) * 2)
    }

    // MARK: kcat

    /// Writes a record as `kcat -J` does, without the headers that name a schema, for its value is plain; nil where that is
    /// no text. A key or a header that is no text is null.
    package static func text(of record: SourceRecord) -> String? {
        func json(_ bytes: (some Sequence<UInt8>)?) -> String {
            bytes.flatMap { String(validating: $0, as: UTF8.self) }.map { JSONText.string($0) } ?? "null"
        }
        let payload = json(record.value)
        if payload == "null", record.value != nil { return nil }
        let headers = record.headers.filter { !RegisteredContent.names($0) }
            .map { "\(JSONText.string($0.name)),\(json($0.value))" }.joined(separator: ",")
        let place = record.place
        return "{\"topic\":\(JSONText.string(place.topic)),\"partition\":\(place.partition),\"offset\":\(place.offset)"
            + ",\"tstype\":\"create\",\"ts\":\(record.timestampMilliseconds.map { "\($0)" } ?? "null")"
            + ",\"headers\":[\(headers)],\"key\":\(json(record.key)),\"payload\":\(payload)}"
    }

    private static let beginning = Array("\"topic\"".utf8)
    private static let mark = Array("\"tstype\"".utf8)
    /// The mark stands behind a topic's name, a partition and an offset.
    private static let maximumMarkOffset = 400

    /// Other programs write such lines too, with spaces between.
    private static func isOfKcat(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.first == UInt8(ascii: "{") else { return false }
        let first = bytes.dropFirst().drop { $0 == UInt8(ascii: " ") }
        return first.starts(with: beginning) && bytes.prefix(maximumMarkOffset).firstRange(of: mark) != nil
    }

    private static func recordOfKcat(
        _ bytes: UnsafeRawBufferPointer, _ parser: JSONParser
    ) throws(DecodeError) -> DeadLetter {
        let root: JSONValue
        do { root = try parser.parse(bytes).root } catch { throw DecodeError(error) }
        guard let place = DeadLetterLine.place(root), let key = root.member("key"),
            let payload = root.member("payload"), [key, payload].allSatisfy({ $0.isNull || $0.kind == .string })
        else {
            throw DecodeError(
                code: "decode.envelope",
                "The line of kcat needs 'topic', 'partition', 'offset', and 'key' and 'payload' as texts or null. Take the "
                    + "records again with 'kcat -C -J'")
        }
        let value = payload.string.map { Array($0.utf8) }
        return DeadLetter(
            time: 0, topic: place.topic, partition: place.partition, offset: place.offset, stage: "decode", code: "",
            reason: "",
            key: key.string.map { Array($0.utf8) }, value: value, valueBytes: value?.count ?? 0,
            headers: root.member("headers").flatMap(headers), timestampMilliseconds: root.member("ts")?.int64)
    }

    /// Turns the list of names and values, one after the other, into headers as a dead letter has them.
    private static func headers(_ json: JSONValue) -> String? {
        let texts = json.elements.map { $0.string }
        return DeadLetterLine.text(
            stride(from: 0, to: texts.count - 1, by: 2).map { index in
                RecordHeader(texts[index] ?? "", texts[index + 1].map { Array($0.utf8) })
            })
    }
}
