/// A word of a predicate's text.
struct PredicateToken: Equatable {
    enum Content: Equatable {
        /// A name that may be a keyword.
        case name(String)
        /// A name after `#`, which is never a keyword.
        case escapedName(String)
        /// A name after `@`.
        case function(String)
        case number(String)
        case text(String)
        /// A name after `$`.
        case variable(String)
        /// `%K`, or `%` with any other letter for a value; the letter.
        case placeholder(String)
        case symbol(String)
        case end
    }

    let content: Content
    /// The column of its first character, counted from 1.
    let column: Int
}

/// Splits a predicate's text into words.
struct PredicateTokenizer {
    static let maximumLength = 100_000
    private static let symbols = [
        "&&", "||", "==", "!=", "<>", "<=", ">=", "=<", "=>", "=", "<", ">", "!", "(", ")", "{", "}", "[", "]", ",",
        ".", ":", "-", "+", "*", "/",
    ].map { Array($0.unicodeScalars) }

    private let scalars: [Unicode.Scalar]
    private var position = 0

    private init(_ text: String) { scalars = Array(text.unicodeScalars) }

    static func tokens(_ text: String) throws(FetchPredicateError) -> [PredicateToken] {
        var tokenizer = PredicateTokenizer(text)
        if tokenizer.scalars.count > maximumLength {
            throw FetchPredicateError(
                .tooComplex, "The condition has more than \(maximumLength) characters", at: nil,
                remedy: "Split it into several conditions")
        }
        var tokens: [PredicateToken] = []
        while true {
            let token = try tokenizer.next()
            tokens.append(token)
            if token.content == .end { return tokens }
        }
    }

    private var current: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    private mutating func next() throws(FetchPredicateError) -> PredicateToken {
        while let scalar = current, scalar.properties.isWhitespace { position += 1 }
        let column = position + 1
        guard let scalar = current else { return PredicateToken(content: .end, column: column) }
        if Self.beginsName(scalar) { return PredicateToken(content: .name(name()), column: column) }
        switch scalar {
        case "0"..."9":
            return PredicateToken(content: .number(number()), column: column)
        case "'", "\"":
            return PredicateToken(content: .text(try text(scalar)), column: column)
        case "#", "@", "$":
            position += 1
            guard let first = current, Self.beginsName(first) else { throw unexpected(scalar, column) }
            return PredicateToken(content: Self.marked(scalar, name()), column: column)
        case "%":
            position += 1
            return PredicateToken(content: .placeholder(try placeholder(column)), column: column)
        default:
            for symbol in Self.symbols where scalars[position...].starts(with: symbol) {
                position += symbol.count
                return PredicateToken(
                    content: .symbol(String(String.UnicodeScalarView(symbol))), column: column)
            }
            throw unexpected(scalar, column)
        }
    }

    private func unexpected(_ scalar: Unicode.Scalar, _ column: Int) -> FetchPredicateError {
        FetchPredicateError(
            .syntax, "'\(scalar)' was not expected", at: column, remedy: "Put texts in quotes, as in name = 'Ada'")
    }

    private static func marked(_ mark: Unicode.Scalar, _ name: String) -> PredicateToken.Content {
        switch mark {
        case "#": .escapedName(name)
        case "@": .function(name)
        default: .variable(name)
        }
    }

    /// Reads the letters after `%`: `@`, `K`, or a number's letters as in `%d` and `%ld`.
    private mutating func placeholder(_ column: Int) throws(FetchPredicateError) -> String {
        if current == "@" || current == "K" {
            position += 1
            return scalars[position - 1] == "K" ? "K" : "@"
        }
        while current == "l" { position += 1 }
        if let scalar = current, "diufgs".unicodeScalars.contains(scalar) {
            position += 1
            return "@"
        }
        throw FetchPredicateError(
            .syntax, "'%' is followed by what is no placeholder", at: column,
            remedy: "Write %@ for a value and %K for a key path")
    }

    private static func beginsName(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar == "_"
    }

    private mutating func name() -> String {
        taking { $0.properties.isAlphabetic || $0.properties.numericType != nil || $0 == "_" }
    }

    private mutating func taking(_ isPart: (Unicode.Scalar) -> Bool) -> String {
        let start = position
        while let scalar = current, isPart(scalar) { position += 1 }
        return String(String.UnicodeScalarView(scalars[start..<position]))
    }

    /// Reads digits with a point and an exponent; the checker tests the number against the property's type.
    private mutating func number() -> String {
        var text = digits()
        if current == "." {
            position += 1
            text += "." + digits()
        }
        guard let mark = current, mark == "e" || mark == "E" else { return text }
        position += 1
        text += "e"
        if let sign = current, sign == "-" || sign == "+" {
            position += 1
            text += String(sign)
        }
        return text + digits()
    }

    private mutating func digits() -> String { taking { ("0"..."9").contains($0) } }

    private mutating func text(_ quote: Unicode.Scalar) throws(FetchPredicateError) -> String {
        let column = position + 1
        position += 1
        var text = String.UnicodeScalarView()
        while let scalar = current {
            position += 1
            if scalar == quote { return String(text) }
            text.append(scalar == "\\" ? try escaped() : scalar)
        }
        throw FetchPredicateError(.syntax, "The text is not closed", at: column, remedy: "Add a \(quote) at its end")
    }

    private mutating func escaped() throws(FetchPredicateError) -> Unicode.Scalar {
        let column = position
        guard let scalar = current else {
            throw FetchPredicateError(.syntax, "The text ends with \\", at: column, remedy: "Write \\\\ for one")
        }
        position += 1
        switch scalar {
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "'", "\"", "\\", "/": return scalar
        case "u":
            let digits = String(String.UnicodeScalarView(scalars[position..<min(position + 4, scalars.count)]))
            guard digits.utf8.count == 4, let code = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(code) else {
                throw FetchPredicateError(
                    .syntax, "\\u needs four hexadecimal digits of a character", at: column,
                    remedy: "Write as in \\u00e9")
            }
            position += 4
            return scalar
        default:
            throw FetchPredicateError(
                .syntax, "'\\\(scalar)' means nothing", at: column, remedy: "Write \\\\ for a backslash")
        }
    }
}
