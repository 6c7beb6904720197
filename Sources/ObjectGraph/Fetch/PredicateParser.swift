extension Predicate {
    /// Reads a predicate's text.
    ///
    /// - Throws: ``PredicateError`` with codes `predicate.syntax`, `predicate.unsupported` or `predicate.too_complex`.
    public static func parse(_ text: String) throws(PredicateError) -> Predicate {
        try PredicateParser.parse(text)
    }
}

/// Reads a predicate by recursive descent: OR binds loosest, then AND, then NOT; nesting is limited.
struct PredicateParser {
    /// How deep conditions may be nested, in text and in trees made by code.
    static let maximumDepth = 64

    private let tokens: [PredicateToken]
    private var position = 0
    private var depth = 0

    static func parse(_ text: String) throws(PredicateError) -> Predicate {
        var parser = PredicateParser(tokens: try PredicateTokenizer.tokens(text))
        let predicate = try parser.disjunction()
        guard parser.current.content == .end else { throw parser.unexpected("AND, OR or the end") }
        return predicate
    }

    private init(tokens: [PredicateToken]) { self.tokens = tokens }

    // MARK: Words

    private var current: PredicateToken { tokens[position] }

    private mutating func advance() { position = min(position + 1, tokens.count - 1) }

    private func unexpected(_ wanted: String) -> PredicateError {
        let found: String
        switch current.content {
        case .name(let name), .escapedName(let name): found = "'\(name)'"
        case .function(let name): found = "'@\(name)'"
        case .number(let number): found = "the number \(number)"
        case .text: found = "a text"
        case .symbol(let symbol): found = "'\(symbol)'"
        case .end: found = "the end"
        }
        return PredicateError(
            .syntax, "There is \(found) where \(wanted) was expected", at: current.column,
            remedy: "Write as in: title BEGINSWITH[c] 'a' AND (seq >= 3 OR chat.title = nil)")
    }

    private func isKeyword(_ words: String...) -> Bool {
        guard case .name(let name) = current.content else { return false }
        return words.contains(name.uppercased())
    }

    private mutating func take(keyword words: String...) -> Bool {
        guard case .name(let name) = current.content, words.contains(name.uppercased()) else { return false }
        advance()
        return true
    }

    private mutating func take(symbol symbols: String...) -> Bool {
        guard case .symbol(let symbol) = current.content, symbols.contains(symbol) else { return false }
        advance()
        return true
    }

    private mutating func expect(symbol: String) throws(PredicateError) {
        guard take(symbol: symbol) else { throw unexpected("'\(symbol)'") }
    }

    // MARK: Conditions

    private mutating func disjunction() throws(PredicateError) -> Predicate {
        depth += 1
        defer { depth -= 1 }
        try checkDepth()
        var parts = [try conjunction()]
        while take(keyword: "OR") || take(symbol: "||") { parts.append(try conjunction()) }
        return parts.count == 1 ? parts[0] : .or(parts)
    }

    private func checkDepth() throws(PredicateError) {
        guard depth <= Self.maximumDepth else {
            throw PredicateError(
                .tooComplex, "The condition is nested more than \(Self.maximumDepth) deep", at: current.column,
                remedy: "Remove parentheses and repeated NOTs")
        }
    }

    private mutating func conjunction() throws(PredicateError) -> Predicate {
        var parts = [try negation()]
        while take(keyword: "AND") || take(symbol: "&&") { parts.append(try negation()) }
        return parts.count == 1 ? parts[0] : .and(parts)
    }

    private mutating func negation() throws(PredicateError) -> Predicate {
        guard take(keyword: "NOT") || take(symbol: "!") else { return try primary() }
        depth += 1
        defer { depth -= 1 }
        try checkDepth()
        return .not(try negation())
    }

    private mutating func primary() throws(PredicateError) -> Predicate {
        if take(symbol: "(") {
            let inner = try disjunction()
            try expect(symbol: ")")
            return inner
        }
        if take(keyword: "TRUEPREDICATE") { return .constant(true) }
        if take(keyword: "FALSEPREDICATE") { return .constant(false) }
        return try comparison()
    }

    // MARK: Comparisons

