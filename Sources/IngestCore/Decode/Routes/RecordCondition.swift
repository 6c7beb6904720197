import ObjectGraph

/// A condition on the fields of a record, compiled once from the language of predicates.
///
/// A field that is missing is null. Numbers compare as numbers, texts by their bytes; values of two kinds are unequal
/// and in no order.
indirect enum RecordCondition: Sendable {
    case constant(Bool)
    case and([RecordCondition])
    case or([RecordCondition])
    case not(RecordCondition)
    case comparison(Comparison)

    struct Comparison: Sendable {
        let left: Side
        let relation: FetchPredicate.Relation
        let right: Side
        let isCaseInsensitive: Bool
    }

    enum Side: Sendable {
        case path(RecordPath)
        case values([Scalar])
    }

    /// A value as a record or a condition states it.
    enum Scalar: Sendable, Equatable {
        case null
        case boolean(Bool)
        case integer(Int64)
        case number(Double)
        case text(String)
        /// An object or an array: equal to nothing.
        case composite
    }

    /// Reads a condition.
    ///
    /// - Throws: ``FetchPredicateError``; a description of what this language leaves out comes with `predicate.unsupported`.
    init(_ text: String) throws(ConditionError) {
        do {
            let paths = try ConditionPaths(text)
            try self.init(try FetchPredicate.parse(paths.text), paths)
        } catch let error as ConditionError {
            throw error
        } catch let error as ExpressionError {
            throw ConditionError(description: error.message)
        } catch {
            throw ConditionError(description: "\(error)")
        }
    }

    private init(_ predicate: FetchPredicate, _ paths: ConditionPaths) throws {
        switch predicate {
        case .constant(let flag): self = .constant(flag)
        case .and(let parts): self = .and(try parts.map { try RecordCondition($0, paths) })
        case .or(let parts): self = .or(try parts.map { try RecordCondition($0, paths) })
        case .not(let part): self = .not(try RecordCondition(part, paths))
        case .comparison(let comparison):
            if let quantifier = comparison.quantifier {
                throw Self.unsupported(quantifier.rawValue.uppercased())
            }
            if comparison.relation == .matches { throw Self.unsupported("MATCHES") }
            if comparison.options.contains(.diacriticInsensitive) { throw Self.unsupported("[d]") }
            let (left, right) = (try Self.side(comparison.left, paths), try Self.side(comparison.right, paths))
            if case (.values, .values) = (left, right) { throw Self.constant }
            self = .comparison(
                Comparison(
                    left: left, relation: comparison.relation, right: right,
                    isCaseInsensitive: comparison.options.contains(.caseInsensitive)))
        }
    }

    private static let constant = ConditionError(
        description:
            "A comparison names no field, and a text in double quotes is a value. Write a dot before a field's "
            + "quoted key: .\"Order Id\" = 5")

    private static func unsupported(_ what: String) -> ConditionError {
        ConditionError(description: "\(what) is not for records. Compare one field with values")
    }

    private static func side(_ expression: FetchPredicate.Expression, _ paths: ConditionPaths) throws -> Side {
        switch expression {
        case .path(let path):
            if let function = path.function { throw unsupported("@\(function)") }
            if let root = path.root { throw unsupported("$\(root)") }
            return .path(paths.path(of: path.names))
        case .literal(let literal): return .values([try scalar(literal)])
        case .list(let expressions): return .values(try expressions.map(value))
        case .negated: return .values([try value(expression)])
        case .arithmetic(_, let sign, _): throw unsupported(sign.rawValue)
        case .function(let call): throw unsupported("\(call.name):")
        case .subquery: throw unsupported("SUBQUERY")
        }
    }

    private static func value(_ expression: FetchPredicate.Expression) throws -> Scalar {
        switch expression {
        case .literal(let literal): return try scalar(literal)
        case .negated(.literal(let literal)):
            switch try scalar(literal) {
            case .integer(let number): return .integer(-number)
            case .number(let number): return .number(-number)
            default: throw unsupported("- before a text")
            }
        default: throw unsupported("A list of anything but values")
        }
    }

    private static func scalar(_ literal: Literal) throws -> Scalar {
        switch literal.content {
        case .null: return .null
        case .boolean(let flag): return .boolean(flag)
        case .number(let text): return Int64(text).map { .integer($0) } ?? .number(Double(text) ?? .nan)
        case .text(let text): return .text(text)
        case .date, .uuid, .binary, .stored: throw unsupported("A typed value")
        }
    }

    // MARK: Evaluation

    /// Tells whether a record meets the condition.
    func holds(for record: JSONValue) -> Bool {
        switch self {
        case .constant(let flag): flag
        case .and(let parts): parts.allSatisfy { $0.holds(for: record) }
        case .or(let parts): parts.contains { $0.holds(for: record) }
        case .not(let part): !part.holds(for: record)
        case .comparison(let comparison): comparison.holds(for: record)
        }
    }
}

