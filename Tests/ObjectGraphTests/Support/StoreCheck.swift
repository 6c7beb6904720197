import ObjectGraph

@testable import GraphCore

/// Looks a store over with SQL that has nothing in common with the sources: what it returns is wrong with the store.
enum StoreCheck {
    /// - Parameter hasMigrated: whether a migration, which writes no changes, has removed or renamed objects.
    static func problems(_ graph: Graph, hasMigrated: Bool = false) throws -> [String] {
        try graph.holdingStill { try problems(of: graph) + (hasMigrated ? [] : folded(graph)) }
    }

    private static func problems(of graph: Graph) throws -> [String] {
        var problems: [String] = []
        if try graph.column("PRAGMA integrity_check") != ["ok"] { problems.append("integrity_check") }
        for row in try graph.rows("PRAGMA foreign_key_check") { problems.append("foreign key of \(row[0].shown)") }
        for entity in graph.model.entities {
            for attribute in entity.attributes { problems += try derived(attribute, entity, graph) }
            for relationship in entity.relationships { problems += try links(relationship, entity, graph) }
            problems += try required(entity, graph)
            problems += try buried(entity, graph)
            problems += try filled(entity, graph)
        }
        return problems
    }

    private static func derived(_ attribute: Attribute, _ entity: Entity, _ graph: Graph) throws -> [String] {
        guard let index = attribute.derivation?.aggregatedRelationship else { return [] }
        let relationship = entity.relationships[index]
        let destination = graph.model.entities[relationship.destinationIndex]
        var aggregate = "count(*)"
        if case .aggregate(let function, _, let slot)? = attribute.derivation {
            // The others may be null or text, and whole-number types take a sum rounded: the reference covers them.
            guard function == .sum, !attribute.type.isWhole || destination.attributes[slot].type.isWhole else {
                return []
            }
            aggregate = "coalesce(sum(CAST(d.\"\(destination.attributes[slot].columnName)\" AS REAL)), 0)"
        }
        let source: String
        switch relationship.storage {
        case .join(let table, let isOwner):
            let (near, far) = isOwner ? ("owner", "destination") : ("destination", "owner")
            source =
                "\"\(graph.model.joinTables[table].name)\" j, \"\(destination.viewName)\" d WHERE j.\(near) = e.pk AND d.pk = j.\(far)"
        default:
            let back = destination.relationships[relationship.inverseIndex ?? 0].columnName
            source = "\"\(destination.viewName)\" d WHERE d.\"\(back)\" = e.pk"
        }
        let sql = """
            SELECT "\(entity.identity.columnName)" FROM "\(entity.viewName)" e WHERE \
            abs(CAST("\(attribute.columnName)" AS REAL) - (SELECT \(aggregate) FROM \(source))) > 1e-6 \
            OR "\(attribute.columnName)" IS NULL
            """
        return try graph.column(sql).map { "\(entity.name).\(attribute.name) of \($0.shown) is not its recount" }
    }

    private static func links(_ relationship: Relationship, _ entity: Entity, _ graph: Graph) throws -> [String] {
        let destination = graph.model.entities[relationship.destinationIndex]
        let label = "\(entity.name).\(relationship.name)"
        switch relationship.storage {
        case .inverseColumn: return []
        case .join(let table, _):
            guard graph.model.joinTables[table].isOwnInverse else { return [] }
            let name = graph.model.joinTables[table].name
            let sql = "SELECT owner, destination FROM \"\(name)\" EXCEPT SELECT destination, owner FROM \"\(name)\""
            return try graph.rows(sql).map { _ in "\(label) is not symmetric" }
        case .column:
            guard let inverse = relationship.inverseIndex.map({ destination.relationships[$0] }) else { return [] }
            var found: [String] = []
            if inverse.deleteRule != .noAction {
                let sql = """
                    SELECT pk FROM "\(entity.viewName)" WHERE "\(relationship.columnName)" IS NOT NULL \
                    AND "\(relationship.columnName)" NOT IN (SELECT pk FROM "\(destination.viewName)")
                    """
                found += try graph.rows(sql).map { _ in "\(label) dangles" }
            }
            if !inverse.isToMany {
                let sql = """
                    SELECT e.pk FROM "\(entity.viewName)" e JOIN "\(destination.viewName)" d ON d.pk = e."\(relationship.columnName)" \
                    WHERE d."\(inverse.columnName)" IS NOT e.pk
                    """
                found += try graph.rows(sql).map { _ in "\(label) is not mutual" }
            }
            return found
        }
    }

    private static func required(_ entity: Entity, _ graph: Graph) throws -> [String] {
        try entity.requiredSlots.flatMap { slot in
            let name = entity.columnNames[slot]
            return try graph.rows(
                "SELECT pk FROM \"\(entity.viewName)\" WHERE _placeholder = 0 AND \"\(name)\" IS NULL"
            )
            .map { _ in "\(entity.name).\(name) is required and null" }
        }
    }

    private static func buried(_ entity: Entity, _ graph: Graph) throws -> [String] {
        let sql = """
            SELECT e.pk FROM "\(entity.viewName)" e JOIN _tombstone t ON t.entity = '\(graph.model.root(of: entity).name)' \
            AND t.identity = e.\(entity.identity.name) WHERE e._placeholder = 0
            """
        return try graph.rows(sql).map { _ in "an object of \(entity.name) lives and has a tombstone" }
    }

    /// A placeholder has an identity and links, and nothing that a program or an event has set.
    private static func filled(_ entity: Entity, _ graph: Graph) throws -> [String] {
        let attributes = entity.ownAttributes.filter { !$0.isDerived && $0.slot != entity.identitySlot }
        if attributes.isEmpty { return [] }
        let isSet = attributes.map { "\"\($0.columnName)\" IS NOT NULL" }.joined(separator: " OR ")
        return try graph.rows("SELECT pk FROM \"\(entity.viewName)\" WHERE _placeholder = 1 AND (\(isSet))")
            .map { _ in "a placeholder of \(entity.name) has values" }
    }

    /// An identity whose last change is a deletion has no object, and any other one of the history has one.
    private static func folded(_ graph: Graph) throws -> [String] {
        struct Key: Hashable {
            let root: String
            let identity: Value
        }
        var isDeleted: [Key: Bool] = [:]
        var request: HistoryRequest? = HistoryRequest()
        while let page = try request.map({ try graph.store.history($0) }) {
            for change in page.transactions.flatMap(\.changes) {
                guard let entity = graph.model.entity(named: change.entity) else { continue }
                let key = Key(root: graph.model.root(of: entity).name, identity: change.identity)
                isDeleted[key] = change.kind == .delete
            }
            request = page.next
        }
        let living = try graph.model.rootEntities.flatMap { entity in
            try graph.column("SELECT \"\(entity.identity.columnName)\" FROM \"\(entity.viewName)\"").map {
                Key(root: entity.name, identity: $0)
            }
        }
        let wrong =
            living.filter { isDeleted[$0] == true }
            + Set(isDeleted.filter { !$0.value }.keys).subtracting(living)
        return wrong.map { "the last change of \($0.root) \($0.identity.shown) is not what became of it" }
    }
}

extension AttributeType {
    fileprivate var isWhole: Bool { [.integer16, .integer32, .integer64].contains(self) }
}
