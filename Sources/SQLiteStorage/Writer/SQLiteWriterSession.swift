import GRDBSQLite
import StoreSQL

/// The one connection that writes a store: transactions, tables of entities and pairs, and the store's own tables.
///
/// Used by one thread at a time; ``WriterContext`` sees to that.
final class SQLiteWriterSession {
    let model: ObjectModel
    let connection: OpaquePointer
    /// The table of each entity; the entities of a hierarchy share one.
    let entities: [EntityTable]
    let joins: [JoinTableRows]
    private(set) lazy var storedReferences = StoredReference.all(model)
    private var statements: [String: PreparedStatement] = [:]
    /// The storage whose connection it is, where it writes; the storage outlives its writer.
    private(set) weak var storage: SQLiteStorage?
    var lease: Lease?
    /// The first free keys: the keys after the rows that were there at the start. Nil before the first question.
    var firstKeys: [Int64]?
    var tombstoneFilter = TombstoneFilter()
    var identityBounds: IdentityBounds
    /// Whether the store has the index of changes by object, once that was asked.
    var hasObjectIndex: Bool?
    /// Called while statements run. ``close()`` takes it back, because SQLite's connection outlives this object.
    var onProgress: (() -> Void)? {
        didSet {
            sqlite3_progress_handler(
                connection, onProgress == nil ? 0 : Self.instructionsBetweenReports,
                { pointer in
                    guard let pointer else { return 0 }
                    Unmanaged<SQLiteWriterSession>.fromOpaque(pointer).takeUnretainedValue().onProgress?()
                    return 0
                }, Unmanaged.passUnretained(self).toOpaque())
        }
    }

    /// So many of SQLite's instructions, about a millisecond, lie between two reports of progress.
    private static let instructionsBetweenReports: Int32 = 100_000

    init(_ handle: OpaquePointer, model: ObjectModel, storage: SQLiteStorage? = nil) {
        connection = handle
        self.model = model
        self.storage = storage
        identityBounds = IdentityBounds(entityCount: model.entities.count)
        let tables = Dictionary(
            uniqueKeysWithValues: model.rootEntities.map {
                ($0.index, EntityTable($0, model: model, connection: handle))
            })
        entities = model.entities.compactMap { tables[$0.rootIndex] }
        joins = model.joinTables.map { JoinTableRows($0, connection: handle) }
    }

    /// Returns the prepared statement of a text, made at its first use.
    func statement(_ sql: String) throws(StoreError) -> PreparedStatement {
        if let statement = statements[sql] { return statement }
        let statement = try PreparedStatement(connection, sql: sql)
        statements[sql] = statement
        return statement
    }

    /// Releases all prepared statements: a connection with one cannot be closed.
    func releaseStatements() {
        statements.removeAll()
        for entity in entities { entity.releaseStatements() }
        for join in joins { join.releaseStatements() }
    }

    func run<each Bound: SQLiteValue>(_ sql: String, _ values: repeat each Bound) throws(StoreError) {
        try statement(sql).run(repeat each values)
    }

    /// Runs a statement that is made for one use, such as those on temporary tables.
    func runOnce(_ sql: String, _ bind: (PreparedStatement) -> Void = { _ in }) throws(StoreError) {
        let statement = try PreparedStatement(connection, sql: sql)
        bind(statement)
        try statement.run()
    }

    /// Returns the first column of the first row of a statement, or nil without a row.
    func integer(_ sql: String, _ bind: (PreparedStatement) -> Void = { _ in }) throws(StoreError) -> Int64? {
        let statement = try statement(sql)
        bind(statement)
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : nil
    }

    /// The number of rows that the last statement changed.
    var changedRowCount: Int64 { sqlite3_changes64(connection) }

    // MARK: Primary keys

    /// Returns the next primary key of each entity; keys are never used twice in a hierarchy.
    ///
    /// - Throws: ``StoreError`` with the code `value` where another program left no room for keys.
    func primaryKeySequences() throws(StoreError) -> [Int64] {
        var next: [Int64] = []
        for entity in model.entities {
            let known = try integer("SELECT next FROM _sequence WHERE entity = ?") { $0.bind(1, entity.rootName) }
            next.append(try Self.counted(known ?? 1, in: "_sequence"))
        }
        return next
    }

