import ObjectGraph

@testable import GraphCore

extension ReferenceGraph {
    /// One broken rule keeps its code, several have 1560.
    var failure: Failure {
        Failure(codes: ["validation.\(broken.count == 1 ? broken.first?.last ?? "" : "1560")"])
    }

    mutating func validateEverything(_ before: ReferenceGraph) throws {
        for (key, object) in objects {
            let entity = object.entity
            let old = before.objects[key]
            for constraint in entity.uniquenessConstraints {
                guard let values = uniqueValues(object, constraint), hasTwin(key, constraint, values) else { continue }
                // Who had the values before is in the right.
                let isKnown = old?.life == object.life && old?.entity.index == entity.index
                if isKnown, let old, uniqueValues(old, constraint) == values { continue }
                broken.insert(["\(key)", constraint.properties.joined(separator: ", "), "1551"])
            }
            if object.isPlaceholder { continue }
            func note(_ property: String, _ code: String) { broken.insert(["\(key)", property, code]) }
            for attribute in entity.attributes where !attribute.isDerived {
                let value = object.attributes[attribute.slot]
                if value.isNull, !attribute.isOptional { note(attribute.name, "1570") }
            }
            for relationship in entity.relationships {
                if let slot = relationship.slot, !relationship.isOptional, object.links[slot] == nil {
                    note(relationship.name, "1570")
                }
                if relationship.isToMany, let code = countFailure(of: key, relationship) {
                    note(relationship.name, code)
                }
            }
        }
        if !broken.isEmpty { throw failure }
    }

    /// The values that have to be unique together, links by what they lead to; nil where one is missing.
    func uniqueValues(_ object: Object, _ constraint: UniquenessConstraint) -> [String]? {
        var values: [String] = []
        for slot in constraint.slots {
            if object.entity.attributes.contains(where: { $0.slot == slot }) {
                if object.attributes[slot].isNull { return nil }
                values.append(object.attributes[slot].shown)
            } else {
                guard let link = object.links[slot] else { return nil }
                values.append("\(link.key.entity) \(link.life)")
            }
        }
        return values
    }

    private func hasTwin(_ key: Key, _ constraint: UniquenessConstraint, _ values: [String]) -> Bool {
        let declaring = model.entities[constraint.entityIndex]
        return objects.contains {
            $0.key != key && $0.value.entity.isKind(of: declaring) && uniqueValues($0.value, constraint) == values
        }
    }

    private func countFailure(of key: Key, _ relationship: Relationship) -> String? {
        let count = destinations(of: key, relationship).count
        if let maximum = relationship.maximumCount, count > maximum { return "1590" }
        if count < relationship.minimumCount, count > 0 || !relationship.isOptional { return "1580" }
        return nil
    }
}
