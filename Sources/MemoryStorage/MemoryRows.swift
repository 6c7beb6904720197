/// The rows of a hierarchy of entities, by primary key, with indexes of identities and of other unique values.
struct MemoryRows: Sendable {
    private(set) var all: [StoredRow] = []
    private var keysByIdentity: [Value: Int64] = [:]
    private var keysByUnique: [Unique: Int64] = [:]

    /// The values of a uniqueness constraint.
    private struct Unique: Hashable {
        let constraint: Int
        let values: [Value]
    }

    /// Returns the row of a primary key, or nil.
    subscript(pk: Int64) -> StoredRow? {
        let position = position(pk)
        return position < all.count && all[position].pk == pk ? all[position] : nil
    }

    /// Returns the row of an identity, or nil.
    func row(identity: Value) -> StoredRow? { keysByIdentity[identity].flatMap { self[$0] } }

    /// Puts rows in their places, and removes others. New keys mostly come last.
    ///
    /// - Throws: ``StoreError`` with code `store.constraint` where two rows have the same unique values afterwards.
    mutating func change(_ changed: [Int64: StoredRow?], unlessTaken name: String) throws(StoreError) {
        let rows = changed.values.compactMap { $0 }
        try checkUniqueness(of: rows, among: changed, name)
        for row in changed.keys.compactMap({ self[$0] }) {
            keysByIdentity[Self.identity(row)] = nil
            for key in Self.uniqueValues(row) { keysByUnique[key] = nil }
        }
        for (key, row) in changed.sorted(by: { $0.key < $1.key }) {
            if let row { put(row) } else { remove(key) }
        }
        for row in rows {
            keysByIdentity[Self.identity(row)] = row.pk
            for key in Self.uniqueValues(row) { keysByUnique[key] = row.pk }
        }
    }

    /// Checks that no two rows have the same unique values once the changed ones are in their places.
    private func checkUniqueness(
        of rows: [StoredRow], among changed: [Int64: StoredRow?], _ name: String
    ) throws(StoreError) {
        var identities: Set<Value> = []
        var unique: Set<Unique> = []
        for row in rows {
            let identity = Self.identity(row)
            let holder = keysByIdentity[identity]
            guard identities.insert(identity).inserted, holder.map({ changed[$0] != nil }) ?? true else {
                throw Self.taken("\(name).\(row.entity.identity.name)")
            }
            for key in Self.uniqueValues(row) {
                let holder = keysByUnique[key]
                if unique.insert(key).inserted, holder.map({ changed[$0] != nil }) ?? true { continue }
                let constraint = row.entity.uniquenessConstraints.first { $0.index == key.constraint }
                throw Self.taken("\(name).\(constraint?.properties.joined(separator: ", ") ?? "")")
            }
        }
    }

    private static func identity(_ row: StoredRow) -> Value { row.values[row.entity.identitySlot] }

    private static func uniqueValues(_ row: StoredRow) -> [Unique] {
        row.entity.uniquenessConstraints.compactMap { constraint in
            let values = constraint.slots.map { row.values[$0] }
            // As in SQL, a row without one of the values collides with none.
            return values.contains(.null) ? nil : Unique(constraint: constraint.index, values: values)
        }
    }

    static func taken(_ place: String) -> StoreError {
        StoreError(
            .constraint, "Could not save: a rule of the schema was broken (\(place) is taken)",
            remedy: "Correct the event")
    }

    private mutating func put(_ row: StoredRow) {
        let position = position(row.pk)
        if position < all.count, all[position].pk == row.pk {
            all[position] = row
        } else {
            all.insert(row, at: position)
        }
    }

    private mutating func remove(_ pk: Int64) {
        let position = position(pk)
        if position < all.count, all[position].pk == pk { all.remove(at: position) }
    }

    /// The position of the first row whose key is not below `pk`.
    private func position(_ pk: Int64) -> Int {
        if let last = all.last, last.pk < pk { return all.count }
        return all.partitioningIndex { $0.pk >= pk }
    }
}
