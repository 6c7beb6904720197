// Derived values are computed again: counts and sums of whole numbers in SQL, other sums row by row.
extension StoreVerifier {
    private func selection(_ attribute: Attribute, _ entity: Entity) -> String {
        "o.\(SQLText.quoted(entity.identity.columnName)), o.\(SQLText.quoted(attribute.columnName))"
    }

    func checkCount(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship,
        _ check: inout VerificationReport.Check
    ) throws(StoreError) {
        let links = destinations(relationship)
        let count = "(SELECT count(*) FROM \(links.from) WHERE \(links.owner) = o.pk)"
        // A decimal is a text in the store; a count beyond the type stays at its bound.
        let bound = attribute.type.integerRange?.upperBound ?? .max
        let expected = attribute.type == .decimal ? "CAST(\(count) AS TEXT)" : "min(\(count), \(bound))"
        try compare(attribute, entity, expected, &check)
    }

    /// Compares an attribute with an expression over its row `o`.
    private func compare(
        _ attribute: Attribute, _ entity: Entity, _ expected: String, _ check: inout VerificationReport.Check
    ) throws(StoreError) {
        try eachSlice(of: entity, &check) { slice, check throws(StoreError) in
            try rows(
                """
                SELECT * FROM (SELECT \(selection(attribute, entity)) AS stored, \(expected) AS expected \
                FROM \(table(entity)) o WHERE \(slice.holds("o.pk"))) WHERE stored IS NOT expected
                """, slice.bounds
            ) { row in
                check.report(
                    entity.name, identity(row.value(0), entity), attribute.name,
                    StoreProblem.derived(row.value(1), attribute.type.text(of: row.value(2)), attribute))
            }
        }
    }

    func checkWholeSum(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ summed: Attribute,
        _ check: inout VerificationReport.Check
    ) throws(StoreError) {
        let links = destinations(relationship)
        let column = "d.\(SQLText.quoted(summed.columnName))"
        // In halves of 32 bits no sum can overflow.
        func half(_ part: String) -> String {
            "coalesce((SELECT sum(\(part)) FROM \(links.from) WHERE \(links.owner) = o.pk), 0)"
        }
        try eachSlice(of: entity, &check) { slice, check throws(StoreError) in
            try rows(
                """
                SELECT \(selection(attribute, entity)), \(half("\(column) >> 32")), \(half("\(column) & 4294967295")) \
                FROM \(table(entity)) o WHERE \(slice.holds("o.pk"))
                """, slice.bounds
            ) { row in
                let (high, overflows) = row.integer(2).multipliedReportingOverflow(by: 1 << 32)
                let (sum, isOver) = high.addingReportingOverflow(row.integer(3))
                // A sum beyond the type stays at its bound.
                let unbounded: Int64 = overflows || isOver ? (row.integer(2) < 0 ? .min : .max) : sum
                let range = attribute.type.integerRange ?? Int64.min...Int64.max
                let expected = min(max(unbounded, range.lowerBound), range.upperBound)
                if row.value(1) == .integer(expected) { return }
                check.report(
                    entity.name, identity(row.value(0), entity), attribute.name,
                    StoreProblem.derived(row.value(1), String(expected), attribute))
            }
        }
    }

    /// Adds decimals and binary fractions up: one pass over owners and destinations in the order of the owners' keys.
    func checkSum(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ summed: Attribute,
        _ beginning: RunningAggregate, _ check: inout VerificationReport.Check
    ) throws(StoreError) {
        try eachSlice(of: table(entity), &check) { slice, check throws(StoreError) in
            try checkSum(attribute, entity, relationship, summed, beginning, slice, &check)
        }
    }

    private func checkSum(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ summed: Attribute,
        _ beginning: RunningAggregate, _ slice: Slice, _ check: inout VerificationReport.Check
    ) throws(StoreError) {
        var current: OwnerAggregate?
        func finish(_ owner: OwnerAggregate) {
            check.checkedCount += 1
            if owner.agrees(attribute.type) { return }
            check.report(
                entity.name, identity(owner.identity, entity), attribute.name,
                StoreProblem.derived(owner.stored, attribute.type.text(of: owner.expected), attribute))
        }
        try rows(
            """
            SELECT o.pk, \(selection(attribute, entity)), d.\(SQLText.quoted(summed.columnName)) FROM \(table(entity)) o \
            \(outerJoin(relationship)) \
            WHERE \(slice.holds("o.pk")) ORDER BY o.pk, d.pk
            """, slice.bounds
        ) { row in
            let pk = row.integer(0)
            if let done = current, done.pk != pk {
                finish(done)
                current = nil
            }
            var owner =
                current ?? OwnerAggregate(pk: pk, identity: row.value(1), stored: row.value(2), beginning: beginning)
            owner.add(row.value(3))
            current = owner
        }
        if let current { finish(current) }
    }

