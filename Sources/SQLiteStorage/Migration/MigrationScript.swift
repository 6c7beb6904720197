import Foundation
import StoreSQL

/// The change from one model's tables to another's: a decision for each table, and the SQL that carries it out.
struct MigrationScript {
    /// Where the old tables are read while the new ones are filled.
    enum Place {
        /// Beside the new ones, under other names.
        case sameFile
        /// In another file, attached as `source`.
        case attached
        /// In their place: the migration has not begun.
        case untouched
    }

    /// The treatment of a table.
    enum Method: Equatable {
        /// It is new.
        case create
        /// It stays as it is.
        case keep
        /// It is altered where it is.
        case alter([String])
        /// Its rows are copied into a new one.
        case rebuild
    }

    /// A hierarchy's table.
    struct Table {
        let root: Entity
        /// The root of the hierarchy that it goes back to; nil for a new one.
        let oldRoot: Entity?
        /// Tells whether no other new table goes back to the same old one.
        let isOnlyHeir: Bool
        /// The new entities with the old ones that they go back to.
        let parts: [(entity: Entity, source: ModelMapping.Source)]
        var method: Method

        var name: String { root.tableName }
        /// The old table's name.
        var oldName: String? { oldRoot?.tableName }
    }

    /// A join table.
    struct Join {
        let join: JoinTable
        let relationship: Relationship
        /// The old join table that has the same links in the same columns, or nil.
        let oldName: String?
        var isKept: Bool { oldName != nil }
    }

    let mapping: ModelMapping
    let columns: MigrationColumns
    let oldSchema: SchemaSnapshot
    let newSchema: SchemaSnapshot
    /// Where the old tables are.
    let place: Place
    private(set) var tables: [Table] = []
    private(set) var joins: [Join] = []

    init(
        _ mapping: ModelMapping, columns: MigrationColumns, oldSchema: SchemaSnapshot, newSchema: SchemaSnapshot,
        place: Place
    ) {
        self.mapping = mapping
        self.columns = columns
        self.oldSchema = oldSchema
        self.newSchema = newSchema
        self.place = place
        tables = mapping.new.rootEntities.map(table)
        let renamed = renamedTables
        for index in tables.indices { tables[index].method = method(tables[index], renamed) }
        joins = mapping.new.joinTables.map { join($0, renamed) }
        // Links in a dropped column have to be read before the drop. An altered table has lost it by then, a rebuilt one
        // keeps its old rows beside the new ones.
        let needed = Set(links.compactMap(\.oldTable))
        for index in tables.indices {
            if case .alter = tables[index].method, let name = tables[index].oldName, needed.contains(name) {
                tables[index].method = .rebuild
            }
        }
    }

    // MARK: Names

    /// The old tables that live on under a new name, joins aside.
    var renamedTables: [String: String] {
        Dictionary(
            tables.compactMap { table in table.isOnlyHeir ? table.oldName.map { ($0, table.name) } : nil },
            uniquingKeysWith: { first, _ in first })
    }

    /// Where an old table's rows are read while the new tables are filled.
    func oldTable(_ name: String) -> String {
        if place == .attached { return "source.\(SQLText.quoted(name))" }
        if place == .untouched { return SQLText.quoted(name) }
        if let table = tables.first(where: { $0.oldName == name && $0.isOnlyHeir }) {
            return SQLText.quoted(table.method == .rebuild ? "_migrated_\(table.name)" : table.name)
        }
        return SQLText.quoted("_removed_\(name)")
    }

    func oldJoin(_ name: String) -> String {
        if place == .attached { return "source.\(SQLText.quoted(name))" }
        if place == .untouched { return SQLText.quoted(name) }
        if let join = joins.first(where: { $0.oldName == name }) { return SQLText.quoted(join.join.name) }
        return SQLText.quoted("_removed_\(name)")
    }

    // MARK: Decisions

    private func table(_ root: Entity) -> Table {
        let members = mapping.new.entities.filter { $0.rootIndex == root.index }
        let parts = members.map { ($0, mapping.source(of: $0)) }.filter { $0.1.entity != nil }
        let oldRoot = parts.first?.1.entity.map { mapping.old.root(of: $0) }
        let heirs = Set(
            mapping.old.entities.filter { $0.rootIndex == oldRoot?.index }
                .compactMap { mapping.target(of: $0)?.rootIndex })
        return Table(
            root: root, oldRoot: oldRoot, isOnlyHeir: heirs == [root.index], parts: parts,
            method: oldRoot == nil ? .create : .rebuild)
    }

    /// Chooses the cheapest treatment that SQLite allows.
    ///
    /// Example: a new optional attribute is `ADD COLUMN`, which touches no row. A changed type needs another declaration of
    /// the column, which only a new table can have, so the rows are copied.
    private func method(_ table: Table, _ renamed: [String: String]) -> Method {
        guard let oldName = table.oldName else { return .create }
        guard place != .attached, table.isOnlyHeir, let new = newSchema.table(table.name),
            let old = oldSchema.table(oldName)
        else { return .rebuild }
        if table.root.sharesTable || table.parts[0].source.entity?.sharesTable == true {
            return isUntouched(table, new, old, renamed) ? .keep : .rebuild
        }
        guard let statements = alteration(table, new, old, renamed) else { return .rebuild }
        return statements.isEmpty ? .keep : .alter(statements)
    }

