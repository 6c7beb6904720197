import GraphCore

/// Records of which a route's program makes events.
extension EventDecoder {
    /// Runs a program on a record.
    ///
    /// - Parameters:
    ///   - value: the record's value, or nil for a null value.
    ///   - route: the route that has the program, and says how values are written.
    func decode(
        _ value: JSONValue?, by program: RecordProgram, _ route: Route, _ record: SourceRecord
    ) throws(DecodeError) -> ChangeSet {
        let outputs = try program.outputs(of: try input(value, record, of: program))
        let isAlone = outputs.count <= 1
        return try joined(outputs, place: { isAlone ? "The program's event" : "Event \($0) of the program" }) {
            output throws(DecodeError) in try CloudEvent.changes(output, route, self)
        }
    }

    /// Lets the program of a record begin that is decoded soon: the process works on it while the worker does. Nothing depends
    /// on it but the time.
    ///
    /// - Returns: false where the record waits for its turn, as one does that may ask a registry.
    package func expect(_ record: SourceRecord) -> Bool {
        guard runsPrograms, format.routesTakeWholeValue else { return !runsPrograms }
        guard RegisteredContent(record.value, .value, record.headers) == nil,
            RegisteredContent(record.key, .key, record.headers) == nil
        else { return false }
        guard record.fault == nil, record.totalBytes <= maximumRecordBytes, let value = record.value,
            let root = try? parse(value)
        else { return true }
        let scope = scope(record, root: root)
        guard let index = try? takingRoute(scope)?.index, let program = routes[index].program,
            routes[index].filterHolds(in: scope), let input = try? input(root, record, of: program)
        else { return true }
        return program.expect(input)
    }

    /// The program's input: the values of its variables and the record's value.
    ///
    /// Numbers that a double does not hold are texts in it.
    private func input(
        _ value: JSONValue?, _ record: SourceRecord, of program: RecordProgram
    ) throws(DecodeError) -> [UInt8] {
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
            // A header that is no text is null, unless the program names it.
            let text = program.names(header.name) ? try header.text() : try? header.text()
            output += "\(JSONText.string(header.name)):\(text.map { JSONText.string($0) } ?? "null")".utf8
        }
        let place = record.place
        let topic = place.isOfFile ? "null" : JSONText.string(place.topic)
        let time = record.timestampMilliseconds.map { JSONText.string(Timestamp.text(milliseconds: $0)) }
        let (file, folder) = (place.fileName.map { JSONText.string($0) }, place.folderName.map { JSONText.string($0) })
        output += "},\(topic),\(time ?? "null"),\(place.rowNumber),".utf8
        output += "\(file ?? "null"),\(folder ?? "null"),\(place.isOfFile ? "null" : "\(place.offset)"),".utf8
        if let value { value.serialize(into: &output, quotesInexact: true) } else { output += "null".utf8 }
        output += "]".utf8
        return output
    }
}
