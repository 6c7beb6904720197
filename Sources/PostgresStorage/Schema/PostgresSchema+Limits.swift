extension PostgresSchema {
    /// The most columns of a table.
    static let maximumTableColumns = 1_600
    /// The most columns of a view, and of a request's result.
    static let maximumViewColumns = 1_664
    /// The most columns of an index.
    static let maximumIndexColumns = 32

    /// The columns that each table of PostgreSQL has.
    private static let systemColumns: Set = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"]

    /// Checks that PostgreSQL can keep a store of a model.
    ///
    /// - Throws: ``StoreError`` with code `store.model_unsuited`.
    static func checkLimits(_ model: ObjectModel) throws(StoreError) {
        try checkNames(model)
        for entity in model.entities {
            try checkColumns(entity, model)
            try checkIndexes(entity)
        }
    }

    /// PostgreSQL would cut a name, or has it for something of its own.
    private static func checkNames(_ model: ObjectModel) throws(StoreError) {
        let columns = model.entities.flatMap(\.columnNames)
        if let name = columns.first(where: systemColumns.contains) {
            throw StoreError(
                .modelUnsuited, "PostgreSQL has a column '\(name)' of its own in each table",
                remedy: "Give the property another name, such as '\(name)_', or keep the store in a file")
        }
        let tables =
            model.entities.flatMap { [$0.tableName, $0.viewName, $0.readableViewName] } + model.joinTables.map(\.name)
        if let name = tables.first(where: { $0.hasPrefix("pg_") }) {
            throw StoreError(
                .modelUnsuited, "PostgreSQL has names such as '\(name)' for tables of its own",
                remedy: "Give the entity a name that does not begin with 'pg_', or keep the store in a file")
        }
        let titles = model.entities.flatMap { ReadableColumn.all($0, model).map(\.title) }
        let maximum = ConnectionAddress.maximumNameLength
        guard let name = (tables + columns + titles).first(where: { $0.utf8.count > maximum }) else { return }
        throw StoreError(
            .modelUnsuited, "PostgreSQL cuts the name '\(name)': it has more than \(maximum) bytes",
            remedy: "Give the entity or property a shorter name")
    }

    private static func checkColumns(_ entity: Entity, _ model: ObjectModel) throws(StoreError) {
        // The key, the mark of placeholders, and the entity's name where several share the table.
        let own = entity.sharesTable ? 3 : 2
        let kinds = [
            (entity.columnNames.count, maximumTableColumns),
            (ReadableColumn.all(entity, model).count, maximumViewColumns),
        ]
        for (count, maximum) in kinds where count > maximum - own {
            throw .tooManyColumns(
                entity.name, count: count, limit: maximum - own, of: "PostgreSQL",
                remedy:
                    "Leave properties out, put them into one of type json, split the entity, or keep the store in a file"
            )
        }
    }

    private static func checkIndexes(_ entity: Entity) throws(StoreError) {
        let counts = entity.indexes.map(\.properties.count) + entity.ownUniquenessConstraints.map(\.slots.count)
        guard let count = counts.max(), count > maximumIndexColumns else { return }
        throw StoreError(
            .modelUnsuited,
            "An index or a uniqueness constraint of \(entity.name) has \(count) properties; PostgreSQL has at most "
                + "\(maximumIndexColumns)",
            remedy: "Name fewer properties, or keep the store in a file")
    }
}

extension Store {
    /// Checks that PostgreSQL can keep a store of a model.
    ///
    /// - Throws: ``StoreError`` with code `store.model_unsuited`.
    package static func checkPostgres(canKeep model: ObjectModel) throws(StoreError) {
        try PostgresSchema.checkLimits(model)
    }
}
