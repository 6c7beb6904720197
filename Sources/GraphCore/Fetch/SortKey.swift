/// One key of an order, read from its text.
struct SortKey: Equatable {
    let expression: FetchPredicate.Expression
    let options: FetchPredicate.TextOptions
    let isDescending: Bool

    /// Reads `title`, `-title`, `+title`, `title[cd]`, `title asc` or `title desc`; instead of the property it may have
    /// an expression.
    init(_ text: String) throws(FetchPredicateError) {
        var parser = try PredicateParser(text)
        var isDescending = false
        if parser.isSymbol("-", "+") {
            isDescending = parser.isSymbol("-")
            parser.advance()
        }
        expression = try parser.expression("a property")
        options = try parser.options()
        if parser.take(keyword: "DESC", "DESCENDING") {
            isDescending.toggle()
        } else {
            _ = parser.take(keyword: "ASC", "ASCENDING")
        }
        try parser.expectEnd("asc, desc or the end")
        self.isDescending = isDescending
    }

    /// The key as text that reads the same.
    var text: String { "\(expression)\(options)\(isDescending ? " desc" : "")" }
}

/// A property to fetch, read from its text.
struct FetchedProperty {
    let expression: FetchPredicate.Expression
    /// The name after `AS`, or nil.
    let givenName: String?

    /// Reads `title`, `chat.title` or `count() AS messages`.
    init(_ text: String) throws(FetchPredicateError) {
        var parser = try PredicateParser(text)
        expression = try parser.expression("a property")
        var name: String?
        if parser.take(keyword: "AS") {
            switch parser.current.content {
            case .name(let given), .escapedName(let given): name = given
            default: throw parser.unexpected("a name")
            }
            parser.advance()
        }
        try parser.expectEnd("AS or the end")
        givenName = name
    }

    var name: String { givenName ?? expression.description }

    /// The name of a path with a single name, a property of the object itself, or nil.
    var ownName: String? {
        guard case .path(let path) = expression, path.root == nil, path.function == nil, path.names.count == 1 else {
            return nil
        }
        return path.names[0]
    }
}

extension FetchPredicate.Expression {
    /// Tells whether every part has one value per group: a group's expression, an aggregate over its rows, or a literal.
    ///
    /// - Parameter isKnown: tells whether the request groups by an expression.
    package func isGrouped(_ isKnown: (FetchPredicate.Expression) -> Bool) -> Bool {
        if isKnown(self) { return true }
        switch self {
        case .literal: return true
        case .path, .subquery: return false
        case .list(let parts): return parts.allSatisfy { $0.isGrouped(isKnown) }
        case .negated(let operand): return operand.isGrouped(isKnown)
        case .arithmetic(let left, _, let right): return left.isGrouped(isKnown) && right.isGrouped(isKnown)
        case .function(let call):
            return CollectionFunction(rawValue: call.name) != nil || call.arguments.allSatisfy { $0.isGrouped(isKnown) }
        }
    }

    /// Tells whether it contains a function over all rows.
    var hasRowAggregate: Bool {
        switch self {
        case .literal, .path, .subquery: false
        case .list(let parts): parts.contains { $0.hasRowAggregate }
        case .negated(let operand): operand.hasRowAggregate
        case .arithmetic(let left, _, let right): left.hasRowAggregate || right.hasRowAggregate
        case .function(let call):
            CollectionFunction(rawValue: call.name) != nil || call.arguments.contains { $0.hasRowAggregate }
        }
    }
}

extension FetchPredicate {
    /// The first side of a comparison that fails a test, or nil.
    func firstSide(failing test: (Expression) -> Bool) -> Expression? {
        switch self {
        case .constant: return nil
        case .and(let parts), .or(let parts):
            for part in parts {
                if let found = part.firstSide(failing: test) { return found }
            }
            return nil
        case .not(let inner): return inner.firstSide(failing: test)
        case .comparison(let comparison):
            if !test(comparison.left) { return comparison.left }
            return test(comparison.right) ? nil : comparison.right
        }
    }
}

extension FetchRequest {
    /// Splits a list of sort keys or properties at its commas, except in parentheses, braces and quotes.
    ///
    /// - Throws: ``FetchPredicateError`` if a quoted text has no end.
    public static func parts(of text: String) throws(FetchPredicateError) -> [String] {
        var parts: [String] = []
        var depth = 0
        let scalars = Array(text.unicodeScalars)
        var start = 0
        func part(_ end: Int) -> String {
            String(String.UnicodeScalarView(scalars[start..<end].drop { $0.properties.isWhitespace }))
        }
        for token in try PredicateTokenizer.tokens(text) {
            guard case .symbol(let symbol) = token.content else { continue }
            switch symbol {
            case "(", "{": depth += 1
            case ")", "}": depth -= 1
            case "," where depth == 0:
                parts.append(part(token.column - 1))
                start = token.column
            default: break
            }
        }
        parts.append(part(scalars.count))
        return parts
    }
}
