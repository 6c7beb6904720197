// What an event has to leave behind: objects that hold to the model.
extension EventApplier {
    /// Checks the objects that the event changed, all rules that one object's values do not settle alone.
    func validateTouched() throws {
        for entry in journal {
            switch entry {
            case .state(let object, _), .created(let object, _): try validate(object)
            case .pair, .tombstone: break
            }
        }
        for check in countChecks where check.object.isAlive && !check.object.state.isPlaceholder {
            try validateCount(of: check.object, check.relationship)
        }
    }

    private func validate(_ object: ContextObject) throws {
        guard object.isAlive, !object.state.isPlaceholder else { return }
        for slot in object.entity.requiredSlots where registry.readsNull(object, slot) {
            throw ValidationFailure(
                reason: .missingMandatory, entity: object.entity.name, property: object.entity.columnNames[slot],
                limit: "is required and has no value")
        }
        for slot in object.entity.uniqueSlots { try validateUnique(object, slot) }
    }

    func validateUnique(_ object: ContextObject, _ slot: Int) throws {
        let value = object.state.values[slot]
        let key = ObjectRegistry.Unique(entity: object.entity.index, slot: slot)
        guard !value.isNull, let holders = registry.byUniqueValue[key]?[value] else { return }
        if holders.contains(where: { $0 !== object && $0.isAlive && $0.state.values[slot] == value }) {
            throw ValidationFailure(
                reason: .uniqueness, entity: object.entity.name, property: object.entity.columnNames[slot],
                limit: "has to be unique and another object has the value")
        }
    }

    func validateCount(of object: ContextObject, _ relationship: Relationship) throws {
        let count: Int
        do {
            let limit = max(relationship.maximumCount ?? 0, ObjectRegistry.maximumListedDestinations)
            count = try registry.destinations(of: object, relationship, limit: limit).count
        } catch is ObjectRegistry.TooManyDestinations {
            // More than any minimum or, where there is one, the maximum.
            guard let maximum = relationship.maximumCount else { return }
            throw ValidationFailure(
                reason: .tooManyDestinations, entity: object.entity.name, property: relationship.name,
                limit: "may have at most \(maximum) objects")
        }
        // Counts apply when the relationship is not empty, unless it is required.
        if count < relationship.minimumCount, count > 0 || !relationship.isOptional {
            throw ValidationFailure(
                reason: .tooFewDestinations, entity: object.entity.name, property: relationship.name,
                limit: "needs at least \(relationship.minimumCount) objects, this one has \(count)")
        }
        if let maximum = relationship.maximumCount, count > maximum {
            throw ValidationFailure(
                reason: .tooManyDestinations, entity: object.entity.name, property: relationship.name,
                limit: "may have at most \(maximum) objects, this one has \(count)")
        }
    }
}
