import Foundation

// Derived values are computed anew: counts and sums of whole numbers in SQL, other sums row by row.
extension StoreVerifier {
    func checkDerived(_ check: inout VerificationReport.Check) throws(StoreError) {
        for entity in model.entities {
            for attribute in entity.attributes {
                switch attribute.derivation {
                case .count(let index): try checkCount(attribute, entity, entity.relationships[index], &check)
                case .sum(let index, let slot):
                    let relationship = entity.relationships[index]
                    let summed = model.entities[relationship.destinationIndex].attributes[slot]
                    if attribute.type.integerRange != nil, summed.type.integerRange != nil {
                        try checkWholeSum(attribute, entity, relationship, summed, &check)
                    } else {
                        try checkSum(attribute, entity, relationship, summed, &check)
                    }
                case .arithmetic(let expression): try checkArithmetic(attribute, entity, expression, &check)
                case nil: break
                }
            }
        }
    }

    /// The destinations of the row `o`: the end of a FROM clause; `d` are their rows.
    private func destinations(_ relationship: Relationship) -> (from: String, condition: String) {
        let destination = model.entities[relationship.destinationIndex]
        switch relationship.storage {
        case .join(let index, let isOwner):
            let (near, far) = isOwner ? ("owner", "destination") : ("destination", "owner")
            let join = SQLText.quoted(model.joinTables[index].name)
            return ("\(join) j JOIN \(table(destination)) d ON d.pk = j.\(far)", "j.\(near) = o.pk")
        case .column(let slot), .inverseColumn(let slot):
            return (
                "\(table(destination)) d", "d.\(SQLText.quoted(destination.columnNames[slot])) = o.pk"
            )
        }
    }

    private func selection(_ attribute: Attribute, _ entity: Entity) -> String {
        "o.\(SQLText.quoted(entity.identity.name)), o.\(SQLText.quoted(attribute.name))"
    }

    private func mismatch(_ stored: Value, _ expected: String, _ attribute: Attribute) -> String {
        "is \(attribute.type.text(of: stored)), the rows give \(expected)"
    }

    private func checkCount(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship,
        _ check: inout VerificationReport.Check
    ) throws(StoreError) {
        check.checkedCount += try rowCount(entity)
        let links = destinations(relationship)
        let count = "(SELECT count(*) FROM \(links.from) WHERE \(links.condition))"
        // A decimal is a text in the store.
        let expected = attribute.type == .decimal ? "CAST(\(count) AS TEXT)" : count
        try rows(
            """
            SELECT * FROM (SELECT \(selection(attribute, entity)) AS stored, \(expected) AS expected \
            FROM \(table(entity)) o) WHERE stored IS NOT expected
            """
        ) { row in
            check.report(
                entity.name, identity(row.value(0), entity), attribute.name,
                mismatch(row.value(1), attribute.type.text(of: row.value(2)), attribute))
        }
    }

    private func checkWholeSum(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ summed: Attribute,
        _ check: inout VerificationReport.Check
    ) throws(StoreError) {
        check.checkedCount += try rowCount(entity)
        let links = destinations(relationship)
        let column = "d.\(SQLText.quoted(summed.name))"
        // In halves of 32 bits no sum can overflow.
        func half(_ part: String) -> String {
            "coalesce((SELECT sum(\(part)) FROM \(links.from) WHERE \(links.condition)), 0)"
        }
        try rows(
            """
            SELECT \(selection(attribute, entity)), \(half("\(column) >> 32")), \(half("\(column) & 4294967295")) \
            FROM \(table(entity)) o
            """
        ) { row in
            let (high, overflows) = row.integer(2).multipliedReportingOverflow(by: 1 << 32)
            let (sum, isOver) = high.addingReportingOverflow(row.integer(3))
            // What leaves 64 bits stays at the bound.
            let expected: Int64 = overflows || isOver ? (row.integer(2) < 0 ? .min : .max) : sum
            if row.value(1) == .integer(expected) { return }
            check.report(
                entity.name, identity(row.value(0), entity), attribute.name,
                mismatch(row.value(1), String(expected), attribute))
        }
    }

