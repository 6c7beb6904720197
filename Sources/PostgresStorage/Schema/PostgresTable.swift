import StoreSQL

/// The table of a hierarchy of entities, most often of one: its columns as statements name them, and its rows.
final class PostgresTable: Sendable {
    /// The entity at the top of the hierarchy.
    let root: Entity
    /// The quoted name.
    let name: String
    /// The quoted names of the slots' columns.
    let columns: [String]
    let kinds: [ColumnKind]
    /// The entities by their names in the column `_entity`; empty where there is but one.
    private let members: [String: Entity]

    init(_ root: Entity, _ model: ObjectModel) {
        self.root = root
        name = SQLText.quoted(root.tableName)
        columns = root.columnNames.map(SQLText.quoted)
        kinds = PostgresSchema.kinds(of: root, model)
        let all = root.sharesTable ? [root] + root.subentityIndexes.map { model.entities[$0] } : []
        members = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
    }

    /// Returns the tables of a model, one for each entity; the entities of a hierarchy share one.
    static func all(_ model: ObjectModel) -> [PostgresTable] {
        let tables = Dictionary(
            uniqueKeysWithValues: model.rootEntities.map { ($0.index, PostgresTable($0, model)) })
        return model.entities.compactMap { tables[$0.rootIndex] }
    }

    /// The columns of a row as a query returns them, of the table under an alias.
    func selection(_ alias: String) -> String {
        let slots = columns.indices.map { kinds[$0].selected("\(alias).\(columns[$0])") }
        let head = ["\(alias).pk", "\(alias)._placeholder"]
        return (head + slots + (root.sharesTable ? ["\(alias)._entity"] : [])).joined(separator: ", ")
    }

    /// The number of columns of ``selection(_:)``.
    var width: Int { columns.count + (root.sharesTable ? 3 : 2) }

    /// Returns a row of ``selection(_:)``, whose columns begin at `first`.
    func row(_ row: PostgresRow, at first: Int = 0) -> StoredRow {
        let values = [Value](unsafeUninitializedCapacity: kinds.count) { buffer, count in
            for slot in kinds.indices {
                buffer.initializeElement(at: slot, to: row.value(first + slot + 2, kinds[slot]))
            }
            count = kinds.count
        }
        let own = root.sharesTable ? members[row.text(first + kinds.count + 2)] ?? root : root
        return StoredRow(
            pk: row.integer(first), entity: own, isPlaceholder: row.flag(first + 1), values: values)
    }
}

extension JoinTable {
    /// The columns of a link as a query returns them, of the table under an alias.
    func selection(_ alias: String) -> String {
        (["owner", "destination"] + positionColumns).map { "\(alias).\(SQLText.quoted($0))" }
            .joined(separator: ", ")
    }

    /// Returns a link of ``selection(_:)``.
    func link(_ row: PostgresRow) -> (pair: Pair, places: PairPlaces) {
        let pair = Pair(owner: row.integer(0), destination: row.integer(1))
        var places = PairPlaces()
        if ordersDestinations { places.destination = row.optionalInteger(2) }
        if ordersOwners { places.owner = row.optionalInteger(ordersDestinations ? 3 : 2) }
        return (pair, places)
    }
}
