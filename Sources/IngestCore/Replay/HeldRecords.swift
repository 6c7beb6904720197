import RecordDecoding
import RecordFiles

/// Delivers the records of a file a little behind its reader, so that programs are given them ahead.
///
/// A file that ends in an error delivers the records before that first.
struct HeldRecords {
    /// The number of bytes behind which no further record is read ahead.
    private static let maximumBytes = 1 << 16

    private let limit: Int
    private var held: [FileRecordCopy] = []
    private var deliveredCount = 0
    private var ahead = RecordsAhead()
    private var failure: (any Error)?
    private var isAtEnd = false

    /// Makes a holder of records without the fields of rows.
    ///
    /// - Parameter looksAhead: whether to hold any; else each is delivered as the reader does.
    init(looksAhead: Bool) { limit = looksAhead ? RecordsAhead.limit : 0 }

    /// The number of records that the reader has delivered, and this has not.
    var count: Int { held.count }

    /// Delivers the next record, as ``RecordFileReader/next(_:)`` does.
    ///
    /// - Parameter expect: gives a record ahead; it returns false where the record waits for its turn.
    mutating func next(
        of reader: RecordFileReader, expect: (FileRecord) -> Bool, _ body: (FileRecord) throws -> Void
    ) throws -> Bool {
        if limit == 0 { return try reader.next(body) }
        if held.count <= limit / 2 { fill(from: reader) }
        if held.isEmpty {
            if let failure { throw failure }
            return false
        }
        ahead.give(at: deliveredCount, of: deliveredCount + held.count) {
            held[$0 - deliveredCount].withRecord(expect)
        }
        deliveredCount += 1
        try held.removeFirst().withRecord(body)
        return true
    }

    private mutating func fill(from reader: RecordFileReader) {
        var bytes = held.reduce(0) { $0 + $1.count }
        while held.count < limit, bytes < Self.maximumBytes, !isAtEnd {
            do {
                isAtEnd = try !reader.next { record in
                    held.append(FileRecordCopy(record))
                    bytes += record.value.count
                }
            } catch {
                (failure, isAtEnd) = (error, true)
            }
        }
    }
}