    /// Sums decimals and binary fractions: one pass over owners and destinations in the order of the owners' keys.
    private func checkSum(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ summed: Attribute,
        _ check: inout VerificationReport.Check
    ) throws(StoreError) {
        let links = destinations(relationship)
        let destination = model.entities[relationship.destinationIndex]
        let join: String
        switch relationship.storage {
        case .join(let index, let isOwner):
            let (near, far) = isOwner ? ("owner", "destination") : ("destination", "owner")
            join = """
                LEFT JOIN \(SQLText.quoted(model.joinTables[index].name)) j ON j.\(near) = o.pk \
                LEFT JOIN \(table(destination)) d ON d.pk = j.\(far)
                """
        case .column, .inverseColumn: join = "LEFT JOIN \(links.from) ON \(links.condition)"
        }
        var current: OwnerSum?
        func finish(_ owner: OwnerSum) {
            check.checkedCount += 1
            if owner.agrees(attribute.type) { return }
            check.report(
                entity.name, identity(owner.identity, entity), attribute.name,
                mismatch(owner.stored, owner.text(attribute.type), attribute))
        }
        try rows(
            """
            SELECT o.pk, \(selection(attribute, entity)), d.\(SQLText.quoted(summed.name)) FROM \(table(entity)) o \(join) \
            ORDER BY o.pk, d.pk
            """
        ) { row in
            let pk = row.integer(0)
            if let done = current, done.pk != pk {
                finish(done)
                current = nil
            }
            var owner = current ?? OwnerSum(pk: pk, identity: row.value(1), stored: row.value(2))
            owner.add(row.value(3))
            current = owner
        }
        if let current { finish(current) }
    }

    /// Computes arithmetic from the stored values of the same row.
    private func checkArithmetic(
        _ attribute: Attribute, _ entity: Entity, _ expression: ArithmeticExpression,
        _ check: inout VerificationReport.Check
    ) throws(StoreError) {
        let columns = entity.attributes.map { SQLText.quoted($0.name) }.joined(separator: ", ")
        try rows("SELECT \(columns) FROM \(table(entity))") { row in
            let values = entity.attributes.indices.map { row.value($0) }
            let expected = expression.value(values, of: attribute)
            check.checkedCount += 1
            if values[attribute.slot] == expected { return }
            check.report(
                entity.name, identity(values[entity.identitySlot], entity), attribute.name,
                mismatch(values[attribute.slot], attribute.type.text(of: expected), attribute))
        }
    }
}

/// What an owner's destinations add up to, in decimals and in doubles.
private struct OwnerSum {
    let pk: Int64
    let identity: Value
    let stored: Value
    private var decimal: Decimal = 0
    private var double = 0.0

    init(pk: Int64, identity: Value, stored: Value) {
        self.pk = pk
        self.identity = identity
        self.stored = stored
    }

    mutating func add(_ value: Value) {
        switch value {
        case .integer(let number):
            decimal += Decimal(number)
            double += Double(number)
        case .double(let number):
            decimal += DecimalText.number("\(number)") ?? 0
            double += number
        case .text(let text):
            decimal += DecimalText.number(text) ?? 0
            double += Double(text) ?? 0
        case .null, .blob: break
        }
    }

    func agrees(_ type: AttributeType) -> Bool {
        switch (type, stored) {
        case (.decimal, .text(let text)): return DecimalText.number(text) == decimal
        // Binary fractions depend on the order in which they are added up.
        case (.double, .double(let number)): return abs(number - double) <= 1e-9 * max(1, abs(double))
        case (.float, .double(let number)): return abs(number - double) <= 1e-5 * max(1, abs(double))
        case (.integer16, .integer(let number)), (.integer32, .integer(let number)), (.integer64, .integer(let number)):
            return abs(Double(number) - double) <= 0.5 + 1e-9 * abs(double)
        default: return false
        }
    }

    func text(_ type: AttributeType) -> String { type == .decimal ? DecimalText.text(decimal) : "\(double)" }
}
