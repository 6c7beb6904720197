import ObjectGraph

/// The form of one value as a file writes it.
package enum ValueShape: String, Sendable, CaseIterable {
    /// Nothing at all, or JSON's null.
    case empty
    /// A text that usually stands for no value, such as `NA`.
    case nullMarker
    /// A whole number of 64 bits without leading zeros.
    case integer
    /// A number with a fraction and without exponent.
    case fraction
    /// A number with an exponent.
    case exponent
    /// `true`, `false`, `yes` or `no`.
    case boolean
    /// An ISO-8601 date, or one with a time and an offset.
    case date
    /// An ISO-8601 date with a time and no offset, which names no instant.
    case localDate
    /// A date with slashes or dots, such as `31.12.2025`.
    case foreignDate
    /// A UUID with hyphens.
    case uuid
    /// Any other text.
    case text
    /// A nested object or array.
    case nested

    /// The texts that usually stand for no value.
    package static let nullMarkers: Set<String> = [
        "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "None", "none", "\\N", "#N/A", "-", ".",
    ]

    /// Recognises a text of a table.
    package init(text: String) {
        if text.isEmpty {
            self = .empty
        } else if Self.nullMarkers.contains(text) {
            self = .nullMarker
        } else if let number = Self.number(text) {
            self = number
        } else if ["true", "false", "yes", "no"].contains(text.lowercased()) {
            self = .boolean
        } else {
            self = Self.words(text)
        }
    }

    /// Recognises a text of JSON, in which numbers and booleans are no texts.
    package init(jsonText text: String) {
        self = text.isEmpty ? .text : Self.words(text)
    }

    private static func words(_ text: String) -> ValueShape {
        guard let first = text.utf8.first else { return .text }
        let isDigit = (0x30...0x39).contains(first)
        if isDigit, text.utf8.count >= 8 {
            if Timestamp.microseconds(text) != nil { return .date }
            if Timestamp.microseconds(text, assumesUTC: true) != nil { return .localDate }
        }
        if isDigit, isForeignDate(text) { return .foreignDate }
        if text.utf8.count == 36, UUIDText.bytes(text) != nil { return .uuid }
        return .text
    }

    private static func isForeignDate(_ text: String) -> Bool {
        let parts = text.split(separator: " ").first?.split(whereSeparator: { $0 == "/" || $0 == "." }) ?? []
        return parts.count == 3 && parts.allSatisfy { Int($0) != nil && $0.count <= 4 }
            && parts.contains { $0.count == 4 }
    }

    private static func number(_ text: String) -> ValueShape? {
        guard let last = text.utf8.last, (0x30...0x39).contains(last) || last == 0x2E else { return nil }
        let digits = text.drop { $0 == "-" || $0 == "+" }
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || [0x2E, 0x45, 0x65, 0x2B, 0x2D].contains($0) })
        else { return nil }
        // A number with leading zeros is a code: its zeros would be lost.
        if digits.hasPrefix("0"), let second = digits.utf8.dropFirst().first, (0x30...0x39).contains(second) {
            return nil
        }
        if Int64(text) != nil { return text.hasPrefix("+") ? nil : .integer }
        guard let number = Double(text), number.isFinite, DecimalText.number(text) != nil else { return nil }
        return text.utf8.contains { $0 == 0x45 || $0 == 0x65 } ? .exponent : .fraction
    }
}
