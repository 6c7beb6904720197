import ObjectGraph

/// Recognises a file that is one JSON document over several lines, as `jq .` or a tool for maps writes it.
enum DocumentCheck {
    /// The most bytes of a document that are looked at.
    private static let byteLimit = 64 << 20

    /// Returns why a file holds no lines of records, or nil where its first line is none of a longer document.
    ///
    /// - Parameter hasRecords: whether some of its lines are records by themselves.
    /// - Throws: ``RecordFileError``.
    static func fault(path: String, hasRecords: Bool) throws -> InferenceError? {
        let reader = try RecordFileReader(path: path)
        let parser = try JSONParser(maximumBytes: 1 << 30)
        guard reader.format == .jsonLines else { return nil }
        var text: [UInt8] = []
        var isOpen = false
        while try text.count < byteLimit
            && reader.next({ record in
                if record.number == 1 { isOpen = isCut(record.value, parser) }
                text += record.value
                text.append(UInt8(ascii: "\n"))
            }) && isOpen
        {}
        guard isOpen else { return nil }
        var fault: InferenceError?
        text.withUnsafeBytes { bytes in
            try? parser.withValue(of: bytes) { fault = error(path, array(of: $0)) }
        }
        return fault ?? (hasRecords ? nil : error(path, nil))
    }

    /// Tells whether a line ends inside a document.
    private static func isCut(_ line: UnsafeRawBufferPointer, _ parser: JSONParser) -> Bool {
        do throws(JSONError) {
            _ = try parser.parse(line)
            return false
        } catch {
            return error.code == "json.truncated"
        }
    }

    /// The name of the longest array of objects in a document, or nil.
    private static func array(of root: JSONValue) -> String? {
        root.members.filter { $0.value.kind == .array && $0.value.elements.contains { $0.kind == .object } }
            .max { $0.value.count < $1.value.count }.map { InferredText.path(JSONValue.text($0.key)) }
    }

    private static func error(_ path: String, _ array: String?) -> InferenceError {
        InferenceError(
            "init.document", "\(path) is no file of lines: a document goes over several lines",
            remedy: "Make a line of each record: jq -c '\(array.map { ".\($0)[]" } ?? ".")' \(path) > records.jsonl")
    }
}
