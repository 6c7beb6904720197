extension FetchPredicate.TextOptions {
    /// Returns a text without the differences that the options ignore, so that equal results mean equal texts.
    ///
    /// - Diacritics: the text is decomposed canonically (NFD), and its nonspacing marks (Mn) are removed. So `é` becomes
    ///   `e`. Letters that Unicode does not decompose, such as `ø`, stay.
    /// - Case: each character becomes upper case, and the result lower case, by Unicode's full mappings for no particular
    ///   language. So `ß` becomes `ss` and `ς` becomes `σ`.
    package func folded(_ text: String) -> String {
        if isEmpty { return text }
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return contains(.caseInsensitive) ? text.lowercased() : text }
        let plain = contains(.diacriticInsensitive) ? text.withoutMarks : text
        return contains(.caseInsensitive) ? plain.uppercased().lowercased() : plain
    }
}

/// A regular expression that has to match a whole text, with the differences that its options ignore.
///
/// Source of the rule: NSComparisonPredicate's MATCHES.
package final class RegularExpression {
    private let pattern: TextPattern
    private let options: FetchPredicate.TextOptions

    /// Compiles a pattern, or returns nil if it is not valid.
    package init?(_ pattern: String, options: FetchPredicate.TextOptions) {
        self.options = options.intersection(.diacriticInsensitive)
        guard
            let compiled = TextPattern(
                whole: self.options.folded(pattern), ignoresCase: options.contains(.caseInsensitive))
        else { return nil }
        self.pattern = compiled
    }

    /// Tells whether the whole text matches. Once the read that asks is to end, the answer is of no use.
    package func matches(_ text: String) -> Bool {
        let reading = ReadInterruption.current
        return pattern.matches(options.folded(text)) { reading?.isRequested ?? false }
    }
}
