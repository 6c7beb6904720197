import Foundation
import GRDB
import StoreSQL

/// Looks for rows that stand against a migration, in the old store as it is.
struct MigrationChecks {
    let script: MigrationScript
    let difference: ModelDifference
    let database: Database

    var mapping: ModelMapping { script.mapping }

    /// Returns a line for each problem: how many rows of which kind have it, and the key of one of them.
    func problems() throws -> [String] {
        var problems: [String] = []
        for entity in mapping.new.entities {
            let source = mapping.source(of: entity)
            guard let old = source.entity else { continue }
            problems += try values(of: entity, source, old)
            problems += try destinations(of: entity, source, old)
            if entity.isAbstract, !old.isAbstract {
                problems += try rows(
                    "\(entity.name) is abstract now and has objects of its own", old, "NOT s._placeholder")
            }
        }
        problems += try links()
        problems += try uniqueness()
        return problems
    }

    // MARK: Counting

    static func kind(_ old: Entity) -> String {
        old.sharesTable ? "s._entity = \(SQLText.literal(old.name))" : "1"
    }

    private func rows(_ what: String, _ old: Entity, _ condition: String) throws -> [String] {
        let sql = """
            SELECT count(*), min(s.pk) FROM \(SQLText.quoted(old.tableName)) s \
            WHERE \(Self.kind(old)) AND (\(condition))
            """
        return try count(what, sql)
    }

    private func count(_ what: String, _ sql: String) throws -> [String] {
        guard let row = try Row.fetchOne(database, sql: sql), let count: Int64 = row[0], count > 0 else { return [] }
        let example: Int64? = row[1]
        return ["\(what): \(counted(count, "row"))\(example.map { ", as that with pk \($0)" } ?? "")"]
    }

    // MARK: Values

    private func values(of entity: Entity, _ source: ModelMapping.Source, _ old: Entity) throws -> [String] {
        var problems: [String] = []
        for conversion in script.columns.conversions(of: entity, from: source) {
            problems += try rows(
                "\(entity.name).\(conversion.attribute.name) cannot hold what is there as "
                    + conversion.attribute.type.rawValue, old, conversion.failure)
        }
        let columns = Dictionary(
            script.columns.columns(of: entity, from: source).map { ($0.name, $0.source) },
            uniquingKeysWith: { first, _ in first })
        for attribute in entity.attributes where !attribute.isOptional && !attribute.isDerived {
            guard let column = columns[attribute.columnName] else { continue }
            let before = source.attributes[attribute.name]
            let isIdentity = attribute.slot == entity.identitySlot
            if case .column = column, before?.isOptional == false, !isIdentity { continue }
            problems += try rows(
                "\(entity.name).\(attribute.name) is required and would have no value", old,
                (isIdentity ? "" : "NOT s._placeholder AND ") + "\(column.sql) IS NULL")
        }
        return problems
    }

    /// Returns notes about rows that break limits of the new model. Limits apply to later events, so this is no
    /// refusal.
    func notes() throws -> [String] {
        var notes: [String] = []
        for entity in mapping.new.entities where !entity.isAbstract {
            let source = mapping.source(of: entity)
            guard let old = source.entity else { continue }
            let columns = script.columns.columns(of: entity, from: source)
            for attribute in entity.attributes where !attribute.isDerived && !attribute.constraints.isEmpty {
                let before = source.attributes[attribute.name]
                let isNew =
                    before?.type != attribute.type
                    || before.flatMap(ModelComparison.limits) != ModelComparison.limits(attribute)
                guard isNew, let column = columns.first(where: { $0.name == attribute.columnName }) else { continue }
                let call = script.columns.functions.call([column.source.sql]) { values in
                    var count: Int64 = 0
                    attribute.check(values[0], entity: entity.name) { _ in count += 1 }
                    return .integer(count)
                }
                notes += try rows(
                    "\(entity.name).\(attribute.name) has values beyond its limits", old,
                    "NOT s._placeholder AND \(call)")
            }
        }
        return notes
    }

    // MARK: Relationships

    private func destinations(of entity: Entity, _ source: ModelMapping.Source, _ old: Entity) throws -> [String] {
        var problems: [String] = []
        for relationship in entity.relationships where relationship.slot != nil {
            let label = "\(entity.name).\(relationship.name)"
            let direct = script.columns.directColumn(of: relationship, source).map { "s.\(SQLText.quoted($0))" }
            if !relationship.isOptional, source.relationships[relationship.name]?.isOptional ?? true {
                let links = script.source(of: relationship)
                let missing =
                    direct.map { "\($0) IS NULL" }
                    ?? links.map { "s.pk NOT IN (SELECT owner FROM (\($0.selection)))" } ?? "1"
                problems += try rows(
                    "\(label) is required and would lead nowhere", old, "NOT s._placeholder AND \(missing)")
            }
            if let direct, let before = source.relationships[relationship.name] {
                problems += try kinds(label, relationship, before, direct, old)
            }
        }
        return problems
    }

