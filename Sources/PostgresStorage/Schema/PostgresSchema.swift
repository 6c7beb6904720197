import StoreSQL

/// The SQL that lays a store out for a model: tables and columns with the names that SQLite has for them.
///
/// No table declares a foreign key: the graph keeps references whole, and the server would look each one up once more.
struct PostgresSchema {
    /// The layout's own version, kept in `_metadata`; a store with a greater one is refused.
    static let formatVersion = 2

    let model: ObjectModel

    init(_ model: ObjectModel) { self.model = model }

    var statements: [String] {
        PostgresDialect.ownTables + Self.counters + Self.sharedTables
            + model.rootEntities.flatMap { [table($0)] + PostgresIndexes(model, $0).statements }
            + model.joinTables.flatMap(joinTable) + model.entities.filter { $0.parentIndex != nil }.map(model.view)
    }

    /// The names of the tables and views that a store may have.
    var relationNames: Set<String> {
        let entities = model.entities.flatMap { [$0.tableName, $0.viewName, $0.readableViewName] }
        return Set(
            PostgresComments.ownTables.map(\.name) + entities + model.joinTables.map(\.name) + [
                PostgresViews.historyName
            ])
    }

    /// One row each: who may write, and the last numbers that were given out.
    private static let counters = [
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
    ]

    /// Makes a store of an older layout one of the present layout.
    static func upgrade(from format: Int) -> [PostgresStatement] {
        if format >= formatVersion { return [] }
        return PostgresDialect.auditAdditions.map { PostgresStatement($0) }
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
        return PostgresDialect.creation(of: StoreTable(root)) { kinds[$0].declaration }
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
        [
            PostgresDialect.creation(of: StoreTable(join)),
            "CREATE INDEX ON \(join.quotedName) (destination, owner)",
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
