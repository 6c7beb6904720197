extension FetchPredicate: CustomStringConvertible {
    /// The predicate as text that ``parse(_:arguments:)`` reads as the same predicate.
    public var description: String {
        switch self {
        case .constant(let value): value ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .and(let parts): Self.joined(parts, "AND", empty: "TRUEPREDICATE")
        case .or(let parts): Self.joined(parts, "OR", empty: "FALSEPREDICATE")
        case .not(let inner): "NOT (\(inner))"
        case .comparison(let comparison): comparison.description
        }
    }

    private static func joined(_ parts: [FetchPredicate], _ word: String, empty: String) -> String {
        if parts.isEmpty { return empty }
        return parts.map { part in
            switch part {
            case .and(let inner) where inner.count > 1: "(\(part))"
            case .or(let inner) where inner.count > 1: "(\(part))"
            default: part.description
            }
        }.joined(separator: " \(word) ")
    }
}

extension FetchPredicate.Comparison: CustomStringConvertible {
    /// The comparison as text.
    public var description: String {
        let before = quantifier.map { $0.rawValue.uppercased() + " " } ?? ""
        return "\(before)\(left) \(relation.rawValue)\(options.description) \(right)"
    }
}

extension FetchPredicate.TextOptions: CustomStringConvertible {
    /// The options as text after an operator: `[cd]`, or nothing.
    public var description: String {
        let letters = (contains(.caseInsensitive) ? "c" : "") + (contains(.diacriticInsensitive) ? "d" : "")
        return letters.isEmpty ? "" : "[\(letters)]"
    }
}

extension FetchPredicate.Expression: CustomStringConvertible {
    /// The expression as text.
    public var description: String {
        switch self {
        case .literal(let literal): literal.description
        case .path(let path): path.text
        case .list(let expressions): "{" + expressions.map(\.description).joined(separator: ", ") + "}"
        case .negated(let operand): "-(\(operand))"
        case .arithmetic(let left, let operation, let right):
            "\(left.operandText) \(operation.rawValue) \(right.operandText)"
        case .function(let call):
            "\(call.name)(\(call.arguments.map(\.description).joined(separator: ", ")))"
        case .subquery(let subquery): subquery.description
        }
    }

    /// The expression as an operand of arithmetic.
    private var operandText: String {
        switch self {
        case .arithmetic, .negated: "(\(self))"
        default: description
        }
    }
}

extension FetchPredicate.Subquery: CustomStringConvertible {
    /// The subquery as text.
    public var description: String {
        "SUBQUERY(\(collection.text), $\(variable), \(predicate)).\(aggregate.text)"
    }
}

extension Literal: CustomStringConvertible {
    /// The value as text.
    public var description: String {
        switch content {
        case .null: "nil"
        case .boolean(let flag): flag ? "YES" : "NO"
        case .number(let number): number
        case .text(let text): Self.quoted(text)
        case .date(let microseconds): "CAST('\(Timestamp.text(microseconds))', 'NSDate')"
        case .uuid(let bytes): "CAST('\(UUIDText.text(bytes) ?? "")', 'NSUUID')"
        case .binary(let bytes): "CAST('\(Base64Text.text(bytes))', 'NSData')"
        case .stored(let value): Literal(Literal.Content(value, .string)).description
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = String.UnicodeScalarView("'".unicodeScalars)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "'", "\\":
                quoted.append("\\")
                quoted.append(scalar)
            case "\n": quoted.append(contentsOf: "\\n".unicodeScalars)
            case "\r": quoted.append(contentsOf: "\\r".unicodeScalars)
            case "\t": quoted.append(contentsOf: "\\t".unicodeScalars)
            default: quoted.append(scalar)
            }
        }
        quoted.append("'")
        return String(quoted)
    }
}
