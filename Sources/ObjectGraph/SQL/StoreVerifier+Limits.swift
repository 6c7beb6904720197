// The rules of the model on single values and on numbers of destinations, which events are held to one by one.
extension StoreVerifier {
    /// Values keep to the limits that the model sets today; they may have been stored under wider ones.
    func checkLimits(_ check: inout VerificationReport.Check) throws(StoreError) {
        for entity in model.entities {
            let limited = entity.ownAttributes.filter {
                !$0.isDerived && (!$0.constraints.isEmpty || $0.type == .date || $0.type == .uri)
            }
            if limited.isEmpty { continue }
            let columns = ([entity.identity.columnName] + limited.map(\.columnName)).map(SQLText.quoted)
            try rows(
                "SELECT \(columns.joined(separator: ", ")) FROM \(table(entity)) WHERE _placeholder = 0"
            ) { row in
                for (position, attribute) in limited.enumerated() {
                    check.checkedCount += 1
                    attribute.check(row.value(position + 1), entity: entity.name) { failure in
                        check.report(
                            entity.name, identity(row.value(0), entity), attribute.name,
                            "\(failure.limit) (\(failure.code))")
                    }
                }
            }
        }
    }

    /// To-many relationships have as many destinations as the model asks for.
    func checkCounts(_ check: inout VerificationReport.Check) throws(StoreError) {
        for entity in model.entities {
            for relationship in entity.ownRelationships where relationship.isToMany && relationship.hasCountLimits {
                try checkCount(of: relationship, entity, &check)
            }
        }
    }

    private func checkCount(
        of relationship: Relationship, _ entity: Entity, _ check: inout VerificationReport.Check
    ) throws(StoreError) {
        check.checkedCount += try rowCount(entity)
        let links = destinations(relationship)
        // Counts apply when the relationship is not empty, unless it is required.
        let floor = relationship.isOptional ? "_number > 0 AND " : ""
        let ceiling = relationship.maximumCount.map { " OR _number > \($0)" } ?? ""
        try rows(
            """
            SELECT * FROM (SELECT o.\(SQLText.quoted(entity.identity.columnName)), \
            (SELECT count(*) FROM \(links.from) WHERE \(links.condition)) AS _number \
            FROM \(table(entity)) o WHERE o._placeholder = 0) \
            WHERE \(floor)_number < \(relationship.minimumCount)\(ceiling)
            """
        ) { row in
            let number = row.integer(1)
            let isFew = number < relationship.minimumCount
            let reason: ValidationFailure.Reason = isFew ? .tooFewDestinations : .tooManyDestinations
            let limit =
                isFew
                ? "needs at least \(relationship.minimumCount)" : "may have at most \(relationship.maximumCount ?? 0)"
            check.report(
                entity.name, identity(row.value(0), entity), relationship.name,
                "\(limit) objects, this one has \(number) (\(reason.rawValue))")
        }
    }
}
