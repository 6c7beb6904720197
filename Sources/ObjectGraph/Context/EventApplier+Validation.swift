// What an event has to leave behind: objects that hold to the model.
extension EventApplier {
    /// Notes a broken rule of one object, once.
    func note(_ failure: ValidationFailure, of object: ContextObject) {
        let key = FailedRule(
            entity: object.entity.index, identity: object.identity, property: failure.property, reason: failure.reason)
        if failedRules.insert(key).inserted { failures.add(failure) }
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
        for entry in journal {
            switch entry {
            case .state(let object, let before): validate(object, before)
            case .created(let object, _): validate(object, nil)
            case .pair, .tombstone: break
            }
        }
        var checked: Set<CountCheck> = []
        for check in countChecks where check.object.isAlive && !check.object.state.isPlaceholder {
            let key = CountCheck(object: ObjectIdentifier(check.object), relationship: check.relationship.index)
            guard checked.insert(key).inserted else { continue }
            if let failure = try countFailure(of: check.object, check.relationship) {
                note(failure, of: check.object)
            }
        }
        callValidators()
        try failures.check()
    }

    private struct CountCheck: Hashable {
        let object: ObjectIdentifier
        let relationship: Int
    }

    private func validate(_ object: ContextObject, _ before: ContextObject.State?) {
        guard object.isAlive, !object.state.isPlaceholder else { return }
        for slot in object.entity.requiredSlots where registry.readsNull(object, slot) {
            let failure = ValidationFailure(
                reason: .missingMandatory, entity: object.entity.name, property: object.entity.columnNames[slot],
                limit: "is required and has no value")
            note(failure, of: object)
        }
        for slot in object.entity.uniqueSlots where before?.values[slot] != object.state.values[slot] {
            if let failure = uniquenessFailure(of: object, slot) { note(failure, of: object) }
        }
    }

    /// Returns how a value that has to be unique breaks its rule, or nil.
    func uniquenessFailure(of object: ContextObject, _ slot: Int) -> ValidationFailure? {
        let value = object.state.values[slot]
        let key = ObjectRegistry.Unique(entity: object.entity.index, slot: slot)
        guard !value.isNull, let holders = registry.byUniqueValue[key]?[value],
            holders.contains(where: { $0 !== object && $0.isAlive && $0.state.values[slot] == value })
        else { return nil }
        return ValidationFailure(
            reason: .uniqueness, entity: object.entity.name, property: object.entity.columnNames[slot],
            limit: "has to be unique and another object has the value")
    }

    /// Returns how the number of destinations breaks its limits, or nil.
    func countFailure(of object: ContextObject, _ relationship: Relationship) throws -> ValidationFailure? {
        func failure(_ reason: ValidationFailure.Reason, _ limit: String) -> ValidationFailure {
            ValidationFailure(reason: reason, entity: object.entity.name, property: relationship.name, limit: limit)
        }
        let count: Int
        do {
            let limit = max(relationship.maximumCount ?? 0, ObjectRegistry.maximumListedDestinations)
            count = try registry.destinations(of: object, relationship, limit: limit).count
        } catch is ObjectRegistry.TooManyDestinations {
            // More than any minimum or, where there is one, the maximum.
            return relationship.maximumCount.map { failure(.tooManyDestinations, "may have at most \($0) objects") }
        }
        if let maximum = relationship.maximumCount, count > maximum {
            return failure(.tooManyDestinations, "may have at most \(maximum) objects, this one has \(count)")
        }
        // Counts apply when the relationship is not empty, unless it is required.
        guard count < relationship.minimumCount, count > 0 || !relationship.isOptional else { return nil }
        return failure(
            .tooFewDestinations, "needs at least \(relationship.minimumCount) objects, this one has \(count)")
    }

    // MARK: Checks of the program's own

    /// Calls the validators with each object that the event changed, and notes what they say.
    func callValidators() {
        if validators.isEmpty { return }
        for entry in journal {
            switch entry {
            case .state(let object, let before): callValidators(object, before)
            case .created(let object, _):
                if object.isAlive, !object.state.isPlaceholder { call(\.validateForInsert, object, nil) }
            case .pair, .tombstone: break
            }
        }
    }

    private func callValidators(_ object: ContextObject, _ before: ContextObject.State) {
        if before.deletion != nil || before.isVoid { return }
        if !object.isAlive {
            if !before.isPlaceholder {
                let failures = validators.failures(
                    object.entity, values: before.values, oldValues: before.values, \.validateForDelete)
                self.failures.add(failures)
            }
        } else if before.isPlaceholder {
            if !object.state.isPlaceholder { call(\.validateForInsert, object, nil) }
        } else {
            call(\.validateForUpdate, object, before.values)
        }
    }

    private func call(
        _ hook: KeyPath<EntityValidator, ((inout ObjectValidation) -> Void)?>, _ object: ContextObject,
        _ oldValues: [Value]?
    ) {
        failures.add(
            validators.failures(object.entity, values: object.state.values, oldValues: oldValues, hook))
    }
}
