/// The checks of a verification, which each storage carries out in its own way.
///
/// Counts, sums of whole numbers and extremes are a storage's own: they rely on nothing that its writer computes with.
package protocol StoreChecks {
    typealias Check = VerificationReport.Check

    var model: ObjectModel { get }
    var progress: VerificationProgress { get }

    func checkIntegrity(_ check: inout Check) throws(StoreError)
    func checkForeignKeys(_ check: inout Check) throws(StoreError)
    func checkIdentities(_ check: inout Check) throws(StoreError)
    func checkValues(_ check: inout Check) throws(StoreError)
    /// Reports the objects of an entity that have no value in some of its required slots.
    func checkPresence(of slots: [Int], _ entity: Entity, _ check: inout Check) throws(StoreError)
    func checkLimits(_ check: inout Check) throws(StoreError)
    /// Reports the objects of an entity whose to-many relationship has fewer or more destinations than the model asks for.
    func checkCount(of relationship: Relationship, _ entity: Entity, _ check: inout Check) throws(StoreError)
    func checkReferences(_ check: inout Check) throws(StoreError)
    func checkLinks(_ check: inout Check) throws(StoreError)
    func checkInverses(_ check: inout Check) throws(StoreError)
    func checkEntities(_ check: inout Check) throws(StoreError)
    func checkOrder(_ check: inout Check) throws(StoreError)
    func checkHistory(_ check: inout Check) throws(StoreError)
    func checkTombstones(_ check: inout Check) throws(StoreError)
    func checkPositions(_ check: inout Check) throws(StoreError)
    func checkKeys(_ check: inout Check) throws(StoreError)

    // The derived values, each kind computed again from the rows.
    func checkCount(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ check: inout Check
    ) throws(StoreError)
    /// A sum of whole numbers, which stays at its type's bound.
    func checkWholeSum(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ summed: Attribute,
        _ check: inout Check
    ) throws(StoreError)
    /// Any other sum, or an average.
    ///
    /// - Parameter beginning: the aggregate of no destinations.
    func checkSum(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ summed: Attribute,
        _ beginning: RunningAggregate, _ check: inout Check
    ) throws(StoreError)
    func checkExtreme(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ source: Attribute,
        _ function: AggregateFunction, _ check: inout Check
    ) throws(StoreError)
    func checkKeyPath(
        _ attribute: Attribute, _ entity: Entity, _ path: DerivedKeyPath, _ check: inout Check
    ) throws(StoreError)
    func checkArithmetic(
        _ attribute: Attribute, _ entity: Entity, _ expression: ArithmeticExpression, _ check: inout Check
    ) throws(StoreError)

    /// Takes back what a failed check has left on its connection.
    func recover() throws(StoreError)

    /// Ends the snapshot, where ``slices`` allow several: the next statement sees the last commit.
    func renew() throws(StoreError)

    /// Returns checks that count the rows which they would pass in slices, and ask the store for nothing else.
    func rehearsing(_ rehearsal: VerificationRehearsal) -> Self?
}

extension StoreChecks {
    private var checks: [(name: String, body: (inout Check) throws -> Void)] {
        [
            ("integrity", checkIntegrity), ("foreignKeys", checkForeignKeys), ("identities", checkIdentities),
            ("values", checkValues), ("required", checkRequired), ("limits", checkLimits), ("counts", checkCounts),
            ("references", checkReferences), ("links", checkLinks), ("inverses", checkInverses),
            ("entities", checkEntities), ("order", checkOrder), ("derived", checkDerived), ("history", checkHistory),
            ("tombstones", checkTombstones), ("positions", checkPositions), ("keys", checkKeys),
        ]
    }

    /// Makes all checks, and tells ``progress`` each one before it begins.
    package func verify() throws -> VerificationReport {
        let checks = checks
        progress.begin(checks.map(\.name))
        var done: [Check] = []
        for (index, (name, body)) in checks.enumerated() {
            var check = Check(name: name)
            do {
                try renew()
                progress.begin(name, rowCount: try rowCount(ofCheck: index))
                try body(&check)
            } catch let error as StoreError where [.corrupt, .value, .database].contains(error.code) {
                // The rest can still tell how far the damage goes.
                check.reportUnreadable(error.message)
                try recover()
            }
            progress.end(check)
            done.append(check)
        }
        return VerificationReport(checks: done)
    }

    /// The rows that a check will pass in slices; 0 where it has none, or nobody wants to know.
    private func rowCount(ofCheck index: Int) throws -> Int64 {
        let rehearsal = VerificationRehearsal()
        guard progress.isTold, let rehearsing = rehearsing(rehearsal) else { return 0 }
        var ignored = Check(name: "")
        try rehearsing.checks[index].body(&ignored)
        return rehearsal.rowCount
    }

    /// A storage without slices has nothing to rehearse.
    package func rehearsing(_ rehearsal: VerificationRehearsal) -> Self? { nil }

    /// All that is required but relationships without inverse, which the deletion of their destination may clear.
    private func checkRequired(_ check: inout Check) throws(StoreError) {
        for entity in model.entities where !entity.requiredSlots.isEmpty {
            try checkPresence(of: ownRequiredSlots(entity, areCleared: false), entity, &check)
        }
    }

    /// Relationships have as many destinations as the model asks for, required ones without inverse too.
    private func checkCounts(_ check: inout Check) throws(StoreError) {
        for entity in model.entities {
            let cleared = ownRequiredSlots(entity, areCleared: true)
            if !cleared.isEmpty { try checkPresence(of: cleared, entity, &check) }
            for relationship in entity.ownRelationships where relationship.isToMany && relationship.hasCountLimits {
                try checkCount(of: relationship, entity, &check)
            }
        }
    }

    /// The slots that an entity requires and that no parent does: inherited ones are checked with the parent.
    ///
    /// - Parameter areCleared: whether those are meant that the deletion of their destination may clear, or the others.
    private func ownRequiredSlots(_ entity: Entity, areCleared: Bool) -> [Int] {
        let inherited = entity.parentIndex.map { Set(model.entities[$0].requiredSlots) } ?? []
        return entity.requiredSlots.filter {
            !inherited.contains($0) && $0 != entity.identitySlot
                && (entity.clearedRelationship(slot: $0) != nil) == areCleared
        }
    }

    /// Checks each derived value by the kind of its derivation.
    func checkDerived(_ check: inout Check) throws(StoreError) {
        for entity in model.entities {
            for attribute in entity.ownAttributes {
                switch attribute.derivation {
                case .count(let index): try checkCount(attribute, entity, entity.relationships[index], &check)
                case .aggregate(let function, let index, let slot):
                    let relationship = entity.relationships[index]
                    let source = model.entities[relationship.destinationIndex].attributes[slot]
                    let isWhole = attribute.type.integerRange != nil && source.type.integerRange != nil
                    if function == .sum, isWhole {
                        try checkWholeSum(attribute, entity, relationship, source, &check)
                    } else if let beginning = RunningAggregate(function, of: source.type, for: attribute.type) {
                        try checkSum(attribute, entity, relationship, source, beginning, &check)
                    } else {
                        try checkExtreme(attribute, entity, relationship, source, function, &check)
                    }
                case .keyPath(let path): try checkKeyPath(attribute, entity, path, &check)
                case .arithmetic(let expression): try checkArithmetic(attribute, entity, expression, &check)
                // When an object last changed nobody can tell from the rows.
                case .now, nil: break
                }
            }
        }
    }
}
