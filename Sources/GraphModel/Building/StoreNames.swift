/// Gives tables, views and columns their names: SQLite's know no case, and the store has names of its own.
///
/// Names that would be equal get a suffix with `$`, which no name of a model holds and which needs no quotes. The names
/// follow from the model alone, whatever the order of its lines. The rules are in docs/reference/store.md, "Names".
package struct StoreNames {
    /// Names that have been given, without case.
    private var taken: Set<String>

    package init(besides taken: Set<String> = []) { self.taken = taken }

    /// Columns that every table may have, and names by which SQLite knows a row's key.
    ///
    /// A view's column cannot be called `true` or `false`: SQLite calls it `column2`.
    package static let ownColumns: Set = ["pk", "_entity", "_placeholder", "rowid", "oid", "_rowid_", "true", "false"]

    /// Table-valued functions of SQLite that statements call: a table of that name would hide them.
    private static let functions: Set = ["json_each", "json_tree"]

    /// Returns the name, or where it is taken the same with the first free number behind it.
    mutating func take(_ name: String) -> String {
        var candidate = name
        var number = 1
        while !taken.insert(candidate.lowercased()).inserted {
            number += 1
            candidate = "\(name)$\(number)"
        }
        return candidate
    }

    /// Returns the name of an entity's table or view.
    mutating func takeTable(_ entity: String) -> String {
        take(Self.isReserved(entity) || entity.lowercased().hasSuffix("_readable") ? "entity$\(entity)" : entity)
    }

    /// Returns the name of a join table.
    mutating func takeJoinTable(_ name: String) -> String { take(Self.isReserved(name) ? "entity$\(name)" : name) }

    private static func isReserved(_ name: String) -> Bool {
        let folded = name.lowercased()
        return folded.hasPrefix("_") || folded.hasPrefix("sqlite_") || functions.contains(folded)
    }

    /// Returns the name of a column: the property's own where it is free, otherwise with the entity's behind it.
    package mutating func takeColumn(_ property: String, of entity: String) -> String {
        let isOwn = property == HiddenIdentity.name || !property.hasPrefix("_")
        if isOwn, taken.insert(property.lowercased()).inserted { return property }
        return take("\(property)$\(entity)")
    }
}

extension ModelBuilder {
    /// Names tables, then views for people; of entities whose names differ by case only, that which sorts first has the
    /// plain name.
    mutating func nameEntities() {
        var names = StoreNames()
        entityNames = declaration.entities.map { _ in StoredNames() }
        let order = declaration.entities.indices.sorted {
            declaration.entities[$0].name < declaration.entities[$1].name
        }
        for index in order { entityNames[index].table = names.takeTable(declaration.entities[index].name) }
        for index in order { entityNames[index].readable = names.take("\(entityNames[index].table)_readable") }
        tableNames = names
    }

    /// Names the join tables after their owners' relationships.
    mutating func nameJoinTables() {
        let names = joinTables.map { join in
            let owner = declaration.entities[join.ownerEntity]
            return (owner.name, owner.relationships[join.ownerRelationship].name)
        }
        for index in joinTables.indices.sorted(by: { names[$0] < names[$1] }) {
            joinTables[index].name = tableNames.takeJoinTable("\(names[index].0)_\(names[index].1)")
        }
    }
}
