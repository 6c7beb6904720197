import Foundation
import ObjectGraph

@testable import GraphCore

extension ReferenceGraph {
    /// The graph as the lines of ``StoreDump``; derived values are worked out here and now.
    func dump() -> [String] {
        var lines: [String] = []
        for (key, object) in objects {
            let entity = object.entity
            var fields: [(String, String)] = []
            for attribute in entity.attributes {
                fields.append((attribute.name, value(attribute, of: key).shown))
            }
            for relationship in entity.relationships where !relationship.isToMany {
                let shown = object.links[relationship.slot ?? -1].map {
                    isAlive($0) ? $0.key.identity.shown : "dangling"
                }
                fields.append((relationship.name, shown ?? "null"))
            }
            lines.append(StoreDump.line(entity, fields, isPlaceholder: object.isPlaceholder))
            for relationship in entity.relationships where relationship.isOrdered {
                let declaring = model.entities[relationship.entityIndex]
                let found = destinations(of: key, relationship).map(\.identity)
                if let line = StoreDump.list(relationship, declaring, key.identity, found) { lines.append(line) }
            }
        }
        for pair in pairs.keys {
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

    func value(_ attribute: Attribute, of key: Key) -> Value {
        let entity = entity(key)
        switch attribute.derivation {
        case nil: return objects[key]?.attributes[attribute.slot] ?? .null
        case .count(let index):
            return number(Decimal(destinations(of: key, entity.relationships[index]).count), attribute)
        case .aggregate(let function, let index, let slot):
            return aggregate(function, entity.relationships[index], slot, attribute, of: key)
        case .keyPath(let path):
            var end: Key? = key
            for index in path.relationships {
                end = end.flatMap { destinations(of: $0, self.entity($0).relationships[index]).first }
            }
            guard let end else { return .null }
            let value = value(self.entity(end).attributes[path.slot], of: end)
            guard case .text(let text) = value, let transformation = path.transformation else { return value }
            switch transformation {
            case .uppercase: return .text(text.uppercased())
            case .lowercase: return .text(text.lowercased())
            case .canonical: return .text(text.lowercased().folding(options: .diacriticInsensitive, locale: nil))
            }
        case .arithmetic(let expression):
            return compute(expression, of: key).map { number($0, attribute) } ?? .null
        // All saves of these tests have one time.
        case .now: return .integer(Self.time)
        }
    }

    /// The time of all saves where the reference is compared with a store.
    static let time: Int64 = 1_000

    private func aggregate(
        _ function: AggregateFunction, _ relationship: Relationship, _ slot: Int, _ attribute: Attribute, of key: Key
    ) -> Value {
        let source = model.entities[relationship.destinationIndex].attributes[slot]
        let values = destinations(of: key, relationship).map { value(source, of: $0) }.filter { !$0.isNull }
        let numbers = values.compactMap(\.decimal)
        switch function {
        case .sum: return number(numbers.reduce(0, +), attribute)
        case .average:
            if numbers.isEmpty { return .null }
            let total = numbers.reduce(0, +)
            if attribute.type == .decimal { return number(total / Decimal(numbers.count), attribute) }
            return .double(NSDecimalNumber(decimal: total).doubleValue / Double(numbers.count))
        case .minimum, .maximum:
            let sorted = values.sorted { left, right in
                if let left = left.decimal, let right = right.decimal { return left < right }
                return (left.text ?? "").utf8.lexicographicallyPrecedes((right.text ?? "").utf8)
            }
            return (function == .minimum ? sorted.first : sorted.last) ?? .null
        }
    }

    func compute(_ expression: ArithmeticExpression, of key: Key) -> Decimal? {
        switch expression {
        case .number(let text): return Decimal(string: text)
        case .attribute(let slot): return value(entity(key).attributes[slot], of: key).decimal
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

    func number(_ number: Decimal, _ attribute: Attribute) -> Value {
        switch attribute.type {
        case .decimal: .text("\(number)")
        case .double, .float: .double(NSDecimalNumber(decimal: number).doubleValue)
        default: .integer(NSDecimalNumber(decimal: number).int64Value)
        }
    }
}
