// The plan in words.
extension MigrationScript {
    /// The steps in their order, with the numbers of rows by the old tables' names.
    func steps(_ counts: [String: Int64]) -> [MigrationPlan.Step] {
        var steps: [MigrationPlan.Step] = []
        func add(_ action: String, _ subject: String?, _ text: String, _ count: Int64? = nil) {
            steps.append(MigrationPlan.Step(action: action, subject: subject, text: text, rowCount: count))
        }
        for table in tables {
            let name = table.name
            let count = table.oldName.flatMap { counts[$0] }
            let renamed = table.oldName == name ? "" : ", renamed from \(table.oldName ?? "")"
            switch table.method {
            case .create: add("create", name, "create the table \(name)")
            case .keep: if !renamed.isEmpty { add("alter", name, "rename the table \(table.oldName ?? "") to \(name)") }
            case .alter(let statements):
                let writes = statements.contains { $0.hasPrefix("UPDATE") || $0.contains("DROP COLUMN") }
                add("alter", name, "alter the table \(name)\(renamed)", writes ? count : 0)
            case .rebuild: add("rebuild", name, "copy the rows of \(name) into a new table\(renamed)", count)
            }
        }
        let live = Set(tables.compactMap(\.oldName))
        for root in mapping.old.rootEntities where !live.contains(root.tableName) {
            add(
                "drop", root.tableName, "drop the table \(root.tableName) and its rows", counts[root.tableName])
        }
        for links in links {
            let entity = mapping.new.entities[links.relationship.entityIndex].name
            add(
                "links", "\(entity).\(links.relationship.name)",
                "carry the links of \(entity).\(links.relationship.name) over")
        }
        let keptJoins = Set(joins.compactMap(\.oldName))
        for join in mapping.old.joinTables where !keptJoins.contains(join.name) {
            add("drop", join.name, "drop the join table \(join.name)", counts[join.name])
        }
        if mapping.new.entities.contains(where: { $0.attributes.contains(where: \.isDerived) }) {
            add("derive", nil, "compute the derived values again")
        }
        add("record", nil, "record the model and a history transaction that marks the migration")
        return steps
    }
}
