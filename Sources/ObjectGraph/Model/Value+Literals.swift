import Foundation

// Values as a program writes them. The type of the property decides what a literal becomes: a text is a date where the
// property is one. There is no literal for null: `nil` where an optional value is meant would become one.
extension Value: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral
{
    /// Makes a text.
    public init(stringLiteral text: String) { self = .text(text) }
    /// Makes a whole number.
    public init(integerLiteral number: Int64) { self = .integer(number) }
    /// Makes a number.
    public init(floatLiteral number: Double) { self = .double(number) }
    /// Makes a boolean: 0 or 1.
    public init(booleanLiteral isTrue: Bool) { self = .integer(isTrue ? 1 : 0) }
}

extension Value {
    /// Makes the stored form of a date; it is cut to microseconds.
    public init(_ date: Date) {
        self = .integer(Int64((date.timeIntervalSince1970 * 1_000_000).rounded(.down)))
    }

    /// Makes the stored form of a uuid.
    public init(_ uuid: UUID) {
        self = .blob(withUnsafeBytes(of: uuid.uuid) { Array($0) })
    }

    /// Makes the stored form of a boolean.
    public init(_ isTrue: Bool) { self = .integer(isTrue ? 1 : 0) }

    /// Returns the date, or nil where the value is no whole number.
    public var date: Date? {
        integer.map { Date(timeIntervalSince1970: Double($0) / 1_000_000) }
    }
}

extension AttributeType {
    /// Returns the stored form of a value that a program gives, or nil where it is none of the type.
    ///
    /// Texts are read as in a model file, so `"2026-01-02"` is a date and `"12.50"` a decimal; numbers are converted
    /// where nothing is lost.
    func value(given value: Value) -> Value? {
        switch (self, value) {
        case (_, .null): return .null
        case (.string, .text), (.uri, .text): return value
        case (.transformable, .text(let text)): return text.isEmpty ? nil : value
        case (_, .text(let text)): return self.value(fromText: text)
        case (.date, .integer): return value
        case (_, .integer(let number)): return self.value(fromInteger: number)
        case (_, .double(let number)): return self.value(fromDouble: number)
        case (.uuid, .blob(let bytes)): return bytes.count == 16 ? value : nil
        case (.binary, .blob): return value
        case (_, .blob): return nil
        }
    }
}
