import Foundation
import ObjectGraph

@testable import GraphCore
@testable import SQLiteStorage

/// A store as sorted lines of text without keys, tokens and times: two stores with the same graph give the same lines.
enum StoreDump {
    static func lines(_ graph: Graph) throws -> [String] { try graph.holdingStill { try lines(of: graph) } }

    private static func lines(of graph: Graph) throws -> [String] {
        var lines: [String] = []
        for entity in graph.model.entities {
            lines += try self.lines(entity, graph)
            for relationship in entity.ownRelationships where relationship.isOrdered {
                lines += try self.lines(relationship, entity, graph)
            }
        }
        for join in graph.model.joinTables {
            let owner = graph.model.entities[join.ownerEntity]
            let destination = graph.model.entities[join.destinationEntity]
            let sql = """
                SELECT (SELECT x.\(owner.identity.columnName) FROM "\(owner.viewName)" x WHERE x.pk = j.owner), \
                (SELECT x.\(destination.identity.columnName) FROM "\(destination.viewName)" x WHERE x.pk = j.destination) FROM "\(join.name)" j
                """
            lines += try graph.rows(sql).map { "\(join.name): \($0[0].shown) \($0[1].shown)" }
        }
        lines += try graph.tombstones().map {
            "deleted \($0[0].text ?? "") \($0[1].shown) version \($0[2].shown) time \($0[3].shown)"
        }
        return lines.sorted()
    }

    private static func lines(_ entity: Entity, _ graph: Graph) throws -> [String] {
        let toOne = entity.relationships.filter { !$0.isToMany }
        let columns =
            entity.attributes.map { "e.\"\($0.columnName)\"" }
            + toOne.map { relationship in
                let destination = graph.model.entities[relationship.destinationIndex]
                let found =
                    "(SELECT quote(x.\(destination.identity.columnName)) FROM \"\(destination.viewName)\" x WHERE x.pk = e.\"\(relationship.columnName)\")"
                return
                    "CASE WHEN e.\"\(relationship.columnName)\" IS NULL THEN 'null' ELSE coalesce(\(found), 'dangling') END"
            }
        let own = entity.sharesTable ? " WHERE e._entity = '\(entity.name)'" : ""
        let rows = try graph.rows(
            "SELECT \(columns.joined(separator: ", ")), e._placeholder FROM \"\(entity.viewName)\" e\(own)")
        return rows.map { row in
            var fields: [(String, String)] = []
            for (index, attribute) in entity.attributes.enumerated() {
                fields.append((attribute.name, row[index].shown))
            }
            for (index, relationship) in toOne.enumerated() {
                fields.append((relationship.name, row[entity.attributes.count + index].text ?? "?"))
            }
            return line(entity, fields, isPlaceholder: row.last == 1)
        }
    }

    /// The lists of an ordered relationship, those of sub-entities too.
    private static func lines(_ relationship: Relationship, _ entity: Entity, _ graph: Graph) throws -> [String] {
        let query = FetchQuery.identities(relationship, graph.model)
        return try graph.rows("SELECT pk, \(entity.identity.columnName) FROM \"\(entity.viewName)\"").compactMap {
            owner in
            let sql = query.replacingOccurrences(of: "?", with: owner[0].shown)
            return list(relationship, entity, owner[1], try graph.column(sql))
        }
    }

    static func list(
        _ relationship: Relationship, _ entity: Entity, _ owner: Value, _ destinations: [Value]
    ) -> String? {
        if destinations.isEmpty { return nil }
        return "order \(entity.name) \(owner.shown) \(relationship.name): "
            + destinations.map(\.shown).joined(separator: " ")
    }

    static func line(_ entity: Entity, _ fields: [(String, String)], isPlaceholder: Bool) -> String {
        let text = fields.map { "\($0.0)=\($0.1)" }.joined(separator: " ")
        return "\(entity.name) \(text)\(isPlaceholder ? " placeholder" : "")"
    }

    /// The first lines that one side has and the other has not.
    static func difference(_ left: [String], _ right: [String]) -> String? {
        if left == right { return nil }
        let (onlyLeft, onlyRight) = (Set(left).subtracting(right), Set(right).subtracting(left))
        return (onlyLeft.sorted().prefix(6).map { "  - \($0)" } + onlyRight.sorted().prefix(6).map { "  + \($0)" })
            .joined(separator: "\n")
    }
}
