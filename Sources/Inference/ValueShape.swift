import GraphCore

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
    /// `true`, `false`, `yes`, `no`, or a letter of PostgreSQL: `t`, `f`.
    case boolean
    /// An ISO-8601 date, or one with a time and an offset.
    case date
    /// An ISO-8601 date with a time and no offset, which names no instant.
    case localDate
    /// A date of a form that a route can state, such as `31.12.2025`.
    case foreignDate
    /// A whole number that JSON writes as text.
    case integerText
    /// A number with a fraction that JSON writes as text.
    case fractionText
    /// A number with a comma, such as `1.234,50`, which nothing reads as a number.
    case commaNumber
    /// A UUID with hyphens.
    case uuid
    /// Any other text.
    case text
    /// A nested object or array.
    case nested

    /// The texts that usually stand for no value.
    package static let nullMarkers: Set<String> = [
        "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "None", "none", "nil", "\\N", "#N/A", "-", ".", "0000-00-00",
        "0000-00-00 00:00:00",
    ]
    /// The markers that may be values of a column of texts: Namibia is a country, and `none` an answer.
    static let ambiguousMarkers: Set<String> = ["NA", "None", "none", "nil", "-", "."]

    /// Recognises a text of a table.
    package init(text: String) {
        if text.isEmpty {
            self = .empty
        } else if Self.nullMarkers.contains(text) {
            self = .nullMarker
        } else if let number = Self.number(text) {
            self = number
        } else if ["t", "f"].contains(text) || ["true", "false", "yes", "no"].contains(text.lowercased()) {
            self = .boolean
        } else {
            self = Self.words(text)
        }
    }

    /// Recognises a text of JSON, in which numbers and booleans are no texts.
    package init(jsonText text: String) {
        switch Self.number(text) {
        case .integer?: self = .integerText
        // Without a point it is a whole number beyond 64 bits.
        case .fraction?: self = text.utf8.contains(0x2E) ? .fractionText : .integerText
        default: self = text.isEmpty ? .text : Self.words(text)
        }
    }

    /// Whether it is a number, written as such or as text.
    var isNumber: Bool { [.integer, .fraction, .exponent, .integerText, .fractionText].contains(self) }

    /// The name of the form in comments and output.
    package var words: String {
        switch self {
        case .empty, .nullMarker: "missing"
        case .integer: "whole numbers"
        case .fraction: "numbers"
        case .exponent: "numbers with an exponent"
        case .boolean: "true or false"
        case .date: "dates"
        case .localDate: "times without an offset"
        case .foreignDate: "dates of another form than ISO 8601"
        case .integerText: "whole numbers as text"
        case .fractionText: "numbers as text"
        case .commaNumber: "numbers with a comma"
        case .uuid: "UUIDs"
        case .text: "texts"
        case .nested: "nested JSON"
        }
    }

    private static func words(_ text: String) -> ValueShape {
        guard let first = text.utf8.first else { return .text }
        let isDigit = (0x30...0x39).contains(first)
        if isDigit, text.utf8.count >= 8 {
            if Timestamp.microseconds(text) != nil { return .date }
            // A form of a route reads no comma before a fraction.
            if !text.utf8.contains(0x2C), Timestamp.microseconds(text, assumesUTC: true) != nil { return .localDate }
        }
        if isDigit, DateForms.canRead(text) { return .foreignDate }
        if isCommaNumber(text) { return .commaNumber }
        if text.utf8.count == 36, UUIDText.bytes(text) != nil { return .uuid }
        return .text
    }

    /// Tells whether a text is a number with a comma before its fraction, or between its groups of three digits.
    private static func isCommaNumber(_ text: String) -> Bool {
        guard text.utf8.contains(0x2C) else { return false }
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let groups = digits.split(omittingEmptySubsequences: false) { $0 == "," || $0 == "." }
        return groups.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
            && groups.dropFirst().dropLast().allSatisfy { $0.count == 3 }
            && (groups.count == 2 || groups[0].count <= 3)
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