    /// A destination may become a narrower entity if the objects are all of it.
    private func kinds(
        _ label: String, _ relationship: Relationship, _ before: Relationship, _ column: String, _ old: Entity
    ) throws -> [String] {
        let destination = mapping.new.entities[relationship.destinationIndex]
        let former = mapping.old.entities[before.destinationIndex]
        if mapping.kinship(of: former, to: destination) == .all { return [] }
        let names = mapping.new.entities.filter { $0.isKind(of: destination) }
            .compactMap { mapping.source(of: $0).entity }.map { SQLText.literal($0.name) }
        guard former.sharesTable else { return [] }
        return try rows(
            "\(label) leads to objects that are no \(destination.name)", old,
            """
            \(column) IS NOT NULL AND \(column) NOT IN (SELECT pk FROM \(SQLText.quoted(former.tableName)) \
            WHERE _entity IN (\(names.joined(separator: ", "))))
            """)
    }

    private func links() throws -> [String] {
        var problems: [String] = []
        for relationship in mapping.new.entities.flatMap(\.ownRelationships) {
            let label = "\(mapping.new.entities[relationship.entityIndex].name).\(relationship.name)"
            guard let links = script.source(of: relationship) else { continue }
            if let before = mapping.source(of: relationship), !isRelated(relationship, before) {
                problems += try count(
                    "\(label) has links to objects of another entity",
                    "SELECT count(*), min(owner) FROM (\(links.selection))")
            }
            if !relationship.isToMany, mapping.source(of: relationship)?.isToMany ?? true {
                problems += try several("\(label) may lead to one object only", links.selection)
            }
            guard let inverse = mapping.new.inverse(of: relationship),
                let before = mapping.source(of: relationship), let other = mapping.source(of: inverse),
                mapping.old.inverse(of: before).map({ $0.entityIndex != other.entityIndex || $0.index != other.index })
                    ?? true,
                let back = script.source(of: inverse)
            else { continue }
            // Both had links of their own before they were each other's inverse.
            problems += try count(
                "\(label) and its inverse \(inverse.name) do not have the same links",
                """
                SELECT count(*), min(owner) FROM (SELECT destination AS owner, owner AS destination \
                FROM (\(back.selection)) EXCEPT SELECT owner, destination FROM (\(links.selection)))
                """)
        }
        return problems
    }

    /// Tells whether destinations of the old relationship can be destinations of the new one.
    private func isRelated(_ relationship: Relationship, _ before: Relationship) -> Bool {
        let destination = mapping.new.entities[relationship.destinationIndex]
        return mapping.kinship(of: mapping.old.entities[before.destinationIndex], to: destination) != .none
    }

    private func several(_ what: String, _ selection: String) throws -> [String] {
        try count(
            what,
            "SELECT count(*), min(owner) FROM (SELECT owner FROM (\(selection)) GROUP BY owner HAVING count(*) > 1)")
    }

    // MARK: Uniqueness

    private func uniqueness() throws -> [String] {
        var problems: [String] = []
        for change in difference.changes {
            guard let entity = mapping.new.entity(named: change.entity) else { continue }
            if change.kind == .identityChanged {
                problems += try duplicates(entity, [entity.identity.name])
            } else if change.kind == .uniquenessAdded, let new = change.new {
                problems += try duplicates(entity, new.components(separatedBy: ", "))
            } else if change.kind == .typeChanged, let name = change.property {
                // Two texts may be one number.
                let constraints = entity.uniquenessConstraints.map(\.properties) + [[entity.identity.name]]
                for names in constraints where names.contains(name) { problems += try duplicates(entity, names) }
            }
        }
        return try problems + mappedDuplicates()
    }

    /// Looks at the unique values that an expression computes.
    private func mappedDuplicates() throws -> [String] {
        var problems: [String] = []
        for entity in mapping.new.entities {
            let identity = entity.parentIndex == nil ? [[entity.identity.name]] : []
            // An expression may be of an entity below.
            let members = mapping.new.entities.filter { $0.isKind(of: entity) }
            for names in entity.ownUniquenessConstraints.map(\.properties) + identity {
                let isMapped = members.contains { member in
                    names.compactMap(member.attribute(named:)).contains { attribute in
                        script.columns.expressions?.expression(for: attribute, of: member) != nil
                    }
                }
                if isMapped { problems += try duplicates(entity, names) }
            }
        }
        return problems
    }

    private func duplicates(_ entity: Entity, _ names: [String]) throws -> [String] {
        let selections = mapping.new.entities.filter { $0.isKind(of: entity) }.compactMap { member -> String? in
            let source = mapping.source(of: member)
            guard let old = source.entity else { return nil }
            let columns = script.columns.columns(of: member, from: source)
            let terms = names.enumerated().map { index, name in
                let column = member.columnName(of: name)
                return "\(columns.first { $0.name == column }?.source.sql ?? "NULL") AS k\(index)"
            }
            return """
                SELECT s.pk, \(terms.joined(separator: ", ")) FROM \(SQLText.quoted(old.tableName)) s \
                WHERE \(Self.kind(old))
                """
        }
        if selections.isEmpty { return [] }
        let keys = names.indices.map { "k\($0)" }
        return try count(
            "\(entity.name): the values of \(names.joined(separator: ", ")) are not unique",
            """
            SELECT count(*), min(pk) FROM (SELECT min(pk) AS pk FROM (\(selections.joined(separator: " UNION ALL "))) \
            WHERE \(keys.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")) \
            GROUP BY \(keys.joined(separator: ", ")) HAVING count(*) > 1)
            """)
    }
}
