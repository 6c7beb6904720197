// Derived values are computed again: counts, sums of whole numbers and extremes by the server, the rest row by row.
extension PostgresVerifier {
    private func column(_ attribute: Attribute, _ alias: String) -> String {
        "\(alias).\(SQLText.quoted(attribute.columnName))"
    }

    /// Reports the objects whose stored value is not that of an expression on the row `o`, which has the column's type.
    private func compare(
        _ attribute: Attribute, _ entity: Entity, with expected: String, from: String = "", _ check: inout Check
    ) throws(StoreError) {
        check.checkedCount += try rowCount(entity)
        let kind = kind(attribute.slot, of: entity)
        try rows(
            """
            SELECT identity, \(kind.selected("stored")), \(kind.selected("expected")) FROM \
            (SELECT \(identityColumn(entity, "o")) AS identity, o.pk, \(column(attribute, "o")) AS stored, \
            \(expected) AS expected FROM \(table(entity)) o\(from)) q WHERE stored IS DISTINCT FROM expected ORDER BY pk
            """
        ) { row in
            check.report(
                entity.name, identity(row, 0, entity), attribute.name,
                StoreProblem.derived(
                    row.value(1, kind), attribute.type.text(of: row.value(2, kind)), attribute))
        }
    }

    func checkCount(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ check: inout Check
    ) throws(StoreError) {
        let links = destinations(relationship)
        let count = "(SELECT count(*) FROM \(links.from) WHERE \(links.owner) = o.pk)"
        try compare(attribute, entity, with: bounded(count, attribute), &check)
    }

    func checkWholeSum(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ summed: Attribute,
        _ check: inout Check
    ) throws(StoreError) {
        let links = destinations(relationship)
        // A sum of `numeric` cannot overflow.
        let sum = "(SELECT sum(\(column(summed, "d"))::numeric) FROM \(links.from) WHERE \(links.owner) = o.pk)"
        try compare(attribute, entity, with: bounded("coalesce(\(sum), 0)", attribute), &check)
    }

    /// A number as a value of the column. One beyond the type stays at its bound.
    private func bounded(_ number: String, _ attribute: Attribute) -> String {
        let type: String = ColumnKind(attribute.type).declaration
        guard let range = attribute.type.integerRange else { return "\(number)::\(type)" }
        return "least(greatest(\(number), \(range.lowerBound)), \(range.upperBound))::\(type)"
    }

    /// Adds decimals and binary fractions up: owners and destinations in the order of the owners' keys, a page at a time.
    func checkSum(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ summed: Attribute,
        _ beginning: RunningAggregate, _ check: inout Check
    ) throws(StoreError) {
        let links = destinations(relationship)
        let destination = model.entities[relationship.destinationIndex]
        let (storedKind, summedKind) = (kind(attribute.slot, of: entity), kind(summed.slot, of: destination))
        var current: OwnerAggregate?
        func finish() {
            guard let owner = current else { return }
            current = nil
            check.checkedCount += 1
            if owner.agrees(attribute.type) { return }
            check.report(
                entity.name, entity.identity.type.text(of: owner.identity), attribute.name,
                StoreProblem.derived(owner.stored, attribute.type.text(of: owner.expected), attribute))
        }
        try pages { after, limit in
            """
            SELECT o.pk, \(identityColumn(entity, "o")), \(selected(attribute.slot, of: entity, "o")), m.value \
            FROM (SELECT * FROM \(table(entity)) WHERE pk > \(after) ORDER BY pk LIMIT \(limit)) o \
            LEFT JOIN LATERAL (SELECT d.pk, \(selected(summed.slot, of: destination, "d")) AS value \
            FROM \(links.from) WHERE \(links.owner) = o.pk) m ON true ORDER BY o.pk, m.pk
            """
        } each: { row in
            if let owner = current, owner.pk != row.integer(0) { finish() }
            var owner =
                current
                ?? OwnerAggregate(
                    pk: row.integer(0), identity: row.value(1, kind(entity.identitySlot, of: entity)),
                    stored: row.value(2, storedKind), beginning: beginning)
            owner.add(row.value(3, summedKind))
            current = owner
        }
        finish()
    }

    /// Finds the least or greatest value of each owner by the server's order.
    func checkExtreme(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ source: Attribute,
        _ function: AggregateFunction, _ check: inout Check
    ) throws(StoreError) {
        let links = destinations(relationship)
        let value = column(source, "d")
        let order = function == .minimum ? "" : " DESC"
        let extreme = """
            (SELECT \(value) FROM \(links.from) WHERE \(links.owner) = o.pk AND \(value) IS NOT NULL \
            ORDER BY \(value)\(order) LIMIT 1)
            """
        try compare(attribute, entity, with: extreme, &check)
    }

    /// Follows the references of each row.
    func checkKeyPath(
        _ attribute: Attribute, _ entity: Entity, _ path: DerivedKeyPath, _ check: inout Check
    ) throws(StoreError) {
        var joins = ""
        var (last, alias) = (entity, "o")
        for (position, index) in path.relationships.enumerated() {
            let relationship = last.relationships[index]
            let destination = model.entities[relationship.destinationIndex]
            let key = "\(alias).\(SQLText.quoted(relationship.columnName))"
            joins += " LEFT JOIN \(table(destination)) d\(position) ON d\(position).pk = \(key)"
            (last, alias) = (destination, "d\(position)")
        }
        let end = last.attributes[path.slot]
        guard let transformation = path.transformation else {
            return try compare(attribute, entity, with: column(end, alias), from: joins, &check)
        }
        let (storedKind, endKind) = (kind(attribute.slot, of: entity), kind(end.slot, of: last))
        try pages { after, limit in
            """
            SELECT o.pk, \(identityColumn(entity, "o")), \(selected(attribute.slot, of: entity, "o")), \
            \(selected(end.slot, of: last, alias)) FROM \(table(entity)) o\(joins) WHERE o.pk > \(after) \
            ORDER BY o.pk LIMIT \(limit)
            """
        } each: { row in
            check.checkedCount += 1
            let (stored, expected) = (row.value(2, storedKind), transformation.apply(row.value(3, endKind)))
            if stored == expected { return }
            check.report(
                entity.name, identity(row, 1, entity), attribute.name,
                StoreProblem.derived(stored, attribute.type.text(of: expected), attribute))
        }
    }
}
