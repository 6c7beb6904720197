import ObjectGraph

/// Records of which a route's program makes events.
extension EventDecoder {
    /// Runs a program on a record.
    ///
    /// - Parameter value: the record's value, or nil for a null value.
    func decode(
        _ value: JSONValue?, by program: RecordProgram, _ record: SourceRecord
    ) throws(DecodeError) -> ChangeSet {
        let outputs = try program.outputs(of: try input(value, record))
        let isAlone = outputs.count <= 1
        return try joined(outputs, place: { isAlone ? "The program's event" : "Event \($0) of the program" }) {
            output throws(DecodeError) in try CloudEventsFormat.event(output, self)
        }
    }

    /// The program's input: the values of its variables and the record's value.
    ///
    /// Whole numbers that a double does not hold are texts in it.
    private func input(_ value: JSONValue?, _ record: SourceRecord) throws(DecodeError) -> [UInt8] {
        var output = Array("[".utf8)
        // A key that is no text, such as a number in eight bytes, is null; a schema that cannot be had is no such key.
        let key = try record.withPlainKey { key throws(DecodeError) -> RouteExpression.Result? in
            try? keys.text(key, at: .root)
        }
        if case .text(let key)? = key {
            output += JSONText.string(key).utf8
        } else {
            output += "null".utf8
        }
        output += ",{".utf8
        for (index, header) in record.headers.enumerated() {
            if index > 0 { output += ",".utf8 }
            let text = header.value.map { JSONText.string(String(decoding: $0, as: UTF8.self)) }
            output += "\(JSONText.string(header.name)):\(text ?? "null")".utf8
        }
        let isFile = ReplayEngine.path(ofTopic: record.place.topic) != nil
        let topic = isFile ? "null" : JSONText.string(record.place.topic)
        let time = record.timestampMilliseconds.map { JSONText.string(Timestamp.text(milliseconds: $0)) }
        output += "},\(topic),\(time ?? "null"),".utf8
        if let value { value.serialize(into: &output, quotesGreatIntegers: true) } else { output += "null".utf8 }
        output += "]".utf8
        return output
    }
}