/// Why a condition cannot be read.
struct ConditionError: Error {
    let description: String
}

extension RecordCondition.Comparison {
    fileprivate func holds(for record: JSONValue) -> Bool {
        let values = right.values(in: record, folded: isCaseInsensitive)
        guard let value = left.values(in: record, folded: isCaseInsensitive).first, let other = values.first else {
            return false
        }
        switch relation {
        case .equal: return value == other
        case .notEqual: return value != other
        case .less: return value.isLess(than: other) == true
        case .lessOrEqual: return other.isLess(than: value) == false
        case .greater: return other.isLess(than: value) == true
        case .greaterOrEqual: return value.isLess(than: other) == false
        case .between:
            guard values.count == 2 else { return false }
            return value.isLess(than: values[0]) == false && values[1].isLess(than: value) == false
        case .contained: return values.contains { value == $0 }
        case .beginsWith, .contains, .endsWith, .like, .matches:
            guard case .text(let text) = value, case .text(let part) = other else { return false }
            switch relation {
            case .beginsWith: return text.utf8.starts(with: part.utf8)
            case .endsWith: return text.utf8.reversed().starts(with: part.utf8.reversed())
            case .contains: return text.utf8.contains(part.utf8)
            default: return TextPatterns.matches(text, like: part)
            }
        }
    }
}

extension RecordCondition.Side {
    fileprivate func values(in record: JSONValue, folded: Bool) -> [RecordCondition.Scalar] {
        let values: [RecordCondition.Scalar]
        switch self {
        case .path(let path): values = [record.member(at: path).map { RecordCondition.Scalar($0) } ?? .null]
        case .values(let list): values = list
        }
        return folded ? values.map(\.folded) : values
    }
}

extension RecordCondition.Scalar {
    fileprivate init(_ json: JSONValue) {
        switch json.kind {
        case .null: self = .null
        case .boolean: self = .boolean(json.bool ?? false)
        case .integer: self = .integer(json.int64 ?? 0)
        case .unsignedInteger, .double: self = .number(json.double ?? .nan)
        case .string: self = .text(json.string ?? "")
        case .object, .array: self = .composite
        }
    }

    fileprivate var folded: Self {
        guard case .text(let text) = self else { return self }
        return .text(text.lowercased())
    }

    static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.boolean(let left), .boolean(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
        default:
            if let left = left.double, let right = right.double { left == right } else { false }
        }
    }

    private var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }

    /// Compares, or returns nil where there is no order.
    fileprivate func isLess(than other: Self) -> Bool? {
        switch (self, other) {
        case (.integer(let left), .integer(let right)): left < right
        case (.text(let left), .text(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
        default:
            if let left = double, let right = other.double, !left.isNaN, !right.isNaN { left < right } else { nil }
        }
    }
}

extension String.UTF8View {
    /// Tells whether these bytes hold others in one piece.
    fileprivate func contains(_ part: String.UTF8View) -> Bool {
        guard let first = part.first else { return true }
        var position = startIndex
        while let start = self[position...].firstIndex(of: first) {
            if self[start...].starts(with: part) { return true }
            position = index(after: start)
        }
        return false
    }
}
