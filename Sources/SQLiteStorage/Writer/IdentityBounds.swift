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
        _ identities: [PackedValue], of root: Entity, in store: SQLiteWriterSession
    ) throws(StoreError) -> [PackedValue] {
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
        case .greatest(let greatest):
            let arena = ValueArena()
            defer { withExtendedLifetime(arena) {} }
            let bound = arena.pack(greatest)
            return identities.filter { bound.isBefore($0) != true }
        case .unknown: return identities
        }
    }

    /// Notes the identities of new rows, which stand in one slot of their values.
    mutating func insert(_ rows: [SlotValues], slot: Int, of root: Entity) {
        guard let bound = bounds[root.index], var greatest = rows.first?.packed(slot) else { return }
        if case .unknown = bound { return }
        for row in rows.dropFirst() {
            guard let isLess = greatest.isBefore(row.packed(slot)) else {
                bounds[root.index] = .unknown
                return
            }
            if isLess { greatest = row.packed(slot) }
        }
        guard case .greatest(let known) = bound else {
            bounds[root.index] = .greatest(greatest.value)
            return
        }
        guard let isGreater = Self.isBefore(known, greatest.value) else {
            bounds[root.index] = .unknown
            return
        }
        if isGreater { bounds[root.index] = .greatest(greatest.value) }
    }

    private static func read(_ root: Entity, _ store: SQLiteWriterSession) throws(StoreError) -> Bound {
        let column = SQLText.quoted(root.identity.columnName)
        // The least tells whether all are of the kind of the greatest: SQLite sorts numbers before texts before blobs.
        let statement = try store.statement(
            "SELECT (SELECT min(\(column)) FROM \(SQLText.quoted(root.tableName))), max(\(column)) "
                + "FROM \(SQLText.quoted(root.tableName))")
        defer { statement.reset() }
        guard try statement.step(), !statement.isNull(1) else { return .empty }
        return isBefore(statement.value(0), statement.value(1)) == nil ? .unknown : .greatest(statement.value(1))
    }

    /// Tells whether the index has one identity before another, or returns nil where they are not both texts, numbers or
    /// blobs.
    private static func isBefore(_ value: Value, _ other: Value) -> Bool? {
        let arena = ValueArena()
        defer { withExtendedLifetime(arena) {} }
        return arena.pack(value).isBefore(arena.pack(other))
    }
}
