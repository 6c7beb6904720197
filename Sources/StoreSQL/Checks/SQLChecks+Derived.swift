// Derived values are computed again: counts and extremes by the engine, the rest row by row.
extension SQLChecks {
    /// Reports the objects whose stored value differs from the value of an expression on the row `o`.
    ///
    /// - Parameters:
    ///   - joins: the tables that the expression reads beside the object's own.
    ///   - correction: what the expression's value becomes; without one the engine compares.
    package func compare(
        _ attribute: Attribute, _ entity: Entity, with expression: String, of type: AttributeType? = nil,
        joins: String = "", _ check: inout Check, correction: ((Value) -> Value)? = nil
    ) throws(StoreError) {
        let type = type ?? attribute.type
        let condition = correction == nil ? " WHERE stored \(Dialect.isDistinct) expected" : ""
        try eachSlice(of: entity, &check) { slice, check throws(StoreError) in
            try rows(
                """
                SELECT identity, \(Dialect.selected("stored", attribute.type)), \(Dialect.selected("expected", type)) \
                FROM (SELECT o.pk, \(selected(entity.identity, "o")) AS identity, \(column(attribute, "o")) AS stored, \
                \(expression) AS expected FROM \(table(entity)) o\(joins) WHERE \(slice.holds("o.pk"))) q\(condition) \
                ORDER BY pk
                """
            ) { row in
                let (stored, found) = (row.value(1, attribute.type), row.value(2, type))
                let expected = correction?(found) ?? found
                if correction != nil, stored == expected { return }
                report(attribute, entity, identity(row, entity), stored, expected, &check)
            }
        }
    }

    private func report(
        _ attribute: Attribute, _ entity: Entity, _ identity: String, _ stored: Value, _ expected: Value,
        _ check: inout Check
    ) {
        let problem = StoreProblem.derived(stored, attribute.type.text(of: expected), attribute)
        check.report(entity.name, identity, attribute.name, problem)
    }

    package func checkCount(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ check: inout Check
    ) throws(StoreError) {
        let links = destinations(relationship)
        let count = "(SELECT count(*) FROM \(links.from) WHERE \(links.owner) = o.pk)"
        try compare(attribute, entity, with: Dialect.bounded(count, attribute.type), &check)
    }

    /// Adds decimals and binary fractions up: one pass over owners and destinations in the order of the owners' keys.
    package func checkSum(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ summed: Attribute,
        _ beginning: RunningAggregate, _ check: inout Check
    ) throws(StoreError) {
        try eachSlice(of: table(entity), &check) { slice, check throws(StoreError) in
            var current: OwnerAggregate?
            func finish() {
                guard let owner = current else { return }
                current = nil
                check.checkedCount += 1
                if owner.agrees(attribute.type) { return }
                let identity = entity.identity.type.text(of: owner.identity)
                report(attribute, entity, identity, owner.stored, owner.expected, &check)
            }
            try rows(
                """
                SELECT \(selected(entity.identity, "o")), o.pk, \(selected(attribute, "o")), \(selected(summed, "d")) \
                FROM \(table(entity)) o \(outerJoin(relationship)) WHERE \(slice.holds("o.pk")) ORDER BY o.pk, d.pk
                """
            ) { row in
                let pk = row.integer(1)
                if let owner = current, owner.pk != pk { finish() }
                var owner =
                    current
                    ?? OwnerAggregate(
                        pk: pk, identity: row.value(0, entity.identity.type), stored: row.value(2, attribute.type),
                        beginning: beginning)
                owner.add(row.value(3, summed.type))
                current = owner
            }
            finish()
        }
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

    /// Finds the least or greatest value of each owner by the engine's order.
    package func checkExtreme(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ source: Attribute,
        _ function: AggregateFunction, _ check: inout Check
    ) throws(StoreError) {
        let links = destinations(relationship)
        let value = column(source, "d")
        let order = Dialect.ordered(value, source.type) + (function == .minimum ? "" : " DESC")
        let extreme = """
            (SELECT \(value) FROM \(links.from) WHERE \(links.owner) = o.pk AND \(value) IS NOT NULL \
            ORDER BY \(order) LIMIT 1)
            """
        try compare(attribute, entity, with: extreme, &check)
    }

    /// Follows the references of each row.
    package func checkKeyPath(
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
        try compare(
            attribute, entity, with: column(end, alias), of: end.type, joins: joins, &check,
            correction: path.transformation.map { transformation in { transformation.apply($0) } })
    }

    /// Computes arithmetic from the stored values of the same row.
    package func checkArithmetic(
        _ attribute: Attribute, _ entity: Entity, _ expression: ArithmeticExpression, _ check: inout Check
    ) throws(StoreError) {
        let types = entity.columnNames.indices.map { slot in
            entity.attributes.hasAttribute(at: slot) ? entity.attributes[slot].type : .integer64
        }
        let columns = types.indices.map { Dialect.selected("e.\(SQLText.quoted(entity.columnNames[$0]))", types[$0]) }
        try eachSlice(of: entity, &check) { slice, check throws(StoreError) in
            try rows(
                """
                SELECT \(selected(entity.identity, "e")), \(columns.joined(separator: ", ")) \
                FROM \(table(entity)) e WHERE \(slice.holds("e.pk")) ORDER BY e.pk
                """
            ) { row in
                let values = types.indices.map { row.value($0 + 1, types[$0]) }
                let expected = expression.value(values, of: attribute)
                if values[attribute.slot] == expected { return }
                report(attribute, entity, identity(row, entity), values[attribute.slot], expected, &check)
            }
        }
    }
}
