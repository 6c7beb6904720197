import Foundation
import ObjectGraph

@testable import GraphCore

extension ReferenceEvaluator {
    func value(_ expression: FetchPredicate.Expression) -> MemoryValue {
        switch expression {
        case .literal(let literal): return .literal(literal.content)
        case .path(let path): return value(path)
        case .list: return .null
        case .negated(let operand): return arithmetic(.literal(.number("0")), .subtract, value(operand))
        case .arithmetic(let left, let operation, let right):
            return arithmetic(value(left), operation, value(right))
        case .function(let call): return function(call)
        case .subquery(let subquery):
            let found = destinations(subquery.collection).filter { key in
                var inner = self
                inner.variables[subquery.variable] = key
                return inner.isTrue(subquery.predicate)
            }
            return aggregate(subquery.aggregate.function ?? "", found, subquery.aggregate.names)
        }
    }

    private func start(_ path: PropertyPath) -> MemoryGraph.Key? { path.root.map { variables[$0] } ?? root }

    private func value(_ path: PropertyPath) -> MemoryValue {
        guard let function = path.function else { return value(path.names, from: start(path)) }
        // The names up to the to-many relationship, then those behind it.
        var key = start(path)
        for (index, name) in path.names.enumerated() {
            if let object = key.flatMap({ graph.objects[$0] }), let destinations = object.toMany[name] {
                return aggregate(function, destinations, Array(path.names[(index + 1)...]))
            }
            guard let next = key.flatMap({ graph.objects[$0]?.toOne[name] }) else {
                // Over a missing object there is nothing to aggregate.
                return aggregate(function, [], [])
            }
            key = next
        }
        return .null
    }

    private func value(_ names: [String], from start: MemoryGraph.Key?) -> MemoryValue {
        guard let start, let object = graph.objects[start] else { return .null }
        guard let name = names.first else { return .object(start) }
        if let next = object.toOne[name] { return value(Array(names.dropFirst()), from: next) }
        return object.values[name] ?? .null
    }

    private func destinations(_ path: PropertyPath) -> [MemoryGraph.Key] {
        var key = start(path)
        for name in path.names {
            guard let object = key.flatMap({ graph.objects[$0] }) else { return [] }
            if let destinations = object.toMany[name] { return destinations }
            key = object.toOne[name]
        }
        return []
    }

    /// The values of the left side of a quantified comparison, one for each object of its to-many relationship.
    func elements(_ expression: FetchPredicate.Expression) -> [MemoryValue] {
        guard case .path(let path) = expression else { return [] }
        var key = start(path)
        for (index, name) in path.names.enumerated() {
            guard let object = key.flatMap({ graph.objects[$0] }) else { return [] }
            if let destinations = object.toMany[name] {
                let rest = Array(path.names[(index + 1)...])
                return destinations.map { destination in
                    var inner = self
                    inner.variables["element"] = destination
                    return inner.value(PropertyPath(names: rest, function: path.function, root: "element"))
                }
            }
            key = object.toOne[name]
        }
        return []
    }

    private func function(_ call: FetchPredicate.FunctionCall) -> MemoryValue {
        if call.name == "now" { return .date(graph.now) }
        guard let argument = call.arguments.first, case .text(let text) = value(argument).natural else { return .null }
        switch call.name {
        case "lowercase":
            return .text(text.map { $0 == "ß" ? "ß" : Self.folded(String($0), .caseInsensitive) }.joined())
        case "uppercase": return .text(text.map { $0 == "ß" ? "SS" : $0.uppercased() }.joined())
        default: return .text(text.map { $0 == "ß" ? "ß" : Self.folded(String($0), Self.both) }.joined())
        }
    }

    private static var both: FetchPredicate.TextOptions { [.caseInsensitive, .diacriticInsensitive] }

    private func arithmetic(
        _ first: MemoryValue, _ operation: FetchPredicate.ArithmeticOperator, _ second: MemoryValue
    ) -> MemoryValue {
        if first.isNull || second.isNull { return .null }
        let (first, second) = (first.natural, second.natural)
        if case .date(let time) = first {
            if case .date(let other) = second { return .real(Double(time - other) / 1_000_000) }
            let micros = Int64(((Self.double(second) ?? 0) * 1_000_000).rounded())
            return .date(operation == .add ? time + micros : time - micros)
        }
        if Self.isDecimal(first) || Self.isDecimal(second) {
            guard let left = Self.decimal(first), let right = Self.decimal(second) else { return .null }
            switch operation {
            case .add: return .decimal(left + right)
            case .subtract: return .decimal(left - right)
            case .multiply: return .decimal(left * right)
            case .divide: return right == 0 ? .null : .decimal(left / right)
            }
        }
        guard let left = Self.double(first), let right = Self.double(second) else { return .null }
        if operation == .divide { return right == 0 ? .null : .real(left / right) }
        let result = operation == .add ? left + right : operation == .subtract ? left - right : left * right
        if case (.whole, .whole) = (first, second) { return .whole(Int64(result)) }
        return .real(result)
    }

    private func aggregate(_ function: String, _ keys: [MemoryGraph.Key], _ names: [String]) -> MemoryValue {
        if function == "count" { return .whole(Int64(keys.count)) }
        let values = keys.map { value(names, from: $0) }.filter { !$0.isNull }
        switch function {
        case "min": return values.reduce(.null) { $0.isNull || (Self.order($1, $0) ?? 0) < 0 ? $1 : $0 }
        case "max": return values.reduce(.null) { $0.isNull || (Self.order($1, $0) ?? 0) > 0 ? $1 : $0 }
        case "sum": return values.reduce(.whole(0)) { arithmetic($0, .add, $1) }
        default:
            if values.isEmpty { return .null }
            let sum = values.reduce(.whole(0)) { arithmetic($0, .add, $1) }
            return arithmetic(sum, .divide, .whole(Int64(values.count)))
        }
    }
}
