/// The SQL that lays a store out for a model: tables and columns with the names that SQLite has for them.
///
/// No table declares a foreign key: the graph keeps references whole, and the server would look each one up once more.
struct PostgresSchema {
    /// The layout's own version, kept in `_metadata`; a store with a greater one is refused.
    static let formatVersion = 2
    /// The number of bytes at which PostgreSQL cuts names.
    static let maximumNameLength = 63

    let model: ObjectModel

    init(_ model: ObjectModel) { self.model = model }

    var statements: [String] {
        Self.ownTables + Self.sharedTables
            + model.rootEntities.flatMap { [table($0)] + PostgresIndexes(model, $0).statements }
            + model.joinTables.flatMap(joinTable) + model.entities.filter { $0.parentIndex != nil }.map(model.view)
    }

    /// The names of the tables and views that a store may have.
    var relationNames: Set<String> {
        let start = "CREATE TABLE "
        let own = (Self.ownTables + Self.sharedTables).filter { $0.hasPrefix(start) }
            .map { String($0.dropFirst(start.count).prefix { $0 != " " }) }
        let entities = model.entities.flatMap { [$0.tableName, $0.viewName, $0.readableViewName] }
        return Set(own + entities + model.joinTables.map(\.name) + [PostgresViews.historyName])
    }

    /// The columns that each table of PostgreSQL has.
    private static let systemColumns: Set = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"]

    /// - Throws: ``StoreError`` with code `store.unavailable` where PostgreSQL would cut a name, or has it for a column of
    ///   its own.
    static func checkNames(_ model: ObjectModel) throws(StoreError) {
        let columns = model.entities.flatMap(\.columnNames)
        if let name = columns.first(where: systemColumns.contains) {
            throw StoreError(
                .unavailable, "PostgreSQL has a column '\(name)' of its own in each table",
                remedy: "Give the property another name, such as '\(name)_', or keep the store in a file")
        }
        let tables = model.entities.flatMap { [$0.tableName, $0.viewName] } + model.joinTables.map(\.name)
        if let name = tables.first(where: { $0.hasPrefix("pg_") }) {
            throw StoreError(
                .unavailable, "PostgreSQL has names such as '\(name)' for tables of its own",
                remedy: "Give the entity a name that does not begin with 'pg_', or keep the store in a file")
        }
        let names = tables + columns
        guard let name = names.first(where: { $0.utf8.count > maximumNameLength }) else { return }
        throw StoreError(
            .unavailable, "PostgreSQL cuts the name '\(name)': it has more than \(maximumNameLength) bytes",
            remedy: "Give the entity or property a shorter name")
    }

