/// A copy of a record without the fields of a row. It outlives the call that delivered the record.
package struct FileRecordCopy {
    private let record: FileRecord
    private let bytes: [UInt8]

    /// Copies a record's bytes.
    package init(_ record: FileRecord) {
        self.record = record
        bytes = Array(record.value)
    }

    /// The number of bytes that the copy takes.
    package var count: Int { bytes.count }

    /// Calls `body` with the record, whose bytes live for the call.
    package func withRecord<Result>(_ body: (FileRecord) throws -> Result) rethrows -> Result {
        try bytes.withUnsafeBytes { bytes in
            try body(
                FileRecord(
                    value: bytes, number: record.number, line: record.line, byteOffset: record.byteOffset,
                    totalBytes: record.totalBytes, isOversize: record.isOversize, fault: record.fault, fields: .none))
        }
    }
}
