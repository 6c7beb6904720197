extension TextPatterns {
    /// Returns the pattern of SQLite's GLOB for a LIKE pattern of NSPredicate: `*` any characters, `?` one, `\` escapes.
    static func glob(like pattern: String) -> String {
        var glob = String.UnicodeScalarView()
        var isEscaped = false
        for scalar in pattern.unicodeScalars {
            if !isEscaped, scalar == "\\" {
                isEscaped = true
                continue
            }
            let isSpecial = scalar == "[" || isEscaped && (scalar == "*" || scalar == "?")
            if isSpecial { glob.append("[") }
            glob.append(scalar)
            if isSpecial { glob.append("]") }
            isEscaped = false
        }
        if isEscaped { glob.append("\\") }
        return String(glob)
    }
}

extension DecimalCollation {
    /// The name of the order in statements.
    static let name = "objectgraph_decimal"
}
