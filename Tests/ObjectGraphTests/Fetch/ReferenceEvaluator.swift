import Foundation
import ObjectGraph

@testable import GraphCore

/// Objects in memory, for evaluating predicates slowly and without SQL.
struct MemoryGraph {
    struct Key: Hashable {
        let entity: String
        let id: String
    }

    struct Object {
        var values: [String: MemoryValue] = [:]
        var toOne: [String: Key] = [:]
        var toMany: [String: [Key]] = [:]
    }

    var objects: [Key: Object] = [:]
    var now: Int64 = 0
}

/// A value as the rules of docs/reference/fetching.md see it.
indirect enum MemoryValue {
    case null
    case text(String)
    case whole(Int64)
    case real(Double)
    case decimal(Decimal)
    case flag(Bool)
    case date(Int64)
    case uuid([UInt8])
    case object(MemoryGraph.Key)
    /// As a predicate states it: it becomes what it is compared with.
    case literal(Literal.Content)

    var isNull: Bool {
        switch self {
        case .null, .literal(.null): true
        default: false
        }
    }

    /// A number as written has its own type where it is computed with.
    var natural: MemoryValue {
        guard case .literal(let content) = self else { return self }
        switch content {
        case .number(let text): return Int64(text).map { .whole($0) } ?? .real(Double(text) ?? 0)
        case .text(let text): return .text(text)
        case .date(let time): return .date(time)
        case .boolean(let flag): return .flag(flag)
        default: return .null
        }
    }
}

/// Evaluates predicates over objects in memory, written from docs/reference/fetching.md, not from the sources.
struct ReferenceEvaluator {
    let graph: MemoryGraph
    let root: MemoryGraph.Key
    var variables: [String: MemoryGraph.Key] = [:]

    func isTrue(_ predicate: FetchPredicate) -> Bool {
        switch predicate {
        case .constant(let value): return value
        case .and(let parts): return parts.allSatisfy { isTrue($0) }
        case .or(let parts): return parts.contains { isTrue($0) }
        case .not(let inner): return !isTrue(inner)
        case .comparison(let comparison): return isTrue(comparison)
        }
    }

    private func isTrue(_ comparison: FetchPredicate.Comparison) -> Bool {
        if let quantifier = comparison.quantifier {
            let elements = elements(comparison.left)
            let holds = { (value: MemoryValue) in compares(value, comparison) }
            switch quantifier {
            case .any: return elements.contains(where: holds)
            case .all: return elements.allSatisfy(holds)
            case .none: return !elements.contains(where: holds)
            }
        }
        return compares(value(comparison.left), comparison)
    }

    // MARK: Comparing

    private func compares(_ left: MemoryValue, _ comparison: FetchPredicate.Comparison) -> Bool {
        let options = comparison.options
        if case .list(let parts) = comparison.right {
            let values = parts.map { value($0) }
            if comparison.relation == .contained { return values.contains { areEqual(left, $0, options) } }
            guard let low = order(left, values[0], options), let high = order(left, values[1], options) else {
                return false
            }
            return low >= 0 && high <= 0
        }
        let right = value(comparison.right)
        switch comparison.relation {
        case .equal: return areEqual(left, right, options)
        case .notEqual: return !areEqual(left, right, options)
        case .less: return order(left, right, options).map { $0 < 0 } ?? false
        case .lessOrEqual: return order(left, right, options).map { $0 <= 0 } ?? false
        case .greater: return order(left, right, options).map { $0 > 0 } ?? false
        case .greaterOrEqual: return order(left, right, options).map { $0 >= 0 } ?? false
        default:
            guard case .text(let text) = left.natural, case .text(let part) = right.natural else { return false }
            return textual(comparison.relation, text, part, options)
        }
    }

    private func areEqual(
        _ left: MemoryValue, _ right: MemoryValue, _ options: FetchPredicate.TextOptions
    ) -> Bool {
        if left.isNull || right.isNull { return left.isNull && right.isNull }
        let (left, right) = Self.matched(left, right)
        switch (left, right) {
        case (.flag(let left), .flag(let right)): return left == right
        case (.uuid(let left), .uuid(let right)): return left == right
        case (.object(let left), .object(let right)): return left == right
        default: return order(left, right, options) == 0
        }
    }

    /// -1, 0 or 1; nil where a value is missing.
    private func order(
        _ left: MemoryValue, _ right: MemoryValue, _ options: FetchPredicate.TextOptions
    ) -> Int? {
        if left.isNull || right.isNull { return nil }
        return Self.order(left, right) { Self.folded($0, options) }
    }

