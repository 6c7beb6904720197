import GraphCore
import IngestCore
import RecordDecoding
import RecordFiles

/// A record as a survey sees it: of a line that is a record of a topic, the record in it.
struct SurveyedRecord {
    /// The topic that the line names, or nil.
    var topic: String?
    /// The key's bytes, or nil.
    var key: UnsafeRawBufferPointer?
    /// The value's bytes; nil for a deletion.
    var value: UnsafeRawBufferPointer?
    /// The fields of a row.
    var fields = CSVFields.none
    /// The line on which the record starts, from 1.
    let line: Int
    /// The stable code of a fault, or nil.
    var fault: String?
}

/// Reads the records of a file for a survey.
struct RecordSurvey {
    let reader: RecordFileReader
    private let lineParser: JSONParser
    private let recordLimit: Int?

    /// Opens a file.
    ///
    /// - Throws: ``RecordFileError``.
    init(path: String, recordLimit: Int?) throws {
        reader = try RecordFileReader(path: path)
        lineParser = JSONParser(maximumBytes: 1 << 30)
        self.recordLimit = recordLimit
    }

    /// Calls `body` with each record, whose bytes live for the call.
    func each(_ body: (SurveyedRecord) throws -> Void) throws {
        while try recordLimit.map({ reader.recordNumber < $0 }) ?? true
            && reader.next({ file in try take(file, body) })
        {}
    }

    private func take(_ file: FileRecord, _ body: (SurveyedRecord) throws -> Void) throws {
        var record = SurveyedRecord(value: file.value, fields: file.fields, line: file.line, fault: file.fault?.code)
        guard reader.format != .csv, file.fault == nil, RecordLine.matches(file.value) else { return try body(record) }
        let line: RecordLine
        do throws(DecodeError) {
            line = try RecordLine(file.value, parser: lineParser)
        } catch {
            record.fault = error.code
            return try body(record)
        }
        try line.withRecord { inner in
            (record.topic, record.key, record.value) = (line.topic, inner.key, inner.value)
            try body(record)
        }
    }

    /// The most bytes of a document that are looked at.
    private static let documentByteLimit = 64 << 20

    /// Tells whether the first line of a file begins a document of several lines, as tools for maps write it.
    ///
    /// - Parameter hasRecords: whether some lines are records by themselves, as those after a broken one are.
    /// - Throws: ``RecordFileError``.
    static func isDocument(path: String, hasRecords: Bool) throws -> Bool {
        let reader = try RecordFileReader(path: path)
        let parser = JSONParser(maximumBytes: 1 << 30)
        guard reader.format == .jsonLines else { return false }
        func fault(_ bytes: UnsafeRawBufferPointer) -> JSONError? {
            do throws(JSONError) { _ = try parser.parse(bytes) } catch { return error }
            return nil
        }
        var text: [UInt8] = []
        var isOpen = false
        while try text.count < documentByteLimit
            && reader.next({ record in
                if record.number == 1 { isOpen = fault(record.value)?.code == "json.truncated" }
                text += record.value
                text.append(UInt8(ascii: "\n"))
            }) && isOpen
        {}
        return isOpen && (!hasRecords || text.withUnsafeBytes { fault($0) == nil })
    }
}
