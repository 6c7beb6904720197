import StoreSQL

/// Comments on tables and columns, which `psql` shows with `\d+`: what the model says of them.
struct PostgresComments {
    private let model: ObjectModel

    init(_ model: ObjectModel) { self.model = model }

    var statements: [String] {
        Self.ownTables.map { Self.comment("TABLE \($0.name)", $0.text) } + model.rootEntities.flatMap(comments)
            + model.joinTables.map(comment)
    }

    static let ownTables = [
        (name: "_metadata", text: "The layout's version, the store's identity, and the model"),
        (name: "_sequence", text: "The next pk of each entity"),
        (name: "_lease", text: "The worker that writes the store; the epoch grows with each one"),
        (name: "_token", text: "The last numbers that were given out"),
        (
            name: "_history_transaction",
            text: "A row for each commit that changed objects; time in microseconds since 1970 UTC"
        ),
        (
            name: "_history_change",
            text: "The changed objects of each transaction: 0 insert, 1 update, 2 delete. Read the view _history"
        ),
        (name: "_history_range", text: "Changes of many objects in one row. Read the view _history"),
        (name: "_position", text: "The next offset wanted of each topic and partition"),
        (name: "_dead_letter", text: "Records that were refused: place, stage, code, reason, key, value, headers"),
        (name: "_tombstone", text: "Deleted identities; late events about them have no effect"),
        (name: "_cursor", text: "The token that each reader of the history has read through"),
        (name: "_audit", text: "Administrative requests: who, what, when, and the answer"),
        (name: "_conflict", text: "Conflicts that a merge policy resolved"),
        (name: "_writer", text: "The workers that share the store, where several write it"),
        (name: "_fence", text: "The epoch of each partition: a worker that lost the partition writes no more of it"),
        (
            name: "_role",
            text: "The worker that delivers notifications and dead letters, and purges, where several write"
        ),
    ]

    private static func comment(_ object: String, _ text: String) -> String {
        "COMMENT ON \(object) IS \(SQLText.literal(text))"
    }

    private static func notes(_ info: [String: String]) -> [String] {
        info.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    }

    private func comment(_ join: JoinTable) -> String {
        let (owner, destination) = (model.entities[join.ownerEntity], model.entities[join.destinationEntity])
        let relationship = owner.relationships[join.ownerRelationship]
        return Self.comment(
            "TABLE \(join.quotedName)",
            "The links of \(owner.name).\(relationship.name): pk of \(owner.tableName) and pk of \(destination.tableName)"
        )
    }

    private func comments(_ root: Entity) -> [String] {
        let members = model.entities.filter { $0.rootIndex == root.index }
        let table = SQLText.quoted(root.tableName)
        let names = members.map(\.name).joined(separator: ", ")
        let about = (["The objects of \(names)"] + members.flatMap { Self.notes($0.info) }).joined(separator: "; ")
        var texts: [String: [String]] = [:]
        for entity in members {
            for attribute in entity.ownAttributes { texts[attribute.columnName, default: []].append(text(attribute)) }
            for relationship in entity.ownRelationships where relationship.slot != nil {
                texts[relationship.columnName, default: []].append(text(relationship))
            }
        }
        let own = [
            ("pk", "The row's key, to which references lead"),
            ("_placeholder", "Whether nothing but the identity is known yet"),
        ]
        let columns = own + texts.sorted { $0.key < $1.key }.map { ($0.key, $0.value.joined(separator: "; ")) }
        return [Self.comment("TABLE \(table)", about)]
            + columns.map { Self.comment("COLUMN \(table).\(SQLText.quoted($0.0))", $0.1) }
    }

    private func text(_ attribute: Attribute) -> String {
        let entity = model.entities[attribute.entityIndex]
        var parts = ["\(entity.name).\(attribute.name): \(attribute.type.rawValue)"]
        if attribute.slot == entity.identitySlot { parts.append("identity") }
        if attribute.slot == entity.versionSlot { parts.append("version") }
        if attribute.isDerived { parts.append("derived") }
        if attribute.isOptional { parts.append("optional") }
        return (parts + Self.notes(attribute.info)).joined(separator: ", ")
    }

    private func text(_ relationship: Relationship) -> String {
        let (entity, destination) = (
            model.entities[relationship.entityIndex], model.entities[relationship.destinationIndex]
        )
        let parts = ["\(entity.name).\(relationship.name): pk of \(destination.tableName)"]
        return (parts + (relationship.isOptional ? ["optional"] : []) + Self.notes(relationship.info))
            .joined(separator: ", ")
    }
}
