import GraphCore

/// Names and lists in SQL text. Values are never written into SQL; they are bound.
package enum SQLText {
    /// Returns a name as a quoted identifier.
    package static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    /// Returns a text as a literal, for names of entities in schema text.
    package static func literal(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
    }

    /// Returns texts of a model as a list of literals.
    package static func literals(_ texts: [String]) -> String { texts.map(literal).joined(separator: ", ") }
}

extension ObjectModel {
    /// The condition that rows of a table are objects of an entity that is not its root, or of one below it.
    package func kindCondition(_ entity: Entity, alias: String = "") -> String {
        "\(alias)_entity IN (\(SQLText.literals(kindNames(entity))))"
    }

    /// The view of a sub-entity's rows, with all columns of the table.
    package func view(_ entity: Entity) -> String {
        """
        CREATE VIEW \(SQLText.quoted(entity.viewName)) AS SELECT * FROM \(SQLText.quoted(entity.tableName)) \
        WHERE \(kindCondition(entity))
        """
    }

    /// The condition that a change `d` may be of an object in the range of changes `r`, by their entities.
    ///
    /// An object may have become one of a sub-entity in between; keys are unique in the whole hierarchy.
    package var kinshipCondition: String {
        let hierarchies = rootEntities.filter(\.sharesTable).map { root in
            let list = SQLText.literals(kindNames(root))
            return "r.entity IN (\(list)) AND d.entity IN (\(list))"
        }
        return (["d.entity = r.entity"] + hierarchies).joined(separator: " OR ")
    }
}
