import GraphCore
import KafkaClient
import RecordDecoding

/// A dead letter as a line of JSON, which `replay` reads again as the record that it was.
package enum DeadLetterLine {
    /// How each line begins; no CloudEvent does.
    static let beginning = "{\"deadLetter\":"

    /// Returns a letter's line: its place, its reason, and key, value and headers in base64.
    package static func text(_ letter: DeadLetter) -> String {
        let content = JSONObject([
            "key": base64(letter.key), "value": base64(letter.value),
            "headers": letter.headers.map { JSONFragment($0) },
        ])
        return (JSONObject(["deadLetter": letter.id]) + description(letter) + content).json
    }

    /// A letter's place, its reason, and the size of its record.
    package static func description(_ letter: DeadLetter) -> JSONObject {
        JSONObject([
            "id": letter.id, "topic": letter.topic, "partition": letter.partition, "offset": letter.offset,
            "line": letter.line, "time": Timestamp.text(letter.time), "stage": letter.stage, "code": letter.code,
            "reason": letter.reason, "attempts": letter.attempts, "valueBytes": letter.valueBytes,
            "timestampMilliseconds": letter.timestampMilliseconds,
        ])
    }

    /// Returns headers as a letter and its line have them: a JSON array of `[name, base64]`; nil where there are none.
    static func text(_ headers: [RecordHeader]) -> String? {
        if headers.isEmpty { return nil }
        return headers.map { [$0.name, base64($0.value)] }.json
    }

    private static func base64(_ bytes: [UInt8]?) -> String? { bytes.map { Base64Text.text($0) } }

    /// Tells whether bytes begin as a line does; cheap, for every record of a file is asked.
    static func matches(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count > beginning.utf8.count else { return false }
        return bytes[0] == 0x7B && bytes[1] == 0x22 && bytes[2] == 0x64
            && bytes.prefix(beginning.utf8.count).elementsEqual(beginning.utf8)
    }

    /// Reads a line.
    ///
    /// - Throws: ``DecodeError`` with code `decode.envelope` where something is missing.
    static func letter(_ bytes: UnsafeRawBufferPointer, parser: JSONParser) throws(DecodeError) -> DeadLetter {
        let root: JSONValue
        do { root = try parser.parse(bytes).root } catch { throw DecodeError(error) }
        let size = root.member("valueBytes")?.int64 ?? 0
        guard let place = place(root), let key = content(root.member("key")), let value = content(root.member("value")),
            size <= maximumValueBytes
        else {
            throw DecodeError(
                code: "decode.envelope",
                "The line of a dead letter needs 'topic', 'partition', 'offset', and 'key' and 'value' in base64 or null. "
                    + "Export it again")
        }
        let headers = root.member("headers").flatMap { $0.kind == .array ? $0.serialized() : nil }
        return DeadLetter(
            time: 0, topic: place.topic, partition: place.partition, offset: place.offset,
            line: root.member("line")?.int64.flatMap { Int(exactly: $0) }, stage: "decode", code: "", reason: "",
            key: key.bytes, value: value.bytes, valueBytes: max(Int(size), value.bytes?.count ?? 0),
            headers: headers.map { String(decoding: $0, as: UTF8.self) },
            timestampMilliseconds: root.member("timestampMilliseconds")?.int64)
    }

    /// The greatest size that a line may state, so that the sizes of all records add up to a number of 64 bits.
    private static let maximumValueBytes: Int64 = 1 << 40

    /// Returns the place that a line of this form, or of kcat's, states; nil where it is none. Behind the offset there is
    /// a next one.
    static func place(_ root: JSONValue) -> RecordPlace? {
        guard let topic = root.member("topic")?.string, let offset = root.member("offset")?.int64,
            (0..<Int64.max).contains(offset),
            let partition = root.member("partition")?.int64.flatMap({ Int32(exactly: $0) })
        else { return nil }
        return RecordPlace(topic: topic, partition: partition, offset: offset)
    }

    /// Bytes, or their absence that a line states.
    private struct Content {
        let bytes: [UInt8]?
    }

    private static func content(_ json: JSONValue?) -> Content? {
        guard let json else { return nil }
        if json.isNull { return Content(bytes: nil) }
        return json.string.flatMap { Base64Text.bytes($0) }.map { Content(bytes: $0) }
    }
}
