/// Delivers the records of a file a little behind its reader, so that somebody can look at them ahead.
///
/// It reads in halves of what it may hold. A file that ends in an error delivers the records before that first.
package struct HeldRecords {
    /// A copy of a record, which outlives the call that delivered it.
    private struct Held {
        let record: FileRecord
        let bytes: [UInt8]
    }

    /// The number of bytes behind which no further record is read ahead.
    private static let maximumBytes = 1 << 16

    private let limit: Int
    private var held: ArraySlice<Held> = []
    private var failure: (any Error)?
    private var isAtEnd = false

    /// Makes a holder of records without the fields of rows.
    ///
    /// - Parameter limit: how many records to hold at most; 0 delivers each as the reader does.
    package init(limit: Int) { self.limit = limit }

    /// The number of records that the reader has delivered, and this has not.
    package var count: Int { held.count }

    /// Delivers the next record, as ``RecordFileReader/next(_:)`` does.
    ///
    /// - Parameter ahead: sees each record once, before it is delivered.
    package mutating func next(
        of reader: RecordFileReader, ahead: (FileRecord) -> Void, _ body: (FileRecord) throws -> Void
    ) throws -> Bool {
        if limit == 0 { return try reader.next(body) }
        if held.count <= limit / 2 { fill(from: reader, ahead) }
        guard let next = held.popFirst() else {
            if let failure { throw failure }
            return false
        }
        try next.bytes.withUnsafeBytes { try body(next.record.with(bytes: $0)) }
        return true
    }

    private mutating func fill(from reader: RecordFileReader, _ ahead: (FileRecord) -> Void) {
        var bytes = held.reduce(0) { $0 + $1.bytes.count }
        while held.count < limit, bytes < Self.maximumBytes, !isAtEnd {
            do {
                isAtEnd = try !reader.next { record in
                    ahead(record)
                    held.append(Held(record: record, bytes: Array(record.value)))
                    bytes += record.value.count
                }
            } catch {
                (failure, isAtEnd) = (error, true)
            }
        }
    }
}

extension FileRecord {
    /// Returns the record with its bytes in another place.
    fileprivate func with(bytes: UnsafeRawBufferPointer) -> FileRecord {
        FileRecord(
            value: bytes, number: number, line: line, byteOffset: byteOffset, totalBytes: totalBytes,
            isOversize: isOversize, fault: fault, fields: .none)
    }
}
