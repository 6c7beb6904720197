// The rules of the model on single values.
extension PostgresVerifier {
    /// Values have the stored form of their types. The server sees to the types of its own, and not to a URI or to JSON.
    func checkValues(_ check: inout Check) throws(StoreError) {
        for root in model.rootEntities {
            try eachRow(root) { row in
                let entity = row.entity
                check.checkedCount += Int64(entity.relationships.count { $0.slot != nil })
                for attribute in entity.attributes {
                    check.checkedCount += 1
                    let value = row.values[attribute.slot]
                    if value.isNull || attribute.type.holds(value) { continue }
                    check.report(
                        model.entities[attribute.entityIndex].name, identity(row), attribute.name,
                        StoreProblem.unstored(attribute.type))
                }
            }
        }
        try checkTexts(&check)
    }

    private func identity(_ row: StoredRow) -> String {
        row.entity.identity.type.text(of: row.values[row.entity.identitySlot])
    }

    private func checkTexts(_ check: inout Check) throws(StoreError) {
        for (table, column) in jsonColumns {
            try pages { after, limit in
                """
                SELECT id, \(column) FROM \(table) WHERE \(column) IS NOT NULL AND id > \(after) \
                ORDER BY id LIMIT \(limit)
                """
            } each: { row in
                check.checkedCount += 1
                if AttributeType.transformable.holds(.text(row.text(1))) { return }
                check.report(table, String(row.integer(0)), column, StoreProblem.noJSON)
            }
        }
    }

    /// Values keep to the limits that the model sets today; they may have been stored under wider ones.
    func checkLimits(_ check: inout Check) throws(StoreError) {
        for root in model.rootEntities {
            try eachRow(root) { row in
                if row.isPlaceholder { return }
                for attribute in row.entity.attributes
                where !attribute.isDerived && attribute.hasLimits && attribute.type != .transformable {
                    check.checkedCount += 1
                    let name = model.entities[attribute.entityIndex].name
                    attribute.check(row.values[attribute.slot], entity: name) { failure in
                        check.report(name, identity(row), attribute.name, StoreProblem.limit(failure))
                    }
                }
            }
        }
    }

    /// Computes arithmetic from the stored values of the same row.
    func checkArithmetic(
        _ attribute: Attribute, _ entity: Entity, _ expression: ArithmeticExpression, _ check: inout Check
    ) throws(StoreError) {
        try eachRow(model.entities[entity.rootIndex]) { row in
            guard row.entity.isKind(of: entity) else { return }
            let expected = expression.value(row.values, of: attribute)
            check.checkedCount += 1
            if row.values[attribute.slot] == expected { return }
            check.report(
                entity.name, identity(row), attribute.name,
                StoreProblem.derived(row.values[attribute.slot], attribute.type.text(of: expected), attribute))
        }
    }
}
