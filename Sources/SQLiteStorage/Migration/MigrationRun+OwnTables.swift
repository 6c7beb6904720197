import Foundation
import GRDB
import StoreSQL

// The store's own tables name entities: keys, tombstones and history follow a migration.
extension MigrationRun {
    func migrateOwnTables() throws {
        try migrateSequences()
        try migrateTombstones()
        try migrateHistory()
    }

    /// Keys go on where they were: none is used twice.
    private func migrateSequences() throws {
        let rows = try Row.fetchAll(database, sql: "SELECT entity, next FROM _sequence")
        let known = Dictionary(rows.map { ($0[0] as String, $0[1] as Int64) }, uniquingKeysWith: max)
        try execute("DELETE FROM _sequence")
        for table in script.tables {
            guard let next = table.oldRoot.flatMap({ known[$0.name] }) else { continue }
            try options.willExecute("INSERT INTO _sequence")
            try database.execute(
                sql: "INSERT INTO _sequence (entity, next) VALUES (?, ?)", arguments: [table.root.name, next])
        }
    }

    /// Tombstones are kept by the name of the hierarchy's table and the identity.
    private func migrateTombstones() throws {
        let isSame = mapping.old.rootEntities.allSatisfy { old in
            let heirs = script.tables.filter { $0.oldRoot === old }
            return heirs.count == 1 && heirs[0].root.name == old.name && keepsIdentity(heirs[0]) == .asItIs
                && version(heirs[0]) == "version"
        }
        if isSame { return }
        try execute("CREATE TEMP TABLE _migrated_tombstone AS SELECT * FROM _tombstone")
        try execute("DELETE FROM _tombstone")
        let names = try database.columns(in: "_tombstone").map(\.name)
        for table in script.tables {
            guard let old = table.oldRoot?.name else { continue }
            let identity: String
            switch keepsIdentity(table) {
            case .asItIs: identity = "identity"
            case .converted(let conversion):
                identity = script.columns.functions.call(["identity"]) { conversion.converted($0[0]) ?? .null }
            case .not: continue
            }
            let version = version(table)
            let values = names.map { name in
                switch name {
                case "entity": SQLText.literal(table.root.name)
                case "identity": identity
                case "version": version
                default: name
                }
            }
            // A deletion of an identity that has no form any more can meet no event.
            try execute(
                """
                INSERT OR IGNORE INTO _tombstone (\(names.joined(separator: ", "))) \
                SELECT \(values.joined(separator: ", ")) FROM _migrated_tombstone \
                WHERE entity = \(SQLText.literal(old)) AND \(identity) IS NOT NULL
                """)
        }
        try execute("DROP TABLE temp._migrated_tombstone")
    }

    /// The version that a deletion had, in the present attribute's form; null where that is another attribute, and then
    /// the deletion's time decides.
    private func version(_ table: MigrationScript.Table) -> String {
        let source = mapping.source(of: table.root)
        let matched = source.entity == nil ? table.parts.first?.source : source
        guard let old = matched?.entity, let former = mapping.old.root(of: old).versionSlot else { return "version" }
        guard let slot = table.root.versionSlot,
            let before = matched?.attributes[table.root.attributes[slot].name],
            before.name == mapping.old.root(of: old).attributes[former].name,
            let conversion = ValueConversion(from: before.type, to: table.root.attributes[slot].type)
        else { return "NULL" }
        if conversion.safety == .sameForm { return "version" }
        return script.columns.functions.call(["version"]) { conversion.converted($0[0]) ?? .null }
    }

    private enum Identity: Equatable {
        case asItIs
        case converted(ValueConversion)
        case not
    }

    private func keepsIdentity(_ table: MigrationScript.Table) -> Identity {
        let source = mapping.source(of: table.root)
        guard let part = table.parts.first else { return .not }
        let matched = source.entity == nil ? part.source : source
        guard let before = matched.attributes[table.root.identity.name], let old = matched.entity,
            before.name == mapping.old.root(of: old).identity.name,
            let conversion = ValueConversion(from: before.type, to: table.root.identity.type)
        else { return .not }
        return conversion.safety == .sameForm ? .asItIs : .converted(conversion)
    }

    /// Gives the entities in history and conflicts their present names, and remembers the names of removed entities.
    private func migrateHistory() throws {
        let renamed = mapping.old.entities.compactMap { old in
            mapping.target(of: old).flatMap { $0.name == old.name ? nil : (old.name, $0.name) }
        }
        if !renamed.isEmpty {
            let cases = renamed.map { "WHEN \(SQLText.literal($0.0)) THEN \(SQLText.literal($0.1))" }
            let names = renamed.map { SQLText.literal($0.0) }.joined(separator: ", ")
            for table in ["_history_change", "_history_range", "_conflict"] where try database.tableExists(table) {
                try execute(
                    """
                    UPDATE \(table) SET entity = CASE entity \(cases.joined(separator: " ")) END \
                    WHERE entity IN (\(names))
                    """)
            }
        }
        let gone = mapping.removedEntities.map(\.name)
        if gone.isEmpty { return }
        let former = try StoredModel.value("formerEntities", database)?.split(separator: "\n").map { String($0) } ?? []
        try StoredModel.put("formerEntities", Set(former + gone).sorted().joined(separator: "\n"), database)
    }

