// Identities and single values, which events are held to one by one.
extension SQLChecks {
    package func checkIdentities(_ check: inout Check) throws(StoreError) {
        for entity in model.rootEntities {
            check.checkedCount += try rowCount(entity)
            let name = entity.identity.name
            let column = SQLText.quoted(entity.identity.columnName)
            try rows("SELECT pk FROM \(table(entity)) WHERE \(column) IS NULL ORDER BY pk") { row in
                check.report(entity.name, nil, name, StoreProblem.noIdentity(key: row.integer(0)))
            }
            let key = SQLSliceKey.attribute(column, entity.identity.type)
            try eachSlice(of: table(entity), by: key, &check) { slice, check throws(StoreError) in
                try rows(
                    """
                    SELECT \(selected(entity.identity, "e")), count(*) FROM \(table(entity)) e \
                    WHERE \(slice.holds(column)) GROUP BY \(column) HAVING count(*) > 1
                    """
                ) { row in
                    let problem = StoreProblem.sharedIdentity(count: row.integer(1))
                    check.report(entity.name, identity(row, entity), name, problem)
                }
            }
        }
    }

    package func checkPresence(of slots: [Int], _ entity: Entity, _ check: inout Check) throws(StoreError) {
        let columns = slots.map { "e.\(SQLText.quoted(entity.columnNames[$0])) IS NULL" }
        try eachSlice(of: entity, &check) { slice, check throws(StoreError) in
            if slots.isEmpty { return }
            let states = columns.map { "CASE WHEN \($0) THEN 1 ELSE 0 END" }.joined(separator: ", ")
            try rows(
                """
                SELECT \(selected(entity.identity, "e")), \(states) FROM \(table(entity)) e WHERE NOT e._placeholder \
                AND (\(columns.joined(separator: " OR "))) AND \(slice.holds("e.pk")) ORDER BY e.pk
                """
            ) { row in
                for (index, slot) in slots.enumerated() where row.integer(index + 1) != 0 {
                    check.report(entity.name, identity(row, entity), entity.slotNames[slot], StoreProblem.required)
                }
            }
        }
    }

    // MARK: Values

    /// Values have the stored form of their types; other programs may have put anything there.
    package func checkValues(_ check: inout Check) throws(StoreError) {
        for entity in model.entities {
            let attributes = entity.ownAttributes
            let relationships = columns(entity)
            if attributes.isEmpty, relationships.isEmpty { continue }
            let names =
                [selected(entity.identity, "e")] + attributes.map { selected($0, "e") }
                + relationships.map { "e.\($0.column)" }
            try eachSlice(of: table(entity), &check) { slice, check throws(StoreError) in
                try rows(
                    """
                    SELECT \(names.joined(separator: ", ")) FROM \(table(entity)) e \
                    WHERE \(kind(entity)) AND \(slice.holds("e.pk"))
                    """
                ) { row in look(at: row, attributes, relationships.map(\.relationship), of: entity, &check) }
            }
        }
        try checkTexts(&check)
    }

    /// Looks at a row of an identity, attributes and references.
    private func look(
        at row: Row, _ attributes: [Attribute], _ relationships: [Relationship], of entity: Entity,
        _ check: inout Check
    ) {
        func report(_ property: String, _ what: String) {
            check.report(entity.name, identity(row, entity), property, what)
        }
        for (position, attribute) in attributes.enumerated() {
            check.checkedCount += 1
            let value = row.value(position + 1, attribute.type)
            if !value.isNull, !attribute.type.holds(value) {
                report(attribute.name, StoreProblem.unstored(attribute.type))
            } else if row.isMalformedText(position + 1) {
                report(attribute.name, "is a text that is no UTF-8")
            }
        }
        for (position, relationship) in relationships.enumerated() {
            check.checkedCount += 1
            let value = row.value(attributes.count + 1 + position, .integer64)
            if !value.isNull, value.integer == nil { report(relationship.name, "is no primary key") }
        }
    }

    private func checkTexts(_ check: inout Check) throws(StoreError) {
        for (table, column) in jsonColumns where try hasTable(table) {
            try eachSlice(of: table, by: .number("id"), &check) { slice, check throws(StoreError) in
                try rows(
                    "SELECT id, \(column) FROM \(table) WHERE \(column) IS NOT NULL AND \(slice.holds("id")) ORDER BY id"
                ) { row in
                    check.checkedCount += 1
                    if AttributeType.transformable.holds(row.value(1, .string)), !row.isMalformedText(1) { return }
                    check.report(table, String(row.integer(0)), column, StoreProblem.noJSON)
                }
            }
        }
    }

    /// The condition that rows `e` are of an entity or one below it.
    private func kind(_ entity: Entity) -> String {
        entity.parentIndex == nil ? "true" : model.kindCondition(entity, alias: "e.")
    }

    /// Values keep to the limits that the model sets today; they may have been stored under wider ones.
    package func checkLimits(_ check: inout Check) throws(StoreError) {
        for entity in model.entities {
            let limited = entity.ownAttributes.filter { !$0.isDerived && $0.hasLimits && $0.type != .transformable }
            if limited.isEmpty { continue }
            let columns = ([entity.identity] + limited).map { selected($0, "e") }.joined(separator: ", ")
            try eachSlice(of: table(entity), &check) { slice, check throws(StoreError) in
                try rows(
                    """
                    SELECT \(columns) FROM \(table(entity)) e \
                    WHERE NOT e._placeholder AND \(kind(entity)) AND \(slice.holds("e.pk"))
                    """
                ) { row in
                    for (position, attribute) in limited.enumerated() {
                        check.checkedCount += 1
                        attribute.check(row.value(position + 1, attribute.type), entity: entity.name) { failure in
                            let problem = StoreProblem.limit(failure)
                            check.report(entity.name, identity(row, entity), attribute.name, problem)
                        }
                    }
                }
            }
        }
    }

    // MARK: Hierarchies

    /// Rows of a hierarchy name an entity of it, and an abstract one only while nothing but the identity is known.
    package func checkEntities(_ check: inout Check) throws(StoreError) {
        for root in model.rootEntities where root.sharesTable {
            let members = [root] + root.subentityIndexes.map { model.entities[$0] }
            let abstract = members.filter(\.isAbstract).map(\.name)
            let head = "SELECT \(selected(root.identity, "e")), e._entity FROM \(table(root)) e WHERE"
            let names = SQLText.literals(members.map(\.name))
            try eachSlice(of: root, &check) { slice, check throws(StoreError) in
                try rows("\(head) \(slice.holds("e.pk")) AND e._entity NOT IN (\(names)) ORDER BY e.pk") { row in
                    check.report(root.name, identity(row, root), nil, StoreProblem.foreignEntity(row.text(1)))
                }
                if abstract.isEmpty { return }
                try rows(
                    """
                    \(head) \(slice.holds("e.pk")) AND e._entity IN (\(SQLText.literals(abstract))) \
                    AND NOT e._placeholder ORDER BY e.pk
                    """
                ) { row in
                    check.report(root.name, identity(row, root), nil, StoreProblem.abstractEntity(row.text(1)))
                }
            }
        }
    }
}
