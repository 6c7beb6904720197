import GRDB
import StoreSQL

/// The rows of a store in the middle of a staged migration, with the current model.
///
/// Valid only while the stage's closure runs. Its writes are part of the migration's transaction. No delete rules and
/// no inverses follow it: after the closure derived values are computed, and the whole store is verified.
public struct MigrationContext {
    /// An object as its row has it.
    public struct Row {
        /// The row's key.
        public let pk: Int64
        /// Tells whether only the identity is known.
        public let isPlaceholder: Bool
        fileprivate let values: [String: Value]

        /// The stored value of an attribute, or the key that a to-one relationship leads to; nil where there is no such property.
        public subscript(name: String) -> Value? { values[name] }
    }

    /// The model that the rows are in.
    public let model: ObjectModel
    let database: Database

    private static let pageLength = 500

    /// Returns the number of objects of an entity and its sub-entities.
    ///
    /// - Throws: ``StoreError``, also for a name that is no entity's.
    public func count(of entity: String) throws -> Int {
        let entity = try self.entity(entity)
        return try Int.fetchOne(
            database, sql: "SELECT count(*) FROM \(SQLText.quoted(entity.tableName)) WHERE \(kind(entity))") ?? 0
    }

    /// Calls `each` with every object of an entity in the order of their keys; `each` may write.
    ///
    /// - Throws: ``StoreError``, and what `each` throws.
    public func rows(of entity: String, each: (Row) throws -> Void) throws {
        let entity = try self.entity(entity)
        let names = names(entity)
        let list = names.compactMap { entity.columnName(of: $0) }.map(SQLText.quoted).joined(separator: ", ")
        var last = Int64.min
        while true {
            let page = try GRDB.Row.fetchAll(
                database,
                sql: """
                    SELECT pk, _placeholder\(names.isEmpty ? "" : ", ")\(list) \
                    FROM \(SQLText.quoted(entity.tableName)) WHERE pk > ? AND \(kind(entity)) \
                    ORDER BY pk LIMIT \(Self.pageLength)
                    """, arguments: [last])
            guard let end = page.last else { return }
            last = end[0]
            for row in page {
                var values: [String: Value] = [:]
                for (index, name) in names.enumerated() { values[name] = Value(row[index + 2] as DatabaseValue) }
                try each(Row(pk: row[0], isPlaceholder: row[1], values: values))
            }
        }
    }

    func entity(_ name: String) throws(StoreError) -> Entity {
        if let entity = model.entity(named: name) { return entity }
        throw StoreError(
            .database, "The model has no entity '\(name)' at this stage",
            remedy: "Name one of: \(model.entities.map(\.name).joined(separator: ", "))")
    }

    func names(_ entity: Entity) -> [String] {
        entity.attributes.map(\.name) + entity.relationships.filter { $0.slot != nil }.map(\.name)
    }

    func kind(_ entity: Entity) -> String {
        entity.sharesTable ? model.kindCondition(entity) : "1"
    }
}
