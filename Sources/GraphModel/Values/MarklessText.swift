import Foundation

extension String {
    /// The text, decomposed canonically (NFD), without its nonspacing marks (category Mn).
    ///
    /// Scalar by scalar: to decompose a whole text puts its marks in order, which takes more than linear time.
    package var withoutMarks: String {
        var plain = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            if scalar.value < 0x80 {
                plain.append(scalar)
                continue
            }
            for part in String(scalar).decomposedStringWithCanonicalMapping.unicodeScalars
            where part.properties.generalCategory != .nonspacingMark {
                plain.append(part)
            }
        }
        return String(plain)
    }

    /// The text, composed canonically (NFC); behind so many marks in a row it begins again.
    var composedInParts: String {
        var (composed, part) = ("", String.UnicodeScalarView())
        var markCount = 0
        for scalar in unicodeScalars {
            markCount = scalar.properties.canonicalCombiningClass == .notReordered ? 0 : markCount + 1
            if markCount > 30 {
                composed += String(part).precomposedStringWithCanonicalMapping
                part = String.UnicodeScalarView()
                markCount = 0
            }
            part.append(scalar)
        }
        return composed + String(part).precomposedStringWithCanonicalMapping
    }
}
