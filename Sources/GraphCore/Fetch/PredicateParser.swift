extension FetchPredicate {
    /// Reads a predicate's text; placeholders take the arguments in their order: `%@` (or `%d`, `%f` …) a value, `%K`
    /// a key path given as text.
    ///
    /// - Throws: ``FetchPredicateError`` with codes `predicate.syntax`, `predicate.unsupported`, `predicate.arguments` or
    ///   `predicate.too_complex`.
    public static func parse(
        _ text: String, arguments: [(any PropertyValue)?] = []
    ) throws(FetchPredicateError) -> FetchPredicate {
        try PredicateParser.parse(text, arguments: arguments.map { $0?.predicateExpression ?? .null })
    }
}

/// Reads predicates and expressions by recursive descent: OR binds loosest, then AND, NOT, the operators of
/// comparisons, `+ -`, `* /` and signs. Nesting is limited.
struct PredicateParser {
    /// The maximum depth of a text.
    static let maximumDepth = 64

    /// The result of parsing a part of the text. Only its end shows whether a parenthesis contains a condition.
    enum Node {
        case condition(FetchPredicate)
        case expression(FetchPredicate.Expression)
    }

    private let tokens: [PredicateToken]
    private let arguments: [FetchPredicate.Expression]
    private var usedArguments = 0
    private var position = 0
    private var depth = 0

    static func parse(_ text: String, arguments: [FetchPredicate.Expression] = []) throws(FetchPredicateError)
        -> FetchPredicate
    {
        var parser = try PredicateParser(text, arguments: arguments)
        let node = try parser.disjunction()
        let predicate = try parser.condition(node)
        try parser.expectEnd("AND, OR or the end")
        return predicate
    }

    init(_ text: String, arguments: [FetchPredicate.Expression] = []) throws(FetchPredicateError) {
        tokens = try PredicateTokenizer.tokens(text)
        self.arguments = arguments
    }

    // MARK: Words

    var current: PredicateToken { tokens[position] }

    var next: PredicateToken { tokens[min(position + 1, tokens.count - 1)] }

    mutating func advance() { position = min(position + 1, tokens.count - 1) }

    func unexpected(_ wanted: String) -> FetchPredicateError {
        let found: String
        switch current.content {
        case .name(let name), .escapedName(let name): found = "'\(name)'"
        case .function(let name): found = "'@\(name)'"
        case .variable(let name): found = "'$\(name)'"
        case .placeholder: found = "a placeholder"
        case .number(let number): found = "the number \(number)"
        case .text: found = "a text"
        case .symbol(let symbol): found = "'\(symbol)'"
        case .end: found = "the end"
        }
        return FetchPredicateError(
            .syntax, "There is \(found) where \(wanted) was expected", at: current.column,
            remedy: "Write as in: title BEGINSWITH[c] 'a' AND (seq >= 3 OR chat.title = nil)")
    }

    func isKeyword(_ words: String...) -> Bool {
        guard case .name(let name) = current.content else { return false }
        return words.contains(name.uppercased())
    }

    mutating func take(keyword words: String...) -> Bool {
        guard case .name(let name) = current.content, words.contains(name.uppercased()) else { return false }
        advance()
        return true
    }

    func isSymbol(_ symbols: String...) -> Bool {
        guard case .symbol(let symbol) = current.content else { return false }
        return symbols.contains(symbol)
    }

    mutating func take(symbol symbols: String...) -> Bool {
        guard case .symbol(let symbol) = current.content, symbols.contains(symbol) else { return false }
        advance()
        return true
    }

    mutating func expect(symbol: String) throws(FetchPredicateError) {
        guard take(symbol: symbol) else { throw unexpected("'\(symbol)'") }
    }

    func expectEnd(_ wanted: String) throws(FetchPredicateError) {
        guard current.content == .end else { throw unexpected(wanted) }
        if usedArguments < arguments.count {
            throw FetchPredicateError(
                .arguments,
                "The request has \(counted(arguments.count, "argument")) and \(counted(usedArguments, "placeholder"))",
                at: nil,
                remedy: "Give one argument for each placeholder; a placeholder in quotes is a text")
        }
    }

    mutating func argument() throws(FetchPredicateError) -> FetchPredicate.Expression {
        guard usedArguments < arguments.count else {
            throw FetchPredicateError(
                .arguments, "There is no argument for this placeholder", at: current.column,
                remedy: "Give one argument for each placeholder")
        }
        usedArguments += 1
        advance()
        return arguments[usedArguments - 1]
    }

    /// Counts a level of nesting; ``leave()`` ends it.
    mutating func enter() throws(FetchPredicateError) {
        depth += 1
        guard depth <= Self.maximumDepth else {
            throw FetchPredicateError(
                .tooComplex, "The text is nested more than \(Self.maximumDepth) deep", at: current.column,
                remedy: "Remove parentheses and repeated signs and NOTs")
        }
    }

    mutating func leave() { depth -= 1 }

    // MARK: Conditions

    func condition(_ node: Node) throws(FetchPredicateError) -> FetchPredicate {
        switch node {
        case .condition(let predicate): return predicate
        case .expression: throw unexpected("an operator such as = or BEGINSWITH")
        }
    }

