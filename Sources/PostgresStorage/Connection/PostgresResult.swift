import CPostgres

/// The rows that a statement returned, in memory.
final class PostgresResult {
    private let result: OpaquePointer

    /// Takes a result over.
    init(_ result: OpaquePointer) { self.result = result }

    deinit { PQclear(result) }

    /// The number of rows.
    var count: Int { Int(PQntuples(result)) }

    /// The server's word for its deed, as in `COMMIT`.
    var tag: String { String(cString: PQcmdStatus(result)) }

    /// The number of rows that the statement wrote.
    var changedRowCount: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

    var rows: some RandomAccessCollection<PostgresRow> {
        (0..<count).lazy.map { PostgresRow(result: self, index: Int32($0)) }
    }

    var first: PostgresRow? { count > 0 ? PostgresRow(result: self, index: 0) : nil }

    fileprivate func isNull(_ row: Int32, _ column: Int) -> Bool { PQgetisnull(result, row, Int32(column)) != 0 }

    fileprivate func cell(_ row: Int32, _ column: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: PQgetvalue(result, row, Int32(column)), count: Int(PQgetlength(result, row, Int32(column))))
    }
}

/// A row of a result.
struct PostgresRow: StoreRow {
    fileprivate let result: PostgresResult
    fileprivate let index: Int32

    func isNull(_ column: Int) -> Bool { result.isNull(index, column) }

    /// A whole number; 0 for null.
    func integer(_ column: Int) -> Int64 { isNull(column) ? 0 : result.cell(index, column).wholeNumber }

    /// A text; the empty one for null.
    func text(_ column: Int) -> String { String(decoding: result.cell(index, column), as: UTF8.self) }

    func blob(_ column: Int) -> [UInt8]? { isNull(column) ? nil : Array(result.cell(index, column)) }

    func flag(_ column: Int) -> Bool { integer(column) != 0 }

    func value(_ column: Int) -> Value { value(column, .anyValue) }

    func value(_ column: Int, _ kind: ColumnKind) -> Value {
        isNull(column) ? .null : kind.value(result.cell(index, column))
    }
}
