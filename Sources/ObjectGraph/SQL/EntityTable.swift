/// A row of an entity's table as the writer reads it.
struct StoredRow {
    let pk: Int64
    let isPlaceholder: Bool
    /// One value a slot.
    let values: [Value]
}

/// The bulk primitives on one entity's table.
///
/// Lists of keys are looked up in one statement for up to 512 of them; shorter lists are padded with null, which
/// equals nothing, so that a few prepared statements serve every length.
final class EntityTable {
    let entity: Entity
    private let connection: OpaquePointer
    private let selection: String
    private var lookUps: [LookUp: PreparedStatement] = [:]
    private var insertion: PreparedStatement?
    private var deletion: PreparedStatement?
    private var updates: [[UInt64]: PreparedStatement] = [:]

    private struct LookUp: Hashable {
        /// The column that is searched.
        let column: String
        let width: Int
    }

    init(_ entity: Entity, connection: OpaquePointer) {
        self.entity = entity
        self.connection = connection
        let columns = entity.columnNames.map(SQLText.quoted).joined(separator: ", ")
        selection = "SELECT pk, _placeholder, \(columns) FROM \(SQLText.quoted(entity.name))"
    }

    /// Lets go of all prepared statements: a connection with one cannot be closed.
    func releaseStatements() {
        lookUps.removeAll()
        updates.removeAll()
        insertion = nil
        deletion = nil
    }

    // MARK: Reading

    func rows(identities: [Value], each: (StoredRow) -> Void) throws(StoreError) {
        try lookUp(column: entity.identity.name, keys: identities, limit: nil, each: each)
    }

    func rows(primaryKeys: [Int64], each: (StoredRow) -> Void) throws(StoreError) {
        try lookUp(column: "pk", keys: primaryKeys.map { .integer($0) }, limit: nil, each: each)
    }

    /// Reads the rows whose column `slot` holds one of `keys`, at most `limit` of them.
    func rows(slot: Int, keys: [Value], limit: Int?, each: (StoredRow) -> Void) throws(StoreError) {
        try lookUp(column: entity.columnNames[slot], keys: keys, limit: limit, each: each)
    }

    private func lookUp(
        column: String, keys: [Value], limit: Int?, each: (StoredRow) -> Void
    ) throws(StoreError) {
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
                each(row(statement))
            }
        }
    }

    private func lookUpStatement(_ column: String, width: Int) throws(StoreError) -> PreparedStatement {
        let key = LookUp(column: column, width: width)
        if let statement = lookUps[key] { return statement }
        let name = column == "pk" ? column : SQLText.quoted(column)
        let statement = try PreparedStatement(
            connection, sql: "\(selection) WHERE \(name) IN (\(SQLText.parameters(width)))")
        lookUps[key] = statement
        return statement
    }

    private func row(_ statement: PreparedStatement) -> StoredRow {
        let values = [Value](unsafeUninitializedCapacity: entity.slotCount) { buffer, count in
            for slot in 0..<entity.slotCount {
                buffer.initializeElement(at: slot, to: statement.value(slot + 2))
            }
            count = entity.slotCount
        }
        return StoredRow(pk: statement.integer(0), isPlaceholder: statement.integer(1) != 0, values: values)
    }

    // MARK: Writing

    func insert(pk: Int64, values: [Value], isPlaceholder: Bool) throws(StoreError) {
        let statement = try insertionStatement()
        statement.bind(1, pk)
        for (slot, value) in values.enumerated() { statement.bind(slot + 2, value) }
        statement.bind(values.count + 2, isPlaceholder ? 1 : 0)
        try statement.run()
    }

    private func insertionStatement() throws(StoreError) -> PreparedStatement {
        if let insertion { return insertion }
        let names = ["pk"] + entity.columnNames.map(SQLText.quoted) + ["_placeholder"]
        let statement = try PreparedStatement(
            connection,
            sql: """
                INSERT INTO \(SQLText.quoted(entity.name)) (\(names.joined(separator: ", "))) \
                VALUES (\(SQLText.parameters(names.count)))
                """)
        insertion = statement
        return statement
    }

    /// Writes the named slots of a row; a new value for `isPlaceholder` is written where it is not nil.
    func update(pk: Int64, slots: [Int], values: [Value], isPlaceholder: Bool?) throws(StoreError) {
        let statement = try updateStatement(slots, includesPlaceholder: isPlaceholder != nil)
        var position = 1
        for slot in slots {
            statement.bind(position, values[slot])
            position += 1
        }
        if let isPlaceholder {
            statement.bind(position, isPlaceholder ? 1 : 0)
            position += 1
        }
        statement.bind(position, pk)
        try statement.run()
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
            connection, sql: "UPDATE \(SQLText.quoted(entity.name)) SET \(assignments) WHERE pk = ?")
        updates[mask] = statement
        return statement
    }

    func delete(pk: Int64) throws(StoreError) {
        let statement: PreparedStatement
        if let deletion {
            statement = deletion
        } else {
            statement = try PreparedStatement(
                connection, sql: "DELETE FROM \(SQLText.quoted(entity.name)) WHERE pk = ?")
            deletion = statement
        }
        statement.bind(1, pk)
        try statement.run()
    }
}

/// Lists of keys in a few fixed widths.
enum KeyList {
    static let maximumWidth = 512

    static func width(for count: Int) -> Int {
        if count <= 1 { return 1 }
        if count <= 8 { return 8 }
        return count <= 64 ? 64 : maximumWidth
    }

    static func bind(_ keys: ArraySlice<Value>, to statement: PreparedStatement, after offset: Int = 0) {
        var position = offset + 1
        for key in keys {
            statement.bind(position, key)
            position += 1
        }
        let end = offset + width(for: keys.count)
        while position <= end {
            statement.bindNull(position)
            position += 1
        }
    }
}