    private mutating func comparison() throws(PredicateError) -> Predicate {
        var quantifier: Predicate.Quantifier?
        if take(keyword: "ANY", "SOME") {
            quantifier = .any
        } else if take(keyword: "ALL") {
            quantifier = .all
        } else if take(keyword: "NONE") {
            quantifier = Predicate.Quantifier.none
        }
        let left = try operand("a property")
        // NSPredicate has NOT stand before IN too.
        let isNegated = isKeyword("NOT")
        if isNegated { advance() }
        if isNegated, !isKeyword("IN") { throw unexpected("IN") }
        let relation = try relation()
        let isCaseInsensitive = try options()
        let right = try operand("a value")
        let comparison = Predicate.comparison(
            Predicate.Comparison(left, relation, right, quantifier: quantifier, isCaseInsensitive: isCaseInsensitive))
        return isNegated ? .not(comparison) : comparison
    }

    private mutating func relation() throws(PredicateError) -> Predicate.Relation {
        if take(symbol: "=", "==") { return .equal }
        if take(symbol: "!=", "<>") { return .notEqual }
        if take(symbol: "<=", "=<") { return .lessOrEqual }
        if take(symbol: ">=", "=>") { return .greaterOrEqual }
        if take(symbol: "<") { return .less }
        if take(symbol: ">") { return .greater }
        let words: [Predicate.Relation] = [.between, .contained, .beginsWith, .contains, .endsWith, .like]
        for relation in words where take(keyword: relation.rawValue) { return relation }
        if isKeyword("MATCHES") {
            throw PredicateError(
                .unsupported, "MATCHES is not supported", at: current.column, remedy: "Use LIKE with * and ?")
        }
        throw unexpected("an operator such as = or BEGINSWITH")
    }

    /// Reads `[c]`, which ignores case.
    private mutating func options() throws(PredicateError) -> Bool {
        guard take(symbol: "[") else { return false }
        guard case .name(let options) = current.content else { throw unexpected("c") }
        guard options.lowercased() == "c" else {
            throw PredicateError(
                .unsupported, "The option [\(options)] is not supported", at: current.column,
                remedy: "Only [c], without regard to case, is")
        }
        advance()
        try expect(symbol: "]")
        return true
    }

    // MARK: Operands

    private mutating func operand(_ wanted: String) throws(PredicateError) -> Predicate.Operand {
        if take(symbol: "{") { return .list(try list(until: "}")) }
        // An array in parentheses, as NSPredicate accepts it behind IN.
        if take(symbol: "(") { return .list(try list(until: ")")) }
        if let literal = try literal() { return .literal(literal) }
        guard let path = try path() else { throw unexpected(wanted) }
        return .path(path)
    }

    private mutating func list(until end: String) throws(PredicateError) -> [Literal] {
        var literals: [Literal] = []
        if take(symbol: end) { return literals }
        repeat {
            guard let literal = try literal() else { throw unexpected("a value") }
            literals.append(literal)
        } while take(symbol: ",")
        try expect(symbol: end)
        return literals
    }

    private mutating func literal() throws(PredicateError) -> Literal? {
        let column = current.column
        if take(keyword: "NIL", "NULL") { return Literal(.null, column: column) }
        if take(keyword: "YES", "TRUE") { return Literal(.boolean(true), column: column) }
        if take(keyword: "NO", "FALSE") { return Literal(.boolean(false), column: column) }
        if case .text(let text) = current.content {
            advance()
            return Literal(.text(text), column: column)
        }
        let isNegative = take(symbol: "-")
        let isSigned = isNegative || take(symbol: "+")
        if case .number(let number) = current.content {
            advance()
            return Literal(.number(isNegative ? "-" + number : number), column: column)
        }
        if isSigned { throw unexpected("a number") }
        return nil
    }

    private mutating func path() throws(PredicateError) -> PropertyPath? {
        let column = current.column
        var names: [String] = []
        while true {
            switch current.content {
            case .name(let name) where names.isEmpty && Self.keywords.contains(name.uppercased()):
                return nil
            case .name(let name), .escapedName(let name):
                names.append(name)
                advance()
            case .function(let function) where !names.isEmpty:
                advance()
                return PropertyPath(names: names, function: function, column: column)
            default:
                if names.isEmpty { return nil }
                throw unexpected("a property")
            }
            guard take(symbol: ".") else { return PropertyPath(names: names, column: column) }
            if names.count > Self.maximumDepth { throw unexpected("a shorter path") }
        }
    }

    private static let keywords: Set = [
        "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "BEGINSWITH", "CONTAINS", "ENDSWITH", "MATCHES", "ANY", "SOME",
        "ALL",
        "NONE", "TRUEPREDICATE", "FALSEPREDICATE",
    ]
}
