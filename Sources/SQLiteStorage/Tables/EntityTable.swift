import StoreSQL

/// The bulk primitives on the table of a hierarchy of entities, most often of one.
///
/// One statement looks up to 512 keys up. Shorter lists are padded with null, which equals nothing. So a few prepared
/// statements serve every length.
final class EntityTable {
    /// The entity at the top of the hierarchy.
    let entity: Entity
    /// The entities by their names in the column `_entity`; empty where there is but one.
    private let members: [String: Entity]
    private let connection: OpaquePointer
    private let selection: String
    private var lookUps: [LookUp: PreparedStatement] = [:]
    /// By the number of their rows.
    private var insertions: [Int: PreparedStatement] = [:]
    private var updates: [[UInt64]: PreparedStatement] = [:]

    private struct LookUp: Hashable {
        /// The column that is searched.
        let column: String
        let width: Int
    }

    init(_ entity: Entity, model: ObjectModel, connection: OpaquePointer) {
        self.entity = entity
        self.connection = connection
        var columns = entity.columnNames.map(SQLText.quoted)
        if entity.sharesTable {
            let all = [entity] + entity.subentityIndexes.map { model.entities[$0] }
            members = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
            columns.append("_entity")
        } else {
            members = [:]
        }
        selection =
            "SELECT pk, _placeholder, \(columns.joined(separator: ", ")) FROM \(SQLText.quoted(entity.viewName))"
    }

    /// Releases all prepared statements: a connection with one cannot be closed.
    func releaseStatements() {
        lookUps.removeAll()
        updates.removeAll()
        insertions.removeAll()
    }

    // MARK: Reading

    /// Reads the rows that have one of the keys, at most `limit` of them.
    func rows(
        _ keys: RowKeys, model: ObjectModel, limit: Int? = nil, in arena: ValueArena, each: (PackedRow) -> Void
    ) throws(StoreError) {
        switch keys {
        case .identities(let identities):
            try lookUp(column: entity.identity.columnName, keys: identities, limit: limit, in: arena, each: each)
        case .primaryKeys(let keys):
            try lookUp(column: "pk", keys: keys.map { .integer($0) }, limit: limit, in: arena, each: each)
        case .values(let values, let slot):
            try lookUp(column: entity.columnNames[slot], keys: values, limit: limit, in: arena, each: each)
        case .unique(let tuples, let constraint):
            try rows(
                holding: tuples, of: constraint, in: model.entities[constraint.entityIndex], model: model, arena, each)
        }
    }

    /// Reads the same rows with memory of their own.
    func storedRows(_ keys: RowKeys, model: ObjectModel, each: (StoredRow) -> Void) throws(StoreError) {
        let arena = ValueArena()
        try rows(keys, model: model, in: arena) { row in
            each(row.stored)
            arena.reset()
        }
    }

    /// Reads the rows that hold one of several lists of values in the columns of a uniqueness constraint.
    private func rows(
        holding tuples: [[Value]], of constraint: UniquenessConstraint, in declaring: Entity, model: ObjectModel,
        _ arena: ValueArena, _ each: (PackedRow) -> Void
    ) throws(StoreError) {
        let columns = constraint.slots.map { SQLText.quoted(entity.columnNames[$0]) }
        if columns.count == 1, declaring.parentIndex == nil {
            // The caller may empty its own at each row.
            let own = ValueArena()
            defer { withExtendedLifetime(own) {} }
            let keys = tuples.compactMap(\.first).map { own.pack($0) }
            return try lookUp(
                column: entity.columnNames[constraint.slots[0]], keys: keys, limit: nil, in: arena, each: each)
        }
        // The condition of the constraint's own index, so that it serves.
        let kind = declaring.parentIndex == nil ? "" : " AND \(model.kindCondition(declaring))"
        let condition = columns.map { "\($0) = ?" }.joined(separator: " AND ") + kind
        let statement = try lookUpStatement(
            LookUp(column: condition, width: 0), "\(selection) WHERE \(condition)")
        for tuple in tuples {
            for (position, value) in tuple.enumerated() { statement.bind(position + 1, value) }
            while try statement.step() { each(row(statement, in: arena)) }
        }
    }

    /// Reads the greatest place in an ordered relationship, by the owner that `slot` refers to.
    func greatestPositions(
        slot: Int, positionSlot: Int, owners: [Int64], each: (Int64, Int64) -> Void
    ) throws(StoreError) {
        let (column, place) = (
            SQLText.quoted(entity.columnNames[slot]), SQLText.quoted(entity.columnNames[positionSlot])
        )
        try KeyList.forEachPart(of: owners) { list throws(StoreError) in
            let sql = """
                SELECT \(column), max(\(place)) FROM \(SQLText.quoted(entity.viewName)) \
                WHERE \(column) IN (\(list)) GROUP BY \(column)
                """
            return try lookUpStatement(LookUp(column: sql, width: 0), sql)
        } body: { statement throws(StoreError) in
            while try statement.step() {
                if !statement.isNull(1) { each(statement.integer(0), statement.integer(1)) }
            }
        }
    }

    private func lookUp(
        column: String, keys: [PackedValue], limit: Int?, in arena: ValueArena, each: (PackedRow) -> Void
    ) throws(StoreError) {
        // SQLite sorts the keys of one statement by itself.
        let keys = keys.count > KeyList.maximumWidth ? IndexOrder.sorted(keys) : keys
        var remaining = limit ?? .max
        for start in stride(from: 0, to: keys.count, by: KeyList.maximumWidth) {
            let part = keys[start..<min(start + KeyList.maximumWidth, keys.count)]
            let statement = try lookUpStatement(column, width: KeyList.width(for: part.count))
            KeyList.bind(part, to: statement)
            while try statement.step() {
                guard remaining > 0 else {
                    statement.reset()
                    return
                }
                remaining -= 1
                each(row(statement, in: arena))
            }
        }
    }