    /// Tells whether a table of several entities stays as it is.
    private func isUntouched(
        _ table: Table, _ new: TableDefinition, _ old: TableDefinition, _ renamed: [String: String]
    ) -> Bool {
        let translated = Self.translated(old, renamed)
        let removed = mapping.removedEntities.contains { $0.tableName == table.oldName }
        guard !removed, new == translated else { return false }
        return table.parts.allSatisfy { part in
            part.entity.name == part.source.entity?.name
                && columns.columns(of: part.entity, from: part.source).allSatisfy { name, source in
                    if case .column(name) = source { true } else { false }
                }
        }
    }

    private static func translated(_ definition: TableDefinition, _ renamed: [String: String]) -> TableDefinition {
        var definition = definition
        for index in definition.columns.indices {
            definition.columns[index].text = translated(definition.columns[index].text, renamed)
        }
        return definition
    }

    /// A column's text with the new names of the tables that it refers to.
    private static func translated(_ text: String, _ renamed: [String: String]) -> String {
        let parts = text.components(separatedBy: "REFERENCES \"")
        guard parts.count == 2, let end = parts[1].firstIndex(of: "\"") else { return text }
        let name = String(parts[1][..<end])
        return "\(parts[0])REFERENCES \"\(renamed[name] ?? name)\(parts[1][end...])"
    }

    /// The statements that alter the table of a single entity, or nil where its rows have to be copied.
    private func alteration(
        _ table: Table, _ new: TableDefinition, _ old: TableDefinition, _ renamed: [String: String]
    ) -> [String]? {
        let part = table.parts[0]
        var change = Alteration(table: SQLText.quoted(table.name))
        let attributes = Dictionary(
            part.entity.attributes.map { ($0.columnName, $0.name) }, uniquingKeysWith: { first, _ in first })
        for (column, source) in columns.columns(of: part.entity, from: part.source) {
            guard let definition = new.column(column) else { return nil }
            let isOwn = attributes[column].flatMap { part.source.attributes[$0]?.columnName }
            let before: String? =
                switch source {
                case .column(let before): before
                case .computed: isOwn
                case .empty: nil
                }
            if let before {
                guard let oldText = old.column(before),
                    TableDefinition.type(Self.translated(oldText, renamed)) == TableDefinition.type(definition)
                else { return nil }
                change.kept.insert(before)
                if before != column { change.renames.append((before, column)) }
            } else {
                change.added.append(definition)
            }
            if case .computed(let sql) = source { change.updates.append("\(SQLText.quoted(column)) = \(sql)") }
        }
        return change.statements(old)
    }

    /// The change of a table that stays where it is.
    private struct Alteration {
        /// The table's quoted name.
        let table: String
        /// The old columns that stay.
        var kept: Set<String> = ["pk", "_placeholder"]
        /// The definitions of new columns.
        var added: [String] = []
        var renames: [(String, String)] = []
        /// The assignments of computed values.
        var updates: [String] = []

        /// The statements, or nil where SQLite cannot alter the table in this way.
        func statements(_ old: TableDefinition) -> [String]? {
            let dropped = old.columns.filter { !kept.contains($0.name) }
            // A column that refers to another table cannot be dropped.
            if dropped.contains(where: { $0.text.contains("REFERENCES") }) { return nil }
            // Expressions read the old columns by their old names.
            if !updates.isEmpty, !dropped.isEmpty || !renames.isEmpty { return nil }
            let oldNames = Set(old.columns.map { $0.name.lowercased() })
            if renames.contains(where: { oldNames.contains($0.1.lowercased()) }) { return nil }
            var actions = dropped.map { "DROP COLUMN \(SQLText.quoted($0.name))" }
            actions += renames.map { "RENAME COLUMN \(SQLText.quoted($0.0)) TO \(SQLText.quoted($0.1))" }
            actions += added.map { "ADD COLUMN \($0)" }
            let statements = actions.map { "ALTER TABLE \(table) \($0)" }
            if updates.isEmpty { return statements }
            return statements + ["UPDATE \(table) AS s SET \(updates.joined(separator: ", "))"]
        }
    }

    private func join(_ join: JoinTable, _ renamed: [String: String]) -> Join {
        let relationship = mapping.new.entities[join.ownerEntity].relationships[join.ownerRelationship]
        guard place != .attached, case .join(let index, true)? = mapping.source(of: relationship)?.storage else {
            return Join(join: join, relationship: relationship, oldName: nil)
        }
        let before = mapping.old.joinTables[index]
        guard let old = oldSchema.table(before.name), let new = newSchema.table(join.name),
            Self.translated(old, renamed) == new
        else { return Join(join: join, relationship: relationship, oldName: nil) }
        return Join(join: join, relationship: relationship, oldName: before.name)
    }
}