    func expression(_ node: Node, _ wanted: String) throws(FetchPredicateError) -> FetchPredicate.Expression {
        switch node {
        case .expression(let expression): return expression
        case .condition: throw unexpected(wanted + " instead of a condition before it")
        }
    }

    /// Reads a node and requires an expression, so that an error's place is after the node.
    mutating func expression(_ wanted: String) throws(FetchPredicateError) -> FetchPredicate.Expression {
        let node = try sum()
        return try expression(node, wanted)
    }

    mutating func disjunction() throws(FetchPredicateError) -> Node {
        try enter()
        defer { leave() }
        let first = try conjunction()
        guard isKeyword("OR") || isSymbol("||") else { return first }
        var parts = [try condition(first)]
        while take(keyword: "OR") || take(symbol: "||") {
            let node = try conjunction()
            parts.append(try condition(node))
        }
        return .condition(.or(parts))
    }

    private mutating func conjunction() throws(FetchPredicateError) -> Node {
        let first = try negation()
        guard isKeyword("AND") || isSymbol("&&") else { return first }
        var parts = [try condition(first)]
        while take(keyword: "AND") || take(symbol: "&&") {
            let node = try negation()
            parts.append(try condition(node))
        }
        return .condition(.and(parts))
    }

    private mutating func negation() throws(FetchPredicateError) -> Node {
        guard take(keyword: "NOT") || take(symbol: "!") else { return try comparison() }
        try enter()
        defer { leave() }
        let node = try negation()
        return .condition(.not(try condition(node)))
    }

    // MARK: Comparisons

    private mutating func comparison() throws(FetchPredicateError) -> Node {
        let quantifier = quantifier()
        let node = try sum()
        if case .condition = node {
            if quantifier != nil { throw unexpected("a property behind ANY, ALL or NONE") }
            return node
        }
        // NSPredicate allows NOT before IN too.
        let isNegated = isKeyword("NOT")
        if isNegated { advance() }
        if isNegated, !isKeyword("IN") { throw unexpected("IN") }
        guard let relation = relation() else {
            // Only a comparison can follow a quantifier; elsewhere the expression may be in parentheses.
            if quantifier != nil { throw unexpected("an operator such as = or BEGINSWITH") }
            return node
        }
        let options = try options()
        let right = try rightSide(relation)
        let left = try expression(node, "a property")
        let comparison = FetchPredicate.comparison(
            FetchPredicate.Comparison(left, relation, right, quantifier: quantifier, options: options))
        return .condition(isNegated ? .not(comparison) : comparison)
    }

    private mutating func quantifier() -> FetchPredicate.Quantifier? {
        if take(keyword: "ANY", "SOME") { return .any }
        if take(keyword: "ALL") { return .all }
        return take(keyword: "NONE") ? FetchPredicate.Quantifier.none : nil
    }

    private mutating func rightSide(_ relation: FetchPredicate.Relation) throws(FetchPredicateError)
        -> FetchPredicate.Expression
    {
        let isParenthesis = isSymbol("(")
        let right = try expression("a value")
        // A list with one element in parentheses, as in `IN ('a')`.
        guard isParenthesis, relation == .contained || relation == .between, case .literal = right else { return right }
        return .list([right])
    }

    private mutating func relation() -> FetchPredicate.Relation? {
        switch current.content {
        case .symbol(let symbol):
            let symbols: [String: FetchPredicate.Relation] = [
                "=": .equal, "==": .equal, "!=": .notEqual, "<>": .notEqual, "<=": .lessOrEqual, "=<": .lessOrEqual,
                ">=": .greaterOrEqual, "=>": .greaterOrEqual, "<": .less, ">": .greater,
            ]
            guard let relation = symbols[symbol] else { return nil }
            advance()
            return relation
        case .name(let name):
            guard let relation = FetchPredicate.Relation(rawValue: name.uppercased()) else { return nil }
            advance()
            return relation
        default: return nil
        }
    }

    /// Reads `[c]`, `[d]` or `[cd]`.
    mutating func options() throws(FetchPredicateError) -> FetchPredicate.TextOptions {
        guard take(symbol: "[") else { return [] }
        guard case .name(let letters) = current.content else { throw unexpected("c, d or cd") }
        var options: FetchPredicate.TextOptions = []
        for letter in letters.lowercased() {
            switch letter {
            case "c": options.insert(.caseInsensitive)
            case "d": options.insert(.diacriticInsensitive)
            default:
                throw FetchPredicateError(
                    .unsupported, "The option [\(letters)] is not supported", at: current.column,
                    remedy: "[c] is without regard to case, [d] to diacritics, [cd] to both")
            }
        }
        advance()
        try expect(symbol: "]")
        return options
    }

    static func isKeyword(_ name: String) -> Bool { keywords.contains(name.uppercased()) }

    private static let keywords: Set<String> = Set(FetchPredicate.Relation.allCases.map(\.rawValue)).union([
        "AND", "OR", "NOT", "ANY", "SOME", "ALL", "NONE", "TRUEPREDICATE", "FALSEPREDICATE", "SELF", "NIL", "NULL",
        "YES", "NO", "TRUE", "FALSE", "SUBQUERY", "CAST", "AS",
    ])
}