    private static let ownTables = [
        "CREATE TABLE _metadata (key text COLLATE \"C\" PRIMARY KEY, value text NOT NULL)",
        "CREATE TABLE _sequence (entity text COLLATE \"C\" PRIMARY KEY, next bigint NOT NULL)",
        // One row for the writer: who may write, and the last numbers that were given out.
        """
        CREATE TABLE _lease (id smallint PRIMARY KEY CHECK (id = 1), epoch bigint NOT NULL, holder text NOT NULL, \
        expires bigint NOT NULL, backend integer, started timestamptz)
        """,
        """
        CREATE TABLE _token (id smallint PRIMARY KEY CHECK (id = 1), token bigint NOT NULL, \
        "deadLetter" bigint NOT NULL, conflict bigint NOT NULL)
        """,
        "INSERT INTO _lease (id, epoch, holder, expires) VALUES (1, 0, '', 0)",
        "INSERT INTO _token (id, token, \"deadLetter\", conflict) VALUES (1, 0, 0, 0)",
        """
        CREATE TABLE _history_transaction (token bigint PRIMARY KEY, time bigint NOT NULL, author text COLLATE "C" NOT NULL, \
        context text COLLATE "C", source text COLLATE "C", "firstChange" bigint NOT NULL, "changeCount" bigint NOT NULL, \
        \(transactionAdditions.joined(separator: ", ")))
        """,
        "CREATE INDEX _history_transaction_time ON _history_transaction (time)",
        """
        CREATE TABLE _history_change (id bigint PRIMARY KEY, token bigint NOT NULL, entity text COLLATE "C" NOT NULL, \
        object bigint NOT NULL, identity bytea, change smallint NOT NULL, properties text COLLATE "C", \
        tombstone text COLLATE "C")
        """,
        "CREATE INDEX _history_change_deletion ON _history_change (object) WHERE change = 2",
        """
        CREATE TABLE _history_range (id bigint PRIMARY KEY, count bigint NOT NULL, token bigint NOT NULL, \
        entity text COLLATE "C" NOT NULL, first bigint NOT NULL, last bigint NOT NULL, objects text COLLATE "C", \
        change smallint NOT NULL, properties text COLLATE "C")
        """,
        """
        CREATE TABLE _position (topic text COLLATE "C" NOT NULL, partition integer NOT NULL, \
        "nextOffset" bigint NOT NULL, detail text COLLATE "C", PRIMARY KEY (topic, partition))
        """,
        """
        CREATE TABLE _dead_letter (id bigint PRIMARY KEY, time bigint NOT NULL, topic text COLLATE "C" NOT NULL, \
        partition integer NOT NULL, "offset" bigint NOT NULL, line bigint, stage text COLLATE "C" NOT NULL, \
        code text COLLATE "C" NOT NULL, reason text COLLATE "C" NOT NULL, key bytea, value bytea, "valueBytes" bigint, \
        headers text COLLATE "C", attempts bigint NOT NULL, \(deadLetterTimestamp))
        """,
        "CREATE INDEX _dead_letter_place ON _dead_letter (topic, partition, \"offset\")",
        """
        CREATE TABLE _tombstone (entity text COLLATE "C" NOT NULL, identity bytea NOT NULL, version bytea, \
        time bigint, token bigint NOT NULL, saved bigint NOT NULL, PRIMARY KEY (entity, identity))
        """,
        "CREATE TABLE _cursor (name text COLLATE \"C\" PRIMARY KEY, token bigint NOT NULL, time bigint NOT NULL)",
        """
        CREATE TABLE _conflict (id bigint PRIMARY KEY, token bigint NOT NULL, time bigint NOT NULL, \
        kind text COLLATE "C" NOT NULL, entity text COLLATE "C" NOT NULL, identity bytea, property text COLLATE "C", \
        local text COLLATE "C", stored text COLLATE "C", policy text COLLATE "C" NOT NULL, \
        decision text COLLATE "C" NOT NULL, source text COLLATE "C")
        """,
        auditTable,
    ]

    /// The columns of a transaction beyond the first layout: the trace context of its first record, and the store's epoch.
    private static let transactionAdditions = ["trace text COLLATE \"C\"", "epoch bigint NOT NULL DEFAULT 0"]

    private static let deadLetterTimestamp = "\"\(DeadLetter.timestampColumn)\" bigint"

    /// Gives a store of an earlier version the column with the timestamps of records. Earlier programs write such a store
    /// all the same: they name the columns that they fill.
    static let deadLetterAddition = "ALTER TABLE _dead_letter ADD COLUMN \(deadLetterTimestamp)"

    /// The administrative requests, with their answers.
    private static let auditTable = """
        CREATE TABLE _audit (id bigint PRIMARY KEY, time bigint NOT NULL, actor text COLLATE "C" NOT NULL, \
        action text COLLATE "C" NOT NULL, request text COLLATE "C" NOT NULL, \
        "idempotencyKey" text COLLATE "C" UNIQUE, result text COLLATE "C")
        """

    /// Makes a store of an older layout one of the present layout.
    static func upgrade(from format: Int) -> [PostgresStatement] {
        if format >= formatVersion { return [] }
        let additions = transactionAdditions.map { "ALTER TABLE _history_transaction ADD COLUMN \($0)" } + [auditTable]
        return additions.map { PostgresStatement($0) }
            + [.putMetadata([(key: "formatVersion", value: String(formatVersion))])]
    }

    /// Tables of writers that share a store. A store of an earlier version gets them when it is opened.
    static let sharedTables = [
        // The writers that are at work.
        """
        CREATE TABLE _writer (id bigint PRIMARY KEY, holder text NOT NULL, expires bigint NOT NULL, \
        backend integer NOT NULL, started timestamptz)
        """,
        // How often each partition was claimed: the last claim's owner alone may save its position.
        """
        CREATE TABLE _fence (topic text COLLATE "C" NOT NULL, partition integer NOT NULL, epoch bigint NOT NULL, \
        PRIMARY KEY (topic, partition))
        """,
        // The writer that has each role, such as to deliver notifications.
        """
        CREATE TABLE _role (name text COLLATE "C" PRIMARY KEY, epoch bigint NOT NULL, writer bigint NOT NULL, \
        expires bigint NOT NULL)
        """,
    ]

