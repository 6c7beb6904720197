/// The tables that a request's query, and the queries inside it, read.
///
/// Paths over to-one relationships become outer joins, one for each distinct path of a scope. The objects of a to-many
/// relationship have a scope of their own.
package struct SQLScopes {
    private struct Scope {
        let alias: String
        let entity: Int
        /// The aliases of the joined tables, by the path that leads to them.
        var aliases: [String: String] = [:]
        var joins = ""
    }

    /// The joins of a scope, and the tables of a statement, that every engine carries out.
    private static let (maximumJoinCount, maximumTableCount) = (48, 480)

    package let model: ObjectModel
    /// The names of the aliases' entities.
    package private(set) var tables: [String: String] = [:]
    private var scopes: [Int: Scope] = [:]

    package init(_ model: ObjectModel) { self.model = model }

    /// Returns an alias; nil where there are too many.
    private mutating func newAlias(_ entity: Int, _ name: String? = nil) -> String? {
        if tables.count >= Self.maximumTableCount { return nil }
        let alias = name ?? "t\(tables.count + 1)"
        tables[alias] = model.entities[entity].name
        return alias
    }

    /// Begins a scope of objects with a table of its own; false where there are too many tables.
    package mutating func open(_ scope: Int, entity: Int, alias: String? = nil) -> Bool {
        guard let alias = newAlias(entity, alias) else { return false }
        scopes[scope] = Scope(alias: alias, entity: entity)
        return true
    }

    /// The alias of a scope's objects.
    package func alias(_ scope: Int) -> String { scopes[scope]?.alias ?? "t0" }

    /// The entity of a scope's objects.
    package func entity(_ scope: Int) -> Entity { model.entities[scopes[scope]?.entity ?? 0] }

    private func table(_ entity: Int) -> String { SQLText.quoted(model.entities[entity].tableName) }

    /// Tells whether a scope reads a further table beside the table of its objects.
    package func hasJoins(_ scope: Int) -> Bool { scopes[scope]?.joins.isEmpty == false }

    /// Returns the tables of a scope as they stand behind FROM; call it after all that reads them.
    package func from(_ number: Int) -> String {
        scopes[number].map { "\(table($0.entity)) \($0.alias)\($0.joins)" } ?? ""
    }

    // MARK: Paths

    /// Returns the alias of the table at the end of to-one steps, joining the tables on the way; nil where there are too many.
    package mutating func alias(_ steps: [Relationship], _ number: Int) -> String? {
        guard var scope = scopes[number] else { return nil }
        var alias = scope.alias
        for step in steps {
            let key = "\(alias).\(step.name)"
            if let known = scope.aliases[key] {
                alias = known
                continue
            }
            guard scope.aliases.count < Self.maximumJoinCount, let joined = newAlias(step.destinationIndex) else {
                return nil
            }
            let column = "\(alias).\(SQLText.quoted(step.columnName))"
            scope.joins += " LEFT JOIN \(table(step.destinationIndex)) \(joined) ON \(joined).pk = \(column)"
            scope.aliases[key] = joined
            alias = joined
        }
        scopes[number] = scope
        return alias
    }

    /// Returns the column at the end of a path; of an object, its primary key.
    package mutating func column(_ path: ResolvedPath) -> String? {
        guard let alias = alias(path.steps, path.scope) else { return nil }
        switch path.end {
        case .attribute(let attribute): return "\(alias).\(SQLText.quoted(attribute.columnName))"
        case .destination(let relationship): return "\(alias).\(SQLText.quoted(relationship.columnName))"
        case .object: return "\(alias).pk"
        }
    }

    // MARK: Collections

    /// Begins the scope of a collection's objects; false where there are too many tables.
    package mutating func open(_ collection: CheckedCollection) -> Bool {
        open(collection.element, entity: collection.relationship.destinationIndex)
    }

    /// Returns the rows of a collection's objects as FROM and WHERE of a query; call it after all that reads them.
    package mutating func rows(of collection: CheckedCollection) -> (from: String, link: String)? {
        guard let owner = alias(collection.steps, collection.scope), let scope = scopes[collection.element] else {
            return nil
        }
        let alias = scope.alias
        switch collection.relationship.storage {
        case .join(let index, let isOwner):
            let (near, far) = isOwner ? ("owner", "destination") : ("destination", "owner")
            let links = "\(model.joinTables[index].quotedName) \(alias)j"
            let objects = "\(table(scope.entity)) \(alias) ON \(alias).pk = \(alias)j.\(far)\(scope.joins)"
            return ("\(links) JOIN \(objects)", "\(alias)j.\(near) = \(owner).pk")
        case .column(let slot), .inverseColumn(let slot):
            let column = model.entities[collection.relationship.destinationIndex].columnNames[slot]
            return (from(collection.element), "\(alias).\(SQLText.quoted(column)) = \(owner).pk")
        }
    }

    /// Returns the number of a collection's objects; the rows that hold the links suffice.
    package mutating func count(_ collection: CheckedCollection) -> String? {
        guard let owner = alias(collection.steps, collection.scope) else { return nil }
        let (links, column): (String, String)
        switch collection.relationship.storage {
        case .join(let index, let isOwner):
            (links, column) = (model.joinTables[index].quotedName, isOwner ? "owner" : "destination")
        case .column(let slot), .inverseColumn(let slot):
            let destination = collection.relationship.destinationIndex
            (links, column) = (table(destination), SQLText.quoted(model.entities[destination].columnNames[slot]))
        }
        return "(SELECT count(*) FROM \(links) l WHERE l.\(column) = \(owner).pk)"
    }
}
