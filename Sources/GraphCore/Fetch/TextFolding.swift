import Foundation

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
        let plain = contains(.diacriticInsensitive) ? Self.withoutMarks(text) : text
        return contains(.caseInsensitive) ? plain.uppercased().lowercased() : plain
    }

    private static func withoutMarks(_ text: String) -> String {
        var plain = String.UnicodeScalarView()
        for scalar in text.decomposedStringWithCanonicalMapping.unicodeScalars
        where scalar.properties.generalCategory != .nonspacingMark {
            plain.append(scalar)
        }
        return String(plain)
    }
}

/// A regular expression in ICU's syntax that has to match a whole text, with a bound on the work.
///
/// Source of the rule: NSComparisonPredicate's MATCHES.
package final class RegularExpression {
    /// The pattern needed too many steps.
    package struct Exhausted: Error {}

    /// The maximum number of progress reports of ICU for one text; ICU reports every few thousand steps.
    private static let maximumReportsPerText = 500
    /// The maximum number of progress reports for all texts of a statement together.
    private static let maximumReports = 20_000

    private let expression: NSRegularExpression
    private let options: FetchPredicate.TextOptions
    private var reports = 0

    /// Compiles a pattern, or returns nil if it is not valid.
    package init?(_ pattern: String, options: FetchPredicate.TextOptions) {
        let marksOnly = options.intersection(.diacriticInsensitive)
        let pattern = marksOnly.folded(pattern)
        let compilerOptions: NSRegularExpression.Options =
            options.contains(.caseInsensitive) ? [.caseInsensitive] : []
        // The pattern is compiled alone first, so that its parentheses cannot close the added group. Foundation refuses
        // an empty pattern; here it matches the empty text.
        guard pattern.isEmpty || (try? NSRegularExpression(pattern: pattern, options: compilerOptions)) != nil,
            let expression = try? NSRegularExpression(pattern: "(?:\(pattern))\\z", options: compilerOptions)
        else { return nil }
        self.expression = expression
        self.options = marksOnly
    }

    /// Tells whether the whole text matches.
    ///
    /// - Throws: ``Exhausted`` if the pattern needs too many steps.
    package func matches(_ text: String) throws(Exhausted) -> Bool {
        let text = options.folded(text)
        let range = NSRange(location: 0, length: text.utf16.count)
        var isMatch = false
        var isExhausted = false
        var reportsForText = 0
        expression.enumerateMatches(in: text, options: [.anchored, .reportProgress], range: range) {
            result, flags, stop in
            if result != nil {
                isMatch = true
                stop.pointee = true
            } else if flags.contains(.internalError) {
                isExhausted = true
                stop.pointee = true
            } else if flags.contains(.progress) {
                reportsForText += 1
                isExhausted = reportsForText > Self.maximumReportsPerText
                if isExhausted { stop.pointee = true }
            }
        }
        reports += reportsForText
        if isExhausted || reports > Self.maximumReports { throw Exhausted() }
        return isMatch
    }
}
