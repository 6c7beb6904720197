import ObjectGraph

@testable import GraphCore

/// Merge policies of events once more, from docs/explanation/semantics.md and docs/reference/events.md.
extension ReferenceGraph {
    /// Returns an operation as the policy of its entity lets it through, or nil where it changes nothing.
    mutating func met(_ operation: ObjectOperation) throws -> ObjectOperation? {
        let entity = model.entities[operation.entity]
        guard let policy = entity.mergePolicy, policy != "error" else { return operation }
        try checkKind(key(operation), entity)
        var operation = operation
        for constraint in future(operation, entity).entity.uniquenessConstraints {
            guard names(operation, entity, one: constraint),
                let holder = holder(constraint, future(operation, entity), except: key(operation))
            else { continue }
            let isKnown = objects[key(operation)] != nil
            switch effective(policy, operation, holder) {
            case "overwrite": try delete(holder, version: .null, time: operation.time)
            case "rollback": return nil
            case "storeTrump" where isKnown: operation = without(constraint, operation, entity)
            case "storeTrump" where canBeOne(holder, entity): operation = filling(holder, operation, entity)
            case "objectTrump" where !isKnown && canBeOne(holder, entity): operation = taking(holder, operation, entity)
            // Two objects that are there cannot become one: the validation says so.
            default: break
            }
        }
        return operation
    }

    private func effective(_ policy: String, _ operation: ObjectOperation, _ holder: Key) -> String {
        guard policy == "lastWriterWins" else { return policy }
        let held = version(of: holder)
        let isLater = !operation.version.isNull && (held.isNull || isBefore(held, operation.version))
        return isLater ? "objectTrump" : "storeTrump"
    }

    private func version(of key: Key) -> Value {
        entity(key).versionSlot.flatMap { objects[key]?.attributes[$0] } ?? .null
    }

    private func canBeOne(_ holder: Key, _ other: Entity) -> Bool {
        entity(holder).isKind(of: other) || other.isKind(of: entity(holder))
    }

    // MARK: Collisions

    /// The object as the operation will leave it, but for its to-many relationships.
    private func future(_ operation: ObjectOperation, _ entity: Entity) -> Object {
        let known = objects[key(operation)]
        var object =
            known ?? Object(life: 0, entity: entity, attributes: [Value](repeating: .null, count: entity.slotCount))
        if entity.isKind(of: object.entity) { object.entity = entity }
        for attribute in object.entity.attributes where !attribute.isDerived {
            let isNew = known.map { $0.isPlaceholder || $0.entity.attribute(named: attribute.name) == nil } ?? true
            if isNew { object.attributes[attribute.slot] = attribute.defaultValue }
        }
        object.attributes[entity.identitySlot] = operation.identity
        for given in operation.attributes { object.attributes[given.slot] = given.value }
        for given in operation.relationships {
            let relationship = entity.relationships[given.relationship]
            guard let slot = relationship.slot, case .one(let identity) = given.change else { continue }
            // What is not there yet, nobody else leads to.
            object.links[slot] = identity.isNull ? nil : reference(key(relationship.destinationIndex, identity))
        }
        return object
    }

    private func names(
        _ operation: ObjectOperation, _ entity: Entity, one constraint: UniquenessConstraint
    ) -> Bool {
        operation.attributes.contains { constraint.slots.contains($0.slot) }
            || operation.relationships.contains { given in
                entity.relationships[given.relationship].slot.map(constraint.slots.contains) ?? false
            }
    }

    private func holder(_ constraint: UniquenessConstraint, _ object: Object, except own: Key) -> Key? {
        guard let values = uniqueValues(object, constraint) else { return nil }
        let declaring = model.entities[constraint.entityIndex]
        return objects.first { key, other in
            key != own && other.entity.isKind(of: declaring) && uniqueValues(other, constraint) == values
        }?.key
    }

    // MARK: What becomes of the operation

    private func without(
        _ constraint: UniquenessConstraint, _ operation: ObjectOperation, _ entity: Entity
    ) -> ObjectOperation {
        var rest = operation
        rest.attributes.removeAll { constraint.slots.contains($0.slot) }
        rest.relationships.removeAll { given in
            entity.relationships[given.relationship].slot.map(constraint.slots.contains) ?? false
        }
        return rest
    }

    /// The holder gets what it lacks; lists are added to.
    private func filling(
        _ holder: Key, _ operation: ObjectOperation, _ entity: Entity
    ) -> ObjectOperation {
        var merged = ObjectOperation(operation, identity: holder.identity)
        merged.version = .null
        merged.attributes.removeAll { objects[holder]?.attributes[$0.slot].isNull != true }
        merged.relationships.removeAll { given in
            entity.relationships[given.relationship].slot.map { objects[holder]?.links[$0] != nil } ?? false
        }
        for index in merged.relationships.indices {
            switch merged.relationships[index].change {
            case .one: break
            case .replace(let list), .edit(let list, _):
                merged.relationships[index].change = .edit(add: list, remove: [])
            }
        }
        return merged
    }

    /// The holder gets everything, but no older version.
    private func taking(
        _ holder: Key, _ operation: ObjectOperation, _ entity: Entity
    ) -> ObjectOperation {
        var merged = ObjectOperation(operation, identity: holder.identity)
        if isBefore(operation.version, version(of: holder)) {
            merged.version = .null
            merged.attributes.removeAll { $0.slot == entity.versionSlot }
        }
        return merged
    }
}
