import Foundation

/// Exact decimal numbers as canonical text: no exponent, no trailing zeros after the point, `-0` written `0`.
///
/// Arithmetic is Foundation's `Decimal`: 38 significant digits.
public enum DecimalText {
    private static let locale = Locale(identifier: "en_US_POSIX")

    /// The digits that a decimal keeps, whatever they are.
    private static let maximumDigits = 38

    /// Returns the number that a text states, or nil where it is none, or has more digits than a decimal keeps.
    public static func number(_ text: String) -> Decimal? {
        guard isNumber(text), let number = Decimal(string: text, locale: locale), !number.isNaN else { return nil }
        // Decimal(string:) drops the digits for which it has no room.
        if text.utf8.count > maximumDigits, !isSame(text, Self.text(number)) { return nil }
        return number
    }

    /// Tells whether two texts state the same number.
    static func isSame(_ text: String, _ other: String) -> Bool {
        guard let digits = DecimalDigits(text.utf8) else { return false }
        return digits == DecimalDigits(other.utf8)
    }

    /// Tells whether a number's text begins with a plus or with zeros that say nothing of its value.
    static func isPadded(_ text: String) -> Bool {
        let digits = text.hasPrefix("-") ? text.utf8.dropFirst() : text.utf8[...]
        if digits.first == UInt8(ascii: "+") { return true }
        return digits.first == UInt8(ascii: "0") && (0x30...0x39).contains(digits.dropFirst().first ?? 0)
    }

    /// Returns a number's canonical text.
    public static func text(_ number: Decimal) -> String {
        var number = number
        return NSDecimalString(&number, locale)
    }

    /// Returns the canonical text of a number's text, or nil where it is none, or has more digits than a decimal keeps.
    public static func canonical(_ text: String) -> String? {
        number(text).map(Self.text)
    }

    /// Tells whether a text is a number as JSON has them, a leading plus and a missing digit beside the point aside.
    ///
    /// `Decimal(string:)` reads a number's beginning and drops the rest in silence, `Double` takes hexadecimal digits.
    static func isNumber(_ text: String) -> Bool {
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