    /// Returns a join to the destinations, as `d`, that keeps owners without any.
    private func outerJoin(_ relationship: Relationship) -> String {
        guard case .join(let index, let isOwner) = relationship.storage else {
            let links = destinations(relationship)
            return "LEFT JOIN \(links.from) ON \(links.owner) = o.pk"
        }
        let (near, far) = isOwner ? ("owner", "destination") : ("destination", "owner")
        let destination = model.entities[relationship.destinationIndex]
        return """
            LEFT JOIN \(model.joinTables[index].quotedName) j ON j.\(near) = o.pk \
            LEFT JOIN \(table(destination)) d ON d.pk = j.\(far)
            """
    }

    /// Finds the least or greatest value of each owner by SQLite's own functions.
    func checkExtreme(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ source: Attribute,
        _ function: AggregateFunction, _ check: inout VerificationReport.Check
    ) throws(StoreError) {
        let links = destinations(relationship)
        var value = "d.\(SQLText.quoted(source.columnName))"
        if source.type == .decimal { value += " COLLATE \(DecimalCollation.name)" }
        let name = function == .minimum ? "min" : "max"
        let expected = "(SELECT \(name)(\(value)) FROM \(links.from) WHERE \(links.owner) = o.pk)"
        try compare(attribute, entity, expected, &check)
    }

    /// Follows the references of each row.
    func checkKeyPath(
        _ attribute: Attribute, _ entity: Entity, _ path: DerivedKeyPath, _ check: inout VerificationReport.Check
    ) throws(StoreError) {
        var from = "\(table(entity)) o"
        var (last, alias) = (entity, "o")
        for (position, index) in path.relationships.enumerated() {
            let relationship = last.relationships[index]
            let destination = model.entities[relationship.destinationIndex]
            from +=
                " LEFT JOIN \(table(destination)) d\(position) ON d\(position).pk = \(alias).\(SQLText.quoted(relationship.columnName))"
            (last, alias) = (destination, "d\(position)")
        }
        let source = "\(alias).\(SQLText.quoted(last.attributes[path.slot].columnName))"
        // SQLite itself compares a value without transformation.
        let condition = path.transformation == nil ? "WHERE stored IS NOT expected" : ""
        try eachSlice(of: entity, &check) { slice, check throws(StoreError) in
            try rows(
                """
                SELECT * FROM (SELECT \(selection(attribute, entity)) AS stored, \(source) AS expected FROM \(from) \
                WHERE \(slice.holds("o.pk"))) \(condition)
                """, slice.bounds
            ) { row in
                let expected = path.transformation?.apply(row.value(2)) ?? row.value(2)
                if row.value(1) == expected { return }
                check.report(
                    entity.name, identity(row.value(0), entity), attribute.name,
                    StoreProblem.derived(row.value(1), attribute.type.text(of: expected), attribute))
            }
        }
    }

    /// Computes arithmetic from the stored values of the same row.
    func checkArithmetic(
        _ attribute: Attribute, _ entity: Entity, _ expression: ArithmeticExpression,
        _ check: inout VerificationReport.Check
    ) throws(StoreError) {
        let columns = entity.columnNames.map(SQLText.quoted).joined(separator: ", ")
        try eachSlice(of: entity, &check) { slice, check throws(StoreError) in
            try rows("SELECT \(columns) FROM \(table(entity)) WHERE \(slice.holds("pk"))", slice.bounds) { row in
                let values = entity.columnNames.indices.map { row.value($0) }
                let expected = expression.value(values, of: attribute)
                if values[attribute.slot] == expected { return }
                check.report(
                    entity.name, identity(values[entity.identitySlot], entity), attribute.name,
                    StoreProblem.derived(values[attribute.slot], attribute.type.text(of: expected), attribute))
            }
        }
    }
}
