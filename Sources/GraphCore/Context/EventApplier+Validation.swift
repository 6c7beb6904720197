// The rules that objects have to keep after an event.
extension EventApplier {
    /// Notes a broken rule of one object, once.
    package func note(_ failure: ValidationFailure, of object: ContextObject) {
        let key = FailedRule(
            entity: object.entity.index, identity: object.identity, property: failure.property, reason: failure.reason)
        if failedRules.insert(key).inserted { failures.add(failure.about(object)) }
    }

    struct FailedRule: Hashable {
        let entity: Int
        let identity: Value
        let property: String?
        let reason: ValidationFailure.Reason
    }

    /// Checks the objects that the event changed, all rules that one object's values do not settle alone.
    ///
    /// - Throws: ``ValidationFailures`` with all rules that the event breaks.
    func validateTouched() throws {
        for index in journal.indices {
            switch journal[index] {
            case .state(let object, let before): try validate(object, before)
            case .created(let object, _): try validate(object, nil)
            // The constraints of an entity below the former one are new to the object.
            case .entity(let object, _): try validate(object, nil)
            case .pair, .tombstone: break
            }
        }
        if !countChecks.isEmpty { try validateCounts() }
        callValidators()
        try failures.check()
    }

    private func validateCounts() throws {
        var checked: Set<CountCheck> = []
        for check in countChecks where check.object.isAlive && !check.object.state.isPlaceholder {
            let key = CountCheck(object: ObjectIdentifier(check.object), relationship: check.relationship.index)
            guard checked.insert(key).inserted else { continue }
            if let failure = try countFailure(of: check.object, check.relationship) {
                note(failure, of: check.object)
            }
        }
    }

    private struct CountCheck: Hashable {
        let object: ObjectIdentifier
        let relationship: Int
    }

    private func validate(_ object: ContextObject, _ before: ContextObject.State?) throws {
        guard object.isAlive else { return }
        if !object.entity.uniquenessConstraints.isEmpty { try validateUnique(object, before) }
        if object.state.isPlaceholder { return }
        for slot in object.entity.requiredSlots where registry.readsNull(object, slot) {
            note(.missing(object.entity.slotNames[slot], of: object.entity), of: object)
        }
    }

    /// Links of placeholders have to be unique too: the store's index knows no placeholders.
    private func validateUnique(_ object: ContextObject, _ before: ContextObject.State?) throws {
        let known = before.flatMap { $0.deletion != nil || $0.isVoid ? nil : $0.values }
        for failure in try uniquenessFailures(of: object, since: known) { note(failure, of: object) }
    }

    /// Returns the failures of values that have to be unique.
    ///
    /// - Parameter before: the values that are known to keep them, or nil.
    package func uniquenessFailures(
        of object: ContextObject, since before: SlotValues? = nil
    ) throws -> [ValidationFailure] {
        try registry.uniquenessConflicts(of: object, since: before).map { conflict in
            let properties = conflict.constraint.properties
            return ValidationFailure(
                reason: .uniqueness, entity: object.entity.name, property: properties.joined(separator: ", "),
                limit: properties.count > 1
                    ? "have to be unique together and another object has the values"
                    : "has to be unique and another object has the value")
        }
    }

    /// Returns the failure where the number of destinations breaks its limits, or nil.
    package func countFailure(of object: ContextObject, _ relationship: Relationship) throws -> ValidationFailure? {
        func failure(_ reason: ValidationFailure.Reason, _ limit: String) -> ValidationFailure {
            ValidationFailure(reason: reason, entity: object.entity.name, property: relationship.name, limit: limit)
        }
        let count: Int
        do {
            // A failure names the number of destinations, whatever the chunk has read before.
            let limit = relationship.maximumCount.map {
                max($0, relationship.minimumCount, registry.maximumListedDestinations)
            }
            count = try registry.destinations(of: object, relationship, limit: limit ?? relationship.minimumCount).count
        } catch is ObjectRegistry.TooManyDestinations {
            // More than any minimum or, where there is one, the maximum.
            return relationship.maximumCount.map {
                failure(.tooManyDestinations, "may have at most \(counted($0, "object"))")
            }
        }
        if let maximum = relationship.maximumCount, count > maximum {
            return failure(
                .tooManyDestinations, "may have at most \(counted(maximum, "object")), this one has \(count)")
        }
        // Counts apply when the relationship is not empty, unless it is required.
        guard count < relationship.minimumCount, count > 0 || !relationship.isOptional else { return nil }
        return failure(
            .tooFewDestinations, "needs at least \(counted(relationship.minimumCount, "object")), this one has \(count)"
        )
    }

    // MARK: Checks of the program's own

    /// Calls the validators with each object that the event changed, and notes what they say.
    package func callValidators() {
        if validators.isEmpty { return }
        for entry in journal {
            switch entry {
            case .state(let object, let before): callValidators(object, before)
            case .created(let object, _):
                if object.isAlive, !object.state.isPlaceholder { call(\.validateForInsert, object, nil) }
            case .pair, .tombstone, .entity: break
            }
        }
    }

    private func callValidators(_ object: ContextObject, _ before: ContextObject.State) {
        if before.deletion != nil || before.isVoid { return }
        if !object.isAlive {
            if !before.isPlaceholder {
                let failures = validators.failures(
                    object.entity, values: before.values.array, oldValues: before.values.array, \.validateForDelete)
                self.failures.add(failures.map { $0.about(object) })
            }
        } else if before.isPlaceholder {
            if !object.state.isPlaceholder { call(\.validateForInsert, object, nil) }
        } else {
            call(\.validateForUpdate, object, before.values)
        }
    }

    private func call(
        _ hook: KeyPath<EntityValidator, ((inout ObjectValidation) -> Void)?>, _ object: ContextObject,
        _ oldValues: SlotValues?
    ) {
        let found = validators.failures(
            object.entity, values: object.state.values.array, oldValues: oldValues?.array, hook)
        failures.add(found.map { $0.about(object) })
    }
}
