import Foundation

/// Exact decimal numbers as canonical text: no exponent, no trailing zeros after the point, `-0` written `0`.
///
/// Arithmetic is Foundation's `Decimal`: 38 significant digits.
public enum DecimalText {
    private static let locale = Locale(identifier: "en_US_POSIX")

    /// Returns the number that a text states, or nil where it is none.
    public static func number(_ text: String) -> Decimal? {
        guard isNumber(text), let number = Decimal(string: text, locale: locale), !number.isNaN else { return nil }
        return number
    }

    /// Returns a number's canonical text.
    public static func text(_ number: Decimal) -> String {
        var number = number
        return NSDecimalString(&number, locale)
    }

    /// Returns the canonical text of a number's text, or nil where it is none.
    public static func canonical(_ text: String) -> String? {
        number(text).map(Self.text)
    }

    // Decimal(string:) reads a number's beginning and drops the rest in silence, so the whole text is checked here.
    private static func isNumber(_ text: String) -> Bool {
        var digits = 0
        var hasPoint = false
        var bytes = text.utf8[...]
        if let sign = bytes.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { bytes.removeFirst() }
        while let byte = bytes.first {
            if byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
                digits += 1
            } else if byte == UInt8(ascii: "."), !hasPoint {
                hasPoint = true
            } else {
                break
            }
            bytes.removeFirst()
        }
        if digits == 0 { return false }
        guard let exponent = bytes.first else { return true }
        guard exponent | 0x20 == UInt8(ascii: "e") else { return false }
        bytes.removeFirst()
        if let sign = bytes.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { bytes.removeFirst() }
        return !bytes.isEmpty && bytes.count <= 3 && bytes.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
    }
}
