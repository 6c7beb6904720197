import StoreSQL

/// The part of a store for people with `psql`: the views `_history` and `ENTITY_readable`, and comments.
///
/// Views have the names and columns of SQLite's, and the server's types. One whose name PostgreSQL would cut is left out.
struct PostgresViews {
    static let historyName = "_history"

    private let model: ObjectModel

    init(_ model: ObjectModel) { self.model = model }

    /// Makes the views again, and states all comments.
    var statements: [String] {
        ["DROP VIEW IF EXISTS \(Self.historyName)", PostgresDialect.historyView(model)]
            + model.entities.flatMap(readableView) + PostgresComments(model).statements
    }

    /// The statements without removals: views of others may rest on the store's, and rights on them stay. The server refuses
    /// them where a view loses or renames a column.
    var replacements: [String] {
        statements.filter { !$0.hasPrefix("DROP VIEW ") }.map { statement in
            statement.hasPrefix("CREATE VIEW ") ? "CREATE OR REPLACE" + statement.dropFirst(6) : statement
        }
    }

    /// Removes the view of an entity's objects, and makes it again; no statements where PostgreSQL would cut a name.
    private func readableView(_ entity: Entity) -> [String] {
        let names = [entity.readableViewName] + ReadableColumn.all(entity, model).map(\.title)
        if names.contains(where: { $0.utf8.count > ConnectionAddress.maximumNameLength }) { return [] }
        return [
            "DROP VIEW IF EXISTS \(SQLText.quoted(entity.readableViewName))",
            PostgresDialect.readableView(entity, model),
        ]
    }
}
