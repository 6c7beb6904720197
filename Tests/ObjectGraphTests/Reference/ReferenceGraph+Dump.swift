import Foundation

@testable import ObjectGraph

extension ReferenceGraph {
    /// The graph as the lines of ``StoreDump``; derived values are worked out here and now.
    func dump() -> [String] {
        var lines: [String] = []
        for (key, object) in objects {
            let entity = model.entities[key.entity]
            var fields: [(String, String)] = []
            for attribute in entity.attributes {
                fields.append((attribute.name, value(attribute, of: key).shown))
            }
            for relationship in entity.relationships where !relationship.isToMany {
                let shown = object.links[relationship.index].map { isAlive($0) ? $0.key.identity.shown : "dangling" }
                fields.append((relationship.name, shown ?? "null"))
            }
            lines.append(StoreDump.line(entity, fields, isPlaceholder: object.isPlaceholder))
        }
        for pair in pairs {
            let name = model.joinTables[pair.table].name
            lines.append("\(name): \(pair.owner.identity.shown) \(pair.destination.identity.shown)")
        }
        for (key, tombstone) in tombstones {
            lines.append(
                "deleted \(model.entities[key.entity].name) \(key.identity.shown) version \(tombstone.version.shown) "
                    + "time \(tombstone.time.map { String($0) } ?? "null")")
        }
        return lines.sorted()
    }

    private func value(_ attribute: Attribute, of key: Key) -> Value {
        let entity = model.entities[key.entity]
        switch attribute.derivation {
        case nil: return objects[key]?.attributes[attribute.slot] ?? .null
        case .count(let index):
            return number(Decimal(destinations(of: key, entity.relationships[index]).count), attribute)
        case .sum(let index, let slot):
            let summed = destinations(of: key, entity.relationships[index]).compactMap {
                objects[$0]?.attributes[slot].decimal
            }
            return number(summed.reduce(0, +), attribute)
        case .arithmetic(let expression):
            return compute(expression, of: key).map { number($0, attribute) } ?? .null
        }
    }

    private func compute(_ expression: ArithmeticExpression, of key: Key) -> Decimal? {
        switch expression {
        case .number(let text): return Decimal(string: text)
        case .attribute(let slot): return value(model.entities[key.entity].attributes[slot], of: key).decimal
        case .negated(let operand): return compute(operand, of: key).map { -$0 }
        case .binary(let operation, let left, let right):
            guard let left = compute(left, of: key), let right = compute(right, of: key) else { return nil }
            switch operation {
            case .add: return left + right
            case .subtract: return left - right
            case .multiply: return left * right
            case .divide: return right == 0 ? nil : left / right
            }
        }
    }

    private func number(_ number: Decimal, _ attribute: Attribute) -> Value {
        switch attribute.type {
        case .decimal: .text("\(number)")
        case .double, .float: .double(NSDecimalNumber(decimal: number).doubleValue)
        default: .integer(NSDecimalNumber(decimal: number).int64Value)
        }
    }
}
