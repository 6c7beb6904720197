import Foundation

extension FetchPredicate.TextOptions {
    /// Returns a text without what the options disregard: texts that differ in nothing else fold to the same.
    ///
    /// Diacritics: the text is decomposed canonically (NFD) and its nonspacing marks (Mn) are left out, so that `é` is
    /// `e`; letters that Unicode does not decompose, such as `ø`, stay. Case: each character becomes its upper case,
    /// then that its lower case, by the full mappings of Unicode without regard to a language, so that `ß` is `ss`
    /// and `ς` is `σ`.
    func folded(_ text: String) -> String {
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

/// A regular expression that has to match the whole of a text, in ICU's syntax, with a bound on the work.
///
/// Source of the rule: NSComparisonPredicate's MATCHES.
final class RegularExpression {
    /// Why no answer was found.
    struct Exhausted: Error {}

    /// How often ICU may report progress for one text; it does so after each few thousand steps.
    private static let maximumReportsPerText = 500
    /// How often it may do so for all texts of a statement together.
    private static let maximumReports = 20_000

    private let expression: NSRegularExpression
    private let options: FetchPredicate.TextOptions
    private var reports = 0

    /// Compiles a pattern; nil where it is none.
    init?(_ pattern: String, options: FetchPredicate.TextOptions) {
        let marksOnly = options.intersection(.diacriticInsensitive)
        let pattern = marksOnly.folded(pattern)
        let compilerOptions: NSRegularExpression.Options =
            options.contains(.caseInsensitive) ? [.caseInsensitive] : []
        // By itself first, so that parentheses cannot close the one that is put around it. An empty pattern is none to
        // Foundation, and matches the empty text here.
        guard pattern.isEmpty || (try? NSRegularExpression(pattern: pattern, options: compilerOptions)) != nil,
            let expression = try? NSRegularExpression(pattern: "(?:\(pattern))\\z", options: compilerOptions)
        else { return nil }
        self.expression = expression
        self.options = marksOnly
    }

    /// Tells whether the whole text matches.
    ///
    /// - Throws: ``Exhausted`` where the pattern needs too many steps.
    func matches(_ text: String) throws(Exhausted) -> Bool {
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