    static func order(_ left: MemoryValue, _ right: MemoryValue, folded: (String) -> String = { $0 }) -> Int? {
        func sign<Number: Comparable>(_ left: Number, _ right: Number) -> Int {
            left < right ? -1 : left > right ? 1 : 0
        }
        switch matched(left, right) {
        case (.text(let left), .text(let right)):
            let (left, right) = (Array(folded(left).utf8), Array(folded(right).utf8))
            return left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
        case (.date(let left), .date(let right)), (.whole(let left), .whole(let right)): return sign(left, right)
        case (let left, let right):
            if isDecimal(left) || isDecimal(right) {
                guard let left = decimal(left), let right = decimal(right) else { return nil }
                return sign(left, right)
            }
            guard let left = double(left), let right = double(right) else { return nil }
            return sign(left, right)
        }
    }

    /// Gives a literal the type of the other side.
    private static func matched(_ left: MemoryValue, _ right: MemoryValue) -> (MemoryValue, MemoryValue) {
        if case .literal(let content) = right { return (left, typed(content, as: left)) }
        if case .literal(let content) = left { return (typed(content, as: right), right) }
        return (left, right)
    }

    private static func typed(_ content: Literal.Content, as other: MemoryValue) -> MemoryValue {
        switch (other, content) {
        case (.decimal, .number(let text)): .decimal(Decimal(string: text) ?? 0)
        case (.flag, .number(let text)): .flag(text == "1")
        case (.object(let key), .text(let text)): .object(MemoryGraph.Key(entity: key.entity, id: text))
        case (.uuid, .text(let text)): .uuid(UUIDText.bytes(text) ?? [])
        case (.uuid, .uuid(let bytes)): .uuid(bytes)
        case (.date, .text(let text)): .date(Timestamp.microseconds(text) ?? 0)
        default: MemoryValue.literal(content).natural
        }
    }

    static func isDecimal(_ value: MemoryValue) -> Bool {
        if case .decimal = value { return true }
        return false
    }

    static func double(_ value: MemoryValue) -> Double? {
        switch value {
        case .whole(let number): Double(number)
        case .real(let number): number
        default: nil
        }
    }

    static func decimal(_ value: MemoryValue) -> Decimal? {
        switch value {
        case .whole(let number): Decimal(number)
        case .real(let number): Decimal(string: "\(number)")
        case .decimal(let number): number
        default: nil
        }
    }

    // MARK: Texts

    private static let unmarked: [Character: String] = ["é": "e", "É": "E", "ü": "u", "Ü": "U"]
    private static let lower: [Character: String] = [
        "A": "a", "B": "b", "E": "e", "É": "é", "ß": "ss", "S": "s", "Ø": "ø", "Ü": "ü",
    ]

    static func folded(_ text: String, _ options: FetchPredicate.TextOptions) -> String {
        var text = text
        if options.contains(.diacriticInsensitive) { text = text.map { unmarked[$0] ?? String($0) }.joined() }
        if options.contains(.caseInsensitive) {
            text = text.map { lower[$0] ?? ($0.isASCII ? $0.lowercased() : String($0)) }.joined()
        }
        return text
    }

    private func textual(
        _ relation: FetchPredicate.Relation, _ text: String, _ part: String,
        _ options: FetchPredicate.TextOptions
    ) -> Bool {
        let (folded, foldedPart) = (Self.folded(text, options), Self.folded(part, options))
        let (characters, partCharacters) = (Array(folded), Array(foldedPart))
        switch relation {
        case .beginsWith: return characters.starts(with: partCharacters)
        case .endsWith: return characters.reversed().starts(with: partCharacters.reversed())
        case .contains:
            return (0...characters.count).contains { characters[$0...].starts(with: partCharacters) }
        case .like: return Self.isLike(characters[...], partCharacters[...])
        default:
            // The patterns of the tests hold no letter that folds to several.
            guard let expression = try? Regex(part) else { return false }
            let insensitive = options.contains(.caseInsensitive) ? expression.ignoresCase() : expression
            let plain = Self.folded(text, options.subtracting(.caseInsensitive))
            return (try? insensitive.wholeMatch(in: plain)) != nil
        }
    }

    private static func isLike(_ text: ArraySlice<Character>, _ pattern: ArraySlice<Character>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "*" {
            return (text.startIndex...text.endIndex).contains { isLike(text[$0...], pattern.dropFirst()) }
        }
        guard let character = text.first, first == "?" || first == character else { return false }
        return isLike(text.dropFirst(), pattern.dropFirst())
    }
}
