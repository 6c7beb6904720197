extension TextPatterns {
    /// Returns the text that all texts begin with that match a LIKE pattern of NSPredicate.
    static func prefix(like pattern: String) -> String {
        var prefix = String.UnicodeScalarView()
        for part in parts(pattern) {
            guard case .scalar(let scalar) = part else { break }
            prefix.append(scalar)
        }
        return String(prefix)
    }
}

extension DecimalCollation {
    /// The name of the order in statements.
    static let name = "objectgraph_decimal"
}
