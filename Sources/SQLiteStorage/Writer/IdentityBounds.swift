import StoreSQL

/// Knows an upper bound of each table's identities, so that the writer does not look up greater ones.
///
/// Identities that hold their time, such as UUIDs of version 7, and numbers that count up are greater than all before. No
/// identity of a table is greater than its bound. The lease makes this connection the only writer, and each insertion raises
/// the bound. A deletion and an undone insertion leave it as it is.
struct IdentityBounds {
    /// The bound of each hierarchy by the position of its root; nil before its table was asked.
    private var bounds: [Bound?]
    /// Whether a table was asked in the open transaction, which may have deleted the greatest before.
    private var isProvisional = false

    private enum Bound {
        /// The table has no row.
        case empty
        case greatest(Value)
        /// An identity of a kind that has no order here was inserted: any may be there.
        case unknown
    }

    init(entityCount: Int) { bounds = Array(repeating: nil, count: entityCount) }

    /// Forgets all: another process may have written the store.
    mutating func discard() { bounds = Array(repeating: nil, count: bounds.count) }

    /// The open transaction is committed.
    mutating func keep() { isProvisional = false }

    /// The open transaction is undone, or a part of it. So are its deletions, which a bound that was read in it misses.
    mutating func undo() {
        if isProvisional { discard() }
    }

    /// Returns the identities that a root's table may have, of the given ones.
    mutating func candidates(
        _ identities: [Value], of root: Entity, in store: SQLiteWriterSession
    ) throws(StoreError) -> [Value] {
        let bound: Bound
        if let known = bounds[root.index] {
            bound = known
        } else {
            bound = try Self.read(root, store)
            isProvisional = true
        }
        bounds[root.index] = bound
        switch bound {
        case .empty: return []
        case .greatest(let greatest): return identities.filter { Self.isGreater($0, than: greatest) != true }
        case .unknown: return identities
        }
    }

    /// Notes the identities of new rows, which stand in one slot of their values.
    mutating func insert(_ rows: [[Value]], slot: Int, of root: Entity) {
        var greatest: Value?
        switch bounds[root.index] {
        case .unknown?, nil: return
        case .empty?: break
        case .greatest(let known)?: greatest = known
        }
        for row in rows {
            guard let known = greatest else {
                greatest = row[slot]
                continue
            }
            guard let isGreater = Self.isGreater(row[slot], than: known) else {
                bounds[root.index] = .unknown
                return
            }
            if isGreater { greatest = row[slot] }
        }
        if let greatest { bounds[root.index] = .greatest(greatest) }
    }

    private static func read(_ root: Entity, _ store: SQLiteWriterSession) throws(StoreError) -> Bound {
        let column = SQLText.quoted(root.identity.columnName)
        // The least tells whether all are of the kind of the greatest: SQLite sorts numbers before texts before blobs.
        let statement = try store.statement(
            "SELECT (SELECT min(\(column)) FROM \(SQLText.quoted(root.tableName))), max(\(column)) "
                + "FROM \(SQLText.quoted(root.tableName))")
        defer { statement.reset() }
        guard try statement.step(), !statement.isNull(1) else { return .empty }
        return isGreater(statement.value(1), than: statement.value(0)) == nil ? .unknown : .greatest(statement.value(1))
    }

    /// Compares two identities as the index does, or returns nil where they are not both texts, numbers or blobs.
    private static func isGreater(_ value: Value, than other: Value) -> Bool? {
        switch (value, other) {
        case (.integer(let value), .integer(let other)): value > other
        case (.text(let value), .text(let other)): Value.order(other, value) < 0
        case (.blob(let value), .blob(let other)): other.lexicographicallyPrecedes(value)
        default: nil
        }
    }
}