    /// Returns for each entity the key after the greatest in its table; another program may have inserted rows.
    ///
    /// - Throws: as ``primaryKeySequences()``.
    func keysAfterRows() throws(StoreError) -> [Int64] {
        var next: [Int64] = []
        for entity in model.entities {
            let used = try integer("SELECT max(pk) FROM \(SQLText.quoted(entity.tableName))") ?? 0
            next.append(try Self.counted(used, in: entity.tableName) + 1)
        }
        return next
    }

    /// Returns a counter of the store, which no worker brings near the end of 64 bits.
    private static func counted(_ number: Int64, in table: String) throws(StoreError) -> Int64 {
        if number < 1 << 62 { return number }
        throw StoreError(
            .value, "The table \(table) has the number \(number), which another program wrote",
            remedy: "Restore a copy of the store, or rebuild it")
    }

    func putSequence(entity: String, next: Int64) throws(StoreError) {
        try run(
            "INSERT INTO _sequence (entity, next) VALUES (?, ?) ON CONFLICT (entity) DO UPDATE SET next = excluded.next",
            entity, next)
    }
}

// MARK: - Tombstones

extension SQLiteWriterSession {
    func hasTombstones() throws(StoreError) -> Bool {
        try integer("SELECT 1 FROM _tombstone LIMIT 1") != nil
    }

    func tombstones(
        entity: Entity, identities: [PackedValue], each: (Value, Tombstone) -> Void
    ) throws(StoreError) {
        if tombstoneFilter.isUnread { try readTombstoneFilter() }
        let identities = tombstoneFilter.candidates(identities, of: entity)
        try KeyList.forEachPart(of: identities, after: 1) { list throws(StoreError) in
            let statement = try statement(
                "SELECT identity, version, time FROM _tombstone WHERE entity = ? AND identity IN (\(list))")
            statement.bind(1, entity.rootName)
            return statement
        } body: { statement throws(StoreError) in
            while try statement.step() {
                let time = statement.optionalInteger(2)
                each(statement.value(0), Tombstone(version: statement.value(1), time: time))
            }
        }
    }

    func putTombstone(
        entity: Entity, identity: Value, _ tombstone: Tombstone, token: Int64, saved: Int64
    ) throws(StoreError) {
        tombstoneFilter.insert(identity, of: entity)
        try run(
            """
            INSERT INTO _tombstone (entity, identity, version, time, token, saved) VALUES (?, ?, ?, ?, ?, ?) \
            ON CONFLICT (entity, identity) DO UPDATE SET \
            version = excluded.version, time = excluded.time, token = excluded.token, saved = excluded.saved
            """, entity.rootName, identity, tombstone.version, tombstone.time, token, saved)
    }

    func removeTombstone(entity: String, identity: Value) throws(StoreError) {
        try run("DELETE FROM _tombstone WHERE entity = ? AND identity = ?", entity, identity)
    }
}

// MARK: - History

extension SQLiteWriterSession {
    /// Appends a row that stands for many changes of one kind, with the ids from `id` on.
    func appendRange(_ range: HistoryRange, id: Int64, token: Int64, entity: String) throws(StoreError) {
        try run(
            """
            INSERT INTO _history_range (id, count, token, entity, first, last, objects, change, properties) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            id, range.count, token, entity, range.first, range.last, range.objects, range.kind.rawValue,
            range.properties)
    }

    /// Returns the id that the next change gets; the ids of purged changes are passed over.
    ///
    /// - Throws: ``StoreError`` with the code `value` where another program left no room for changes or tokens.
    func nextChangeID() throws(StoreError) -> Int64 {
        let token = try integer("SELECT max(seq) FROM sqlite_sequence WHERE name = '_history_transaction'") ?? 0
        _ = try Self.counted(token, in: "_history_transaction")
        let change = try integer("SELECT max(id) FROM _history_change") ?? 0
        let transaction = try integer(
            "SELECT firstChange + changeCount - 1 FROM _history_transaction ORDER BY token DESC LIMIT 1")
        let purged = try integer("SELECT CAST(value AS INTEGER) FROM _metadata WHERE key = 'nextChange'") ?? 1
        let last = try Self.counted(max(change, transaction ?? 0), in: "_history_change")
        return max(last + 1, try Self.counted(purged, in: "_metadata"))
    }
}
