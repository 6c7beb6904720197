import Foundation
import ObjectGraph

@testable import GraphCore

/// Batch requests once more, from the rules in docs/reference/batch.md.
extension ReferenceGraph {
    /// The objects of an entity, those below it included, that a condition is true of.
    func matching(_ condition: BatchCondition, _ entity: Entity, includesPlaceholders: Bool) -> Set<Key> {
        Set(
            objects.filter { key, object in
                object.entity.isKind(of: entity) && (includesPlaceholders || !object.isPlaceholder)
                    && isTrue(condition, of: key)
            }.keys)
    }

    private func isTrue(_ condition: BatchCondition, of key: Key) -> Bool {
        switch condition {
        case .all: return true
        case .identities(let list): return list.contains(key.identity)
        case .isMissing(let attribute): return value(attribute, of: key).isNull
        case .isGreater(let attribute, let limit):
            guard let number = value(attribute, of: key).decimal else { return false }
            return number > limit
        case .leadsTo(let relationship, let identity):
            return destinations(of: key, relationship).first?.identity == identity
        case .has(let relationship, let count): return destinations(of: key, relationship).count > count
        }
    }

    /// Deletes what a condition is true of; returns how many objects that was, or nil where a rule refuses.
    mutating func deleteAll(_ condition: BatchCondition, _ entity: Entity) -> Int? {
        let roots = matching(condition, entity, includesPlaceholders: true)
        let words = together { graph in
            try graph.delete(roots, versionOfAll: .null, time: Self.time)
        }
        return words == ["applied"] ? roots.count : nil
    }

    /// Sets attributes of what a condition is true of; returns how many objects changed, or nil where a rule refuses.
    mutating func updateAll(
        _ condition: BatchCondition, _ entity: Entity, _ assignments: [BatchAssignment]
    ) -> Int? {
        var count = 0
        let words = together { graph in
            let before = graph
            for case .constant(let attribute, let value) in assignments {
                if value.isNull, !attribute.isOptional { throw Failure(codes: ["refused"]) }
                attribute.check(value, entity: "") { _ in graph.broken.insert([attribute.name, "", "refused"]) }
            }
            for key in before.matching(condition, entity, includesPlaceholders: false) {
                for assignment in assignments {
                    let value = before.value(assignment, of: key)
                    assignment.attribute.check(value, entity: "") { _ in
                        graph.broken.insert([assignment.attribute.name, "", "refused"])
                    }
                    graph.objects[key]?.attributes[assignment.attribute.slot] = value
                }
                if graph.objects[key]?.attributes != before.objects[key]?.attributes { count += 1 }
            }
        }
        return words == ["applied"] ? count : nil
    }

    private func value(_ assignment: BatchAssignment, of key: Key) -> Value {
        switch assignment {
        case .constant(_, let value): value
        case .sum(let attribute, let operand, let addend):
            compute(.binary(.add, .attribute(slot: operand.slot), .number(String(addend))), of: key)
                .map { number($0, attribute) } ?? .null
        }
    }

    /// Applies rows one after the other; returns how many were stale, or nil where a rule refuses one.
    mutating func insertAll(_ rows: [ObjectOperation], matching: Attribute?) -> Int? {
        let before = self
        var staleCount = 0
        for row in rows {
            var row = row
            if let matching, let given = row.attributes.first(where: { $0.slot == matching.slot })?.value,
                let holder = holder(of: given, matching)
            {
                row = ObjectOperation(row, identity: holder)
            }
            let words = apply(ChangeSet(row))
            if words == ["stale"] {
                staleCount += 1
            } else if words != ["applied"] {
                self = before
                return nil
            }
        }
        return staleCount
    }

    /// The identity of the object that has a unique value at this moment, or nil.
    private func holder(of value: Value, _ attribute: Attribute) -> Value? {
        if value.isNull { return nil }
        let declaring = model.entities[attribute.entityIndex]
        return objects.first { $1.entity.isKind(of: declaring) && $1.attributes[attribute.slot] == value }?.key.identity
    }
}

/// The conditions of random batch requests.
enum BatchCondition {
    case all
    case identities([Value])
    case isMissing(Attribute)
    case isGreater(Attribute, Decimal)
    case leadsTo(Relationship, Value)
    case has(Relationship, Int)

    /// The condition as a request has it.
    var text: String? {
        switch self {
        case .all: nil
        case .identities(let list): "id IN {\(list.map(\.shown).joined(separator: ", "))}"
        case .isMissing(let attribute): "\(attribute.name) = nil"
        case .isGreater(let attribute, let limit): "\(attribute.name) > \(limit)"
        case .leadsTo(let relationship, let identity): "\(relationship.name).id = \(identity.shown)"
        case .has(let relationship, let count): "\(relationship.name).@count > \(count)"
        }
    }
}

/// The assignments of random batch updates.
enum BatchAssignment {
    case constant(Attribute, Value)
    /// Another attribute's value and a number.
    case sum(Attribute, Attribute, Int)

    var attribute: Attribute {
        switch self {
        case .constant(let attribute, _), .sum(let attribute, _, _): attribute
        }
    }

    /// The assignment as a request has it.
    var request: BatchUpdateRequest.Assignment {
        switch self {
        case .constant(_, let value): .value(value)
        case .sum(_, let operand, let addend): .expression("\(operand.name) + \(addend)")
        }
    }

    var text: String {
        switch self {
        case .constant(let attribute, let value): "\(attribute.name) = \(value.shown)"
        case .sum(let attribute, let operand, let addend): "\(attribute.name) = \(operand.name) + \(addend)"
        }
    }
}

extension ObjectOperation {
    /// The same for another object.
    init(_ other: ObjectOperation, identity: Value) {
        self.init(other.kind, entity: other.entity, identity: identity)
        (version, time) = (other.version, other.time)
        (attributes, relationships) = (other.attributes, other.relationships)
    }
}