    // MARK: Entities

    private func table(_ root: Entity) -> String {
        let kinds = Self.kinds(of: root, model)
        var columns = ["pk bigint PRIMARY KEY"]
        for (slot, name) in root.columnNames.enumerated() {
            columns.append("\(SQLText.quoted(name)) \(kinds[slot].declaration)")
        }
        if root.sharesTable { columns.append("_entity text COLLATE \"C\" NOT NULL") }
        columns.append("_placeholder boolean NOT NULL DEFAULT false")
        return "CREATE TABLE \(SQLText.quoted(root.tableName)) (\(columns.joined(separator: ", ")))"
    }

    /// The kinds of a hierarchy's columns, one a slot. Columns of relationships and positions hold numbers.
    static func kinds(of root: Entity, _ model: ObjectModel) -> [ColumnKind] {
        let members = model.entities.filter { $0.rootIndex == root.index }
        return root.columnNames.indices.map { slot in
            // The attributes that share a column have one type.
            let owner = members.first { $0.attributes.hasAttribute(at: slot) }
            return owner.map { ColumnKind($0.attributes[slot].type) } ?? .bigint
        }
    }

    private func joinTable(_ join: JoinTable) -> [String] {
        let name = SQLText.quoted(join.name)
        let positions = join.positionColumns.map { "\(SQLText.quoted($0)) bigint, " }.joined()
        return [
            """
            CREATE TABLE \(name) (owner bigint NOT NULL, destination bigint NOT NULL, \(positions)\
            PRIMARY KEY (owner, destination))
            """,
            "CREATE INDEX ON \(name) (destination, owner)",
        ]
    }
}

/// The indexes of a hierarchy's table, each once.
///
/// The server names them: names of several columns would be longer than it allows. Functions and conditions of a model's
/// indexes are left out, so the columns themselves are indexed.
struct PostgresIndexes {
    private(set) var statements: [String] = []
    private var known: Set<String> = []
    /// The columns that an index begins with.
    private var covered: Set<String> = []
    private let table: String

    init(_ model: ObjectModel, _ root: Entity) {
        table = SQLText.quoted(root.tableName)
        for entity in model.entities where entity.rootIndex == root.index { add(entity, model) }
        add(["pk"], where: "_placeholder")
        if root.sharesTable { add(["_entity"]) }
    }

    private mutating func add(_ entity: Entity, _ model: ObjectModel) {
        func quoted(_ names: [String]) -> [String] { names.map(SQLText.quoted) }
        if entity.parentIndex == nil { add(quoted([entity.identity.columnName]), isUnique: true) }
        for constraint in entity.ownUniquenessConstraints {
            // A sub-entity's constraint does not bind the objects beside it.
            let condition = entity.parentIndex.map { _ in model.kindCondition(entity) }
            add(quoted(constraint.slots.map { entity.columnNames[$0] }), where: condition, isUnique: true)
        }
        for relationship in entity.ownRelationships {
            if let slot = model.inverse(of: relationship)?.positionSlot {
                add(quoted([relationship.columnName, entity.columnNames[slot]]))
            }
        }
        for index in entity.indexes { add(quoted(index.properties.compactMap { entity.columnName(of: $0) })) }
        let searched =
            entity.ownAttributes.filter(\.isIndexed).map(\.columnName)
            + entity.ownRelationships.filter { $0.slot != nil }.map(\.columnName)
        for column in quoted(searched) where !covered.contains(column) { add([column]) }
    }

    private mutating func add(_ columns: [String], where condition: String? = nil, isUnique: Bool = false) {
        guard let first = columns.first else { return }
        let list = columns.joined(separator: ", ")
        let suffix = condition.map { " WHERE \($0)" } ?? ""
        guard known.insert(list + suffix).inserted else { return }
        if condition == nil { covered.insert(first) }
        statements.append("CREATE \(isUnique ? "UNIQUE " : "")INDEX ON \(table) (\(list))\(suffix)")
    }
}
