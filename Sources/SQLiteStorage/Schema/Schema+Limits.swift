extension Schema {
    /// The most columns that SQLite gives a table, and a view.
    static let maximumColumns = 2_000

    /// Checks that SQLite can keep a store of a model.
    ///
    /// - Throws: ``StoreError`` with code `store.model_unsuited`.
    static func checkLimits(_ model: ObjectModel) throws(StoreError) {
        for entity in model.entities {
            // The key, the mark of placeholders, and the entity's name where several share the table.
            let own = entity.sharesTable ? 3 : 2
            let count = max(entity.columnNames.count, ReadableColumn.all(entity, model).count)
            if count <= maximumColumns - own { continue }
            throw .tooManyColumns(
                entity.name, count: count, limit: maximumColumns - own, of: "SQLite",
                remedy: "Leave properties out, put them into one of type json, or split the entity")
        }
    }
}

extension Store {
    /// Checks that a file can keep a store of a model.
    ///
    /// - Throws: ``StoreError`` with code `store.model_unsuited`.
    package static func checkFile(canKeep model: ObjectModel) throws(StoreError) { try Schema.checkLimits(model) }
}