    private func lookUpStatement(_ column: String, width: Int) throws(StoreError) -> PreparedStatement {
        func name() -> String { column == "pk" ? column : SQLText.quoted(column) }
        return try lookUpStatement(
            LookUp(column: column, width: width), "\(selection) WHERE \(name()) IN (\(SQLText.parameters(width)))")
    }

    /// Returns the statement of a look-up, made at its first use.
    private func lookUpStatement(
        _ key: LookUp, _ sql: @autoclosure () -> String
    ) throws(StoreError) -> PreparedStatement {
        if let statement = lookUps[key] { return statement }
        let statement = try PreparedStatement(connection, sql: sql())
        lookUps[key] = statement
        return statement
    }

    private func row(_ statement: PreparedStatement, in arena: ValueArena) -> PackedRow {
        let values = arena.slots(count: entity.slotCount) { statement.packed($0 + 2, in: arena) }
        let own = entity.sharesTable ? members[statement.text(entity.slotCount + 2)] ?? entity : entity
        return PackedRow(
            pk: statement.integer(0), entity: own, isPlaceholder: statement.integer(1) != 0, values: values)
    }

    // MARK: Writing

    /// How many rows a statement inserts, the most first: more than a quarter of the work of inserting one row begins and
    /// ends its statement.
    private static let insertionCounts = [16, 4, 1]

    /// Inserts rows in the order of their identities: the largest index has the same order.
    func insert(_ rows: RowChanges.Insertions) throws(StoreError) {
        let order = IndexOrder(rows.keys.count) { rows.values[$0].packed(entity.identitySlot) }
        var start = 0
        for count in Self.insertionCounts where rows.keys.count - start >= count {
            let statement = try insertionStatement(count)
            while rows.keys.count - start >= count {
                var position = 1
                for row in start..<start + count {
                    position = bind(order[row], of: rows, to: statement, from: position)
                }
                try statement.run()
                start += count
            }
        }
    }

    /// Binds one row to the parameters from a position on, and returns the position behind them.
    private func bind(
        _ row: Int, of rows: RowChanges.Insertions, to statement: PreparedStatement, from first: Int
    ) -> Int {
        statement.bind(first, rows.keys[row])
        let values = rows.values[row]
        for slot in values.indices { statement.bindKept(first + 1 + slot, values.packed(slot)) }
        let position = first + values.count
        statement.bind(position + 1, rows.placeholders[row] ? 1 : 0)
        if !entity.sharesTable { return position + 2 }
        statement.bind(position + 2, rows.entity.name)
        return position + 3
    }

    private func insertionStatement(_ count: Int) throws(StoreError) -> PreparedStatement {
        if let statement = insertions[count] { return statement }
        var names = ["pk"] + entity.columnNames.map(SQLText.quoted) + ["_placeholder"]
        if entity.sharesTable { names.append("_entity") }
        let row = "(\(SQLText.parameters(names.count)))"
        let statement = try PreparedStatement(
            connection,
            sql: """
                \(SQLText.insertion) \(SQLText.quoted(entity.viewName)) (\(names.joined(separator: ", "))) \
                VALUES \(Array(repeating: row, count: count).joined(separator: ", "))
                """)
        insertions[count] = statement
        return statement
    }

    /// Writes the slots that the rows change, in the order of their keys.
    func update(_ rows: RowChanges.Updates) throws(StoreError) {
        let statement = try updateStatement(rows.slots, includesPlaceholder: rows.setsPlaceholder)
        let order = IndexOrder(rows.keys.count) { PackedValue.integer(rows.keys[$0]) }
        for index in rows.keys.indices {
            let row = order[index]
            var position = 1
            for slot in rows.slots {
                statement.bindKept(position, rows.values[row].packed(slot))
                position += 1
            }
            if rows.setsPlaceholder {
                statement.bind(position, rows.placeholders[row] ? 1 : 0)
                position += 1
            }
            statement.bind(position, rows.keys[row])
            try statement.run()
        }
    }

    private func updateStatement(
        _ slots: [Int], includesPlaceholder: Bool
    ) throws(StoreError) -> PreparedStatement {
        var mask = [UInt64](repeating: 0, count: entity.slotCount / 64 + 1)
        for slot in slots { mask[slot / 64] |= 1 << UInt64(slot % 64) }
        if includesPlaceholder { mask[entity.slotCount / 64] |= 1 << UInt64(entity.slotCount % 64) }
        if let statement = updates[mask] { return statement }
        // Streams use few combinations of columns; a stream that does not may not fill the memory.
        if updates.count >= 256 { updates.removeAll() }
        let names = slots.map { SQLText.quoted(entity.columnNames[$0]) } + (includesPlaceholder ? ["_placeholder"] : [])
        let assignments = names.map { "\($0) = ?" }.joined(separator: ", ")
        let statement = try PreparedStatement(
            connection, sql: "UPDATE \(SQLText.quoted(entity.viewName)) SET \(assignments) WHERE pk = ?")
        updates[mask] = statement
        return statement
    }

    /// Names the entity of a row again: a placeholder's, that is known better now.
    func setEntity(_ own: Entity, pk: Int64) throws(StoreError) {
        let statement = try lookUpStatement(
            LookUp(column: "_entity", width: 0),
            "UPDATE \(SQLText.quoted(entity.viewName)) SET _entity = ? WHERE pk = ?")
        statement.bind(1, own.name)
        statement.bind(2, pk)
        try statement.run()
    }
}
