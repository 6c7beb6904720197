import GraphCore

/// A condition on the fields of a record, compiled once from the language of predicates.
///
/// A field that is missing is null. Numbers compare as numbers, with all their digits, and so do a number and the text of
/// one. Texts compare by their bytes. Other values of two kinds are unequal and in no order.
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
        case values([RecordScalar])
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
            if comparison.relation == .like, case .path = right { throw Self.unsupported("LIKE with a field") }
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

    private static func value(_ expression: FetchPredicate.Expression) throws -> RecordScalar {
        switch expression {
        case .literal(let literal): return try scalar(literal)
        case .negated(.literal(let literal)):
            guard let number = try scalar(literal).negated else { throw unsupported("- before a text") }
            return number
        default: throw unsupported("A list of anything but values")
        }
    }

    private static func scalar(_ literal: Literal) throws -> RecordScalar {
        switch literal.content {
        case .null: return .null
        case .boolean(let flag): return .boolean(flag)
        case .number(let text): return RecordScalar(number: text)
        case .text(let text): return .literal(text)
        case .date, .uuid, .binary, .stored: throw unsupported("A typed value")
        }
    }

    // MARK: Evaluation

    /// Tells whether a record meets the condition.
    ///
    /// - Parameter schema: what the record says of its fields, or nil.
    func holds(for record: JSONValue, schema: JSONValue? = nil) -> Bool {
        switch self {
        case .constant(let flag): flag
        case .and(let parts): parts.allSatisfy { $0.holds(for: record, schema: schema) }
        case .or(let parts): parts.contains { $0.holds(for: record, schema: schema) }
        case .not(let part): !part.holds(for: record, schema: schema)
        case .comparison(let comparison): comparison.holds(for: record, schema)
        }
    }
}

/// Why a condition cannot be read.
struct ConditionError: Error {
    let description: String
}

extension RecordCondition.Comparison {
    fileprivate func holds(for record: JSONValue, _ schema: JSONValue?) -> Bool {
        let values = right.values(in: record, schema, folded: isCaseInsensitive)
        guard let value = left.values(in: record, schema, folded: isCaseInsensitive).first, let other = values.first
        else { return false }
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
            guard let text = value.text, let part = other.text else { return false }
            switch relation {
            case .beginsWith: return text.utf8.starts(with: part.utf8)
            case .endsWith: return text.utf8.reversed().starts(with: part.utf8.reversed())
            case .contains: return text.hasBytes(of: part)
            default: return TextPatterns.matches(text, like: part)
            }
        }
    }
}

extension RecordCondition.Side {
    fileprivate func values(in record: JSONValue, _ schema: JSONValue?, folded: Bool) -> [RecordScalar] {
        let values: [RecordScalar]
        switch self {
        case .path(let path):
            let logical = schema == nil ? nil : SchemaFields.schema(at: path, in: schema).map { LogicalType($0) }
            values = [record.member(at: path).map { RecordScalar($0, logical ?? .plain) } ?? .null]
        case .values(let list): values = list
        }
        return folded ? values.map(\.folded) : values
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
