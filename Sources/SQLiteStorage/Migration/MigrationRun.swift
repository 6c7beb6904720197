import Foundation
import GRDB
import StoreSQL

/// Carries a migration out on an open connection, inside the caller's transaction.
struct MigrationRun {
    let script: MigrationScript
    let database: Database
    let options: Migrator.Options

    var mapping: ModelMapping { script.mapping }

    func execute(_ sql: String) throws {
        try options.willExecute(sql)
        try database.execute(sql: sql)
    }

    func execute(_ statements: [String]) throws {
        for sql in statements { try execute(sql) }
    }

    /// Migrates the tables where they are, as a part of so many.
    func runInPlace(_ part: (number: Int, count: Int) = (1, 1)) throws {
        try separateRanges(oldTablesIn: "main")
        try dropViews()
        try setAside()
        try alter()
        try createTables()
        try copyRows(part)
        try finish { try dropOldTables() }
    }

    /// Does the remaining work when all rows are in the new tables.
    ///
    /// Example: a to-one relationship becomes to-many, so its column becomes a join table. The links can be read only
    /// while the old table is there, hence before it is dropped. Indexes are built once, after the rows: keeping them up
    /// row by row costs more. The mirrors and orderings that follow look rows up by these indexes.
    func finish(_ dropOldTables: () throws -> Void) throws {
        options.progress(.finishing)
        try linkUp()
        try dropOldTables()
        try buildIndexes()
        try execute(script.mirrors + script.orderings)
        try clearLostLinks()
        try migrateOwnTables()
        try buildViews()
    }

    // MARK: Tables

    private func dropViews() throws {
        for object in script.oldSchema.objects where object.type == "view" || object.type == "trigger" {
            try execute("DROP \(object.type.uppercased()) IF EXISTS \(SQLText.quoted(object.name))")
        }
    }

    private func rename(_ old: String, _ new: String) throws {
        try execute("ALTER TABLE \(SQLText.quoted(old)) RENAME TO \(SQLText.quoted(new))")
    }

    /// Gives tables their new names. Tables whose rows are copied get names out of the way.
    private func setAside() throws {
        // With the old way of renaming, references of other tables keep pointing to the name.
        try execute("PRAGMA legacy_alter_table = ON")
        for name in removedTables { try rename(name, "_removed_\(name)") }
        try execute("PRAGMA legacy_alter_table = OFF")
        // In two rounds, because two tables may exchange their names.
        let renames =
            script.tables.compactMap { table in table.isOnlyHeir ? table.oldName.map { ($0, table.name) } : nil }
            + script.joins.compactMap { join in join.oldName.map { ($0, join.join.name) } }
        let changed = renames.filter { $0.0 != $0.1 }
        for (index, rename) in changed.enumerated() { try self.rename(rename.0, "_renamed_\(index)") }
        for (index, rename) in changed.enumerated() { try self.rename("_renamed_\(index)", rename.1) }
        try execute("PRAGMA legacy_alter_table = ON")
        for table in script.tables where table.method == .rebuild && table.isOnlyHeir {
            try rename(table.name, "_migrated_\(table.name)")
        }
    }

    /// The old tables of which no new one is the only heir, join tables included.
    private var removedTables: [String] {
        let kept = Set(script.renamedTables.keys)
        let keptJoins = Set(script.joins.compactMap(\.oldName))
        return mapping.old.rootEntities.map(\.tableName).filter { !kept.contains($0) }
            + mapping.old.joinTables.map(\.name).filter { !keptJoins.contains($0) }
    }

    private func alter() throws {
        for table in script.tables {
            guard case .alter(let statements) = table.method else { continue }
            // Indexes stand in the way of columns that go, and of unique values that change their rows; they are built
            // again in the end.
            if statements.contains(where: { !$0.contains(" ADD COLUMN ") }) {
                let indexes = try SchemaSnapshot(database).objects(of: "index").filter { $0.table == table.name }
                for index in indexes { try execute("DROP INDEX \(SQLText.quoted(index.name))") }
            }
            try execute(statements)
        }
    }

    private func createTables() throws {
        for table in script.tables where table.method == .create || table.method == .rebuild {
            try create(table.name)
        }
        for join in script.joins where !join.isKept { try create(join.join.name) }
    }

    private func create(_ table: String) throws {
        for object in script.newSchema.objects where object.type == "table" && object.name == table {
            try execute(object.sql)
        }
    }

    private func dropOldTables() throws {
        let rebuilt = script.tables.filter { $0.method == .rebuild && $0.isOnlyHeir }
        for table in rebuilt { try execute("DROP TABLE \(SQLText.quoted("_migrated_\(table.name)"))") }
        for name in removedTables { try execute("DROP TABLE \(SQLText.quoted("_removed_\(name)"))") }
    }

    // MARK: Rows

    private func copyRows(_ part: (number: Int, count: Int)) throws {
        let portions = script.parts.map { MigrationPortion($0) }
        let rowCount = try portions.reduce(0) { try $0 + $1.rowCount(after: .min, database) }
        options.progress(.copying(rowCount: rowCount, part: part.number, partCount: part.count))
        for portion in portions {
            var last = Int64.min
            while let end = try portion.end(after: last, limit: options.copyBatchRows, database) {
                try execute(portion.insertion(after: last, to: end))
                options.progress(.copied(rowCount: Int64(database.changesCount), areObjects: true))
                last = end
            }
        }
    }

    private func linkUp() throws {
        for links in script.links { try execute(script.fill(links)) }
    }

    /// Objects of removed sub-entities are gone; what led to them forgets them.
    private func clearLostLinks() throws {
        let roots = Set(
            mapping.removedEntities.filter { $0.parentIndex != nil || !$0.subentityIndexes.isEmpty }
                .map(\.tableName))
        let tables = script.tables.filter { $0.oldName.map(roots.contains) ?? false }.map(\.root)
        for root in tables {
            let keys = "(SELECT pk FROM \(SQLText.quoted(root.tableName)))"
            for relationship in mapping.new.entities.flatMap(\.ownRelationships)
            where relationship.slot != nil
                && mapping.new.entities[relationship.destinationIndex].rootIndex == root.index
            {
                let table = SQLText.quoted(mapping.new.entities[relationship.entityIndex].tableName)
                let column = SQLText.quoted(relationship.columnName)
                try execute("UPDATE \(table) SET \(column) = NULL WHERE \(column) NOT IN \(keys)")
            }
            for join in mapping.new.joinTables {
                for (side, index) in [("owner", join.ownerEntity), ("destination", join.destinationEntity)]
                where mapping.new.entities[index].rootIndex == root.index {
                    try execute("DELETE FROM \(SQLText.quoted(join.name)) WHERE \(side) NOT IN \(keys)")
                }
            }
        }
    }

    // MARK: Indexes and views

    private func buildIndexes() throws {
        let wanted = script.newSchema.objects(of: "index")
        let current = try SchemaSnapshot(database).objects(of: "index")
        for index in current where !index.table.hasPrefix("_") {
            if wanted.contains(where: { $0.name == index.name && $0.sql == index.sql }) { continue }
            try execute("DROP INDEX \(SQLText.quoted(index.name))")
        }
        let left = Set(try SchemaSnapshot(database).objects(of: "index").map(\.name))
        for index in wanted where !left.contains(index.name) { try execute(index.sql) }
    }

    private func buildViews() throws {
        let current = try SchemaSnapshot(database)
        for object in script.newSchema.objects where ["table", "view", "trigger"].contains(object.type) {
            if !current.has(object.type, object.name) { try execute(object.sql) }
        }
    }
}
