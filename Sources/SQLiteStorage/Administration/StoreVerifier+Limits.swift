// The rules of the model on single values and on numbers of destinations, which events are held to one by one.
extension StoreVerifier {
    /// Values have the stored form of their types; other programs may have put anything there.
    func checkValues(_ check: inout VerificationReport.Check) throws(StoreError) {
        for entity in model.entities {
            let attributes = entity.ownAttributes
            let relationships = entity.ownRelationships.filter { $0.slot != nil }
            if attributes.isEmpty, relationships.isEmpty { continue }
            let names = attributes.map(\.columnName) + relationships.map(\.columnName)
            let columns = ([entity.identity.columnName] + names).map(SQLText.quoted).joined(separator: ", ")
            try eachSlice(of: table(entity), &check) { slice, check throws(StoreError) in
                let sql = "SELECT \(columns) FROM \(table(entity)) WHERE \(kind(entity)) AND \(slice.holds("pk"))"
                try rows(sql, slice.bounds) { row in look(at: row, attributes, relationships, of: entity, &check) }
            }
        }
        try checkTexts(&check)
    }

    /// Looks at a row of an identity, attributes and references.
    private func look(
        at row: PreparedStatement, _ attributes: [Attribute], _ relationships: [Relationship], of entity: Entity,
        _ check: inout VerificationReport.Check
    ) {
        func report(_ property: String, _ what: String) {
            check.report(entity.name, identity(row.value(0), entity), property, what)
        }
        for (position, attribute) in attributes.enumerated() {
            check.checkedCount += 1
            let value = row.value(position + 1)
            if !value.isNull, !attribute.type.holds(value) {
                report(attribute.name, StoreProblem.unstored(attribute.type))
            } else if row.isMalformedText(position + 1) {
                report(attribute.name, "is a text that is no UTF-8")
            }
        }
        for (position, relationship) in relationships.enumerated() {
            check.checkedCount += 1
            let value = row.value(attributes.count + 1 + position)
            if !value.isNull, value.integer == nil { report(relationship.name, "is no primary key") }
        }
    }

    private func checkTexts(_ check: inout VerificationReport.Check) throws(StoreError) {
        for (table, column) in jsonColumns {
            // A store that nobody has opened for writing since has no table of conflicts yet.
            if try integer("SELECT 1 FROM sqlite_master WHERE name = ?", [.text(table)]) == nil { continue }
            try eachSlice(of: table, by: "id", &check) { slice, check throws(StoreError) in
                let sql = "SELECT id, \(column) FROM \(table) WHERE \(column) IS NOT NULL AND \(slice.holds("id"))"
                try rows(sql, slice.bounds) { row in
                    check.checkedCount += 1
                    if AttributeType.transformable.holds(row.value(1)), !row.isMalformedText(1) { return }
                    check.report(table, String(row.integer(0)), column, StoreProblem.noJSON)
                }
            }
        }
    }

    /// The condition that rows are of an entity or one below it.
    private func kind(_ entity: Entity) -> String {
        entity.parentIndex == nil ? "1" : model.kindCondition(entity)
    }

    /// Values keep to the limits that the model sets today; they may have been stored under wider ones.
    func checkLimits(_ check: inout VerificationReport.Check) throws(StoreError) {
        for entity in model.entities {
            let limited = entity.ownAttributes.filter { !$0.isDerived && $0.hasLimits && $0.type != .transformable }
            if limited.isEmpty { continue }
            let columns = ([entity.identity.columnName] + limited.map(\.columnName)).map(SQLText.quoted)
            try eachSlice(of: table(entity), &check) { slice, check throws(StoreError) in
                try rows(
                    """
                    SELECT \(columns.joined(separator: ", ")) FROM \(table(entity)) \
                    WHERE _placeholder = 0 AND \(kind(entity)) AND \(slice.holds("pk"))
                    """, slice.bounds
                ) { row in
                    for (position, attribute) in limited.enumerated() {
                        check.checkedCount += 1
                        attribute.check(row.value(position + 1), entity: entity.name) { failure in
                            check.report(
                                entity.name, identity(row.value(0), entity), attribute.name,
                                StoreProblem.limit(failure))
                        }
                    }
                }
            }
        }
    }

    func checkCount(
        of relationship: Relationship, _ entity: Entity, _ check: inout VerificationReport.Check
    ) throws(StoreError) {
        let links = destinations(relationship)
        // Counts apply when the relationship is not empty, unless it is required.
        let floor = relationship.isOptional ? "_number > 0 AND " : ""
        let ceiling = relationship.maximumCount.map { " OR _number > \($0)" } ?? ""
        try eachSlice(of: entity, &check) { slice, check throws(StoreError) in
            try rows(
                """
                SELECT * FROM (SELECT o.\(SQLText.quoted(entity.identity.columnName)), \
                (SELECT count(*) FROM \(links.from) WHERE \(links.owner) = o.pk) AS _number \
                FROM \(table(entity)) o WHERE o._placeholder = 0 AND \(slice.holds("o.pk"))) \
                WHERE \(floor)_number < \(relationship.minimumCount)\(ceiling)
                """, slice.bounds
            ) { row in
                check.report(
                    entity.name, identity(row.value(0), entity), relationship.name,
                    StoreProblem.destinationCount(row.integer(1), relationship))
            }
        }
    }
}