    /// Gives each change of an entity that goes a row of its own: a range finds identities in the entity's table.
    ///
    /// - Parameter schema: the name of the database that has the old tables.
    func separateRanges(oldTablesIn schema: String) throws {
        for entity in mapping.removedEntities {
            let name = SQLText.literal(entity.name)
            let kin = SQLText.literals(mapping.old.kindNames(mapping.old.root(of: entity)))
            let wanted = "SELECT 1 FROM _history_range WHERE entity = \(name)"
            guard try Row.fetchOne(database, sql: wanted) != nil else { continue }
            let columns = "id, token, entity, object, identity, change, properties"
            let table = "\(schema).\(SQLText.quoted(entity.tableName))"
            let identity = SQLText.quoted(entity.identity.columnName)
            // The steps in a range, and the list of the one that has one, by position.
            let places = """
                SELECT r.*, r.first + n.step AS object, n.step FROM _history_range r JOIN steps n ON n.step < r.count \
                WHERE r.entity = \(name) AND r.objects IS NULL \
                UNION ALL SELECT r.*, o.value, o.key FROM _history_range r, json_each(iif(json_valid(r.objects), r.objects, '[]')) o \
                WHERE r.entity = \(name) AND r.objects IS NOT NULL
                """
            try execute(
                """
                WITH RECURSIVE \
                steps (step) AS (SELECT 0 UNION ALL SELECT step + 1 FROM steps \
                WHERE step + 1 < \(HistoryRange.maximumCount)), \
                places AS (\(places)), \
                deleted AS MATERIALIZED (SELECT object, identity FROM _history_change \
                WHERE change = 2 AND entity IN (\(kin))) \
                INSERT INTO _history_change (\(columns)) \
                SELECT p.id + p.step, p.token, p.entity, p.object, coalesce(e.\(identity), d.identity), p.change, \
                p.properties FROM places p LEFT JOIN \(table) e ON e.pk = p.object \
                LEFT JOIN deleted d ON d.object = p.object
                """)
            try execute("DELETE FROM _history_range WHERE entity = \(name)")
        }
    }

    /// Computes all derived values from the rows as they are now.
    func computeDerived(time: Int64) throws {
        guard let connection = database.sqliteConnection else { return }
        let store = SQLiteWriterSession(connection, model: mapping.new)
        defer { store.releaseStatements() }
        try DerivedRecomputation(store, time: time).run(options.willExecute)
    }

    /// Writes the model and the marker that tells readers of the history where the model changed.
    func record(time: Int64) throws {
        let stored = try StoredModel(database)
        try options.willExecute("INSERT INTO _history_transaction")
        try StoredModel.put(
            "formerModels", stored.formerHashes(before: mapping.new).joined(separator: "\n"), database)
        try StoredModel.record(mapping.new, in: database)
        guard let connection = database.sqliteConnection else { return }
        let store = SQLiteWriterSession(connection, model: mapping.new)
        defer { store.releaseStatements() }
        _ = try store.openHistory(
            HistoryHeader(
                time: time, author: HistoryTransaction.migrationAuthor,
                context: "\(stored.name) \(stored.version) → \(mapping.new.name) \(mapping.new.version)",
                source: nil, firstChange: try store.nextChangeID()))
    }

    /// Checks that the store came out as a new one would be, with every reference leading somewhere.
    func verify() throws {
        try options.willExecute("PRAGMA foreign_key_check")
        let dangling = try Row.fetchAll(database, sql: "PRAGMA foreign_key_check")
        if !dangling.isEmpty {
            let tables = Dictionary(grouping: dangling) { "\($0[0] as String) → \($0[2] as String)" }
            throw MigrationError(
                .rows, "References would lead nowhere",
                remedy: "Correct the rows or the model; the store is as it was",
                details: tables.sorted { $0.key < $1.key }.map { "\($0.key): \(counted($0.value.count, "row"))" })
        }
        let current = try SchemaSnapshot(database)
        for object in script.newSchema.objects where !object.table.hasPrefix("_") {
            let isSame =
                object.type == "table"
                ? current.table(object.name) == script.newSchema.table(object.name)
                : current.objects.contains { $0.name == object.name && $0.sql == object.sql }
            if !isSame { throw unlike("the \(object.type) \(object.name) is not as in a new store") }
        }
        for object in current.objects(of: "table") where !object.name.hasPrefix("_") {
            if !script.newSchema.has("table", object.name) { throw unlike("the table \(object.name) was left over") }
        }
    }

    private func unlike(_ detail: String) -> MigrationError {
        MigrationError(
            .failed, "The migrated store would not be sound: \(detail)",
            remedy: "Report this with both models; the store is as it was")
    }
}
