/// Tells which store the schema of a connection holds: the number of its table of metadata, which no other table gets.
struct StoreMark: Equatable, Sendable {
    private let table: Int64?

    static let query = PostgresStatement("SELECT to_regclass('_metadata')::oid::int8")

    /// Reads the mark from the result of ``query``.
    init(_ result: PostgresResult) { table = result.first?.optionalInteger(0) }
}
