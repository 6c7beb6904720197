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
    /// Makes the stored form of a date, the nearest microsecond; a date beyond what the store has is no date.
    public init(_ date: Date) {
        let microseconds = (date.timeIntervalSince1970 * 1_000_000).rounded()
        self = Int64(exactly: microseconds).map { .integer($0) } ?? .double(microseconds)
    }

    /// Makes the stored form of a uuid.
    public init(_ uuid: UUID) { self = .blob(withUnsafeBytes(of: uuid.uuid) { [UInt8]($0) }) }

    /// Makes the stored form of a boolean.
    public init(_ isTrue: Bool) { self = .integer(isTrue ? 1 : 0) }

    /// Returns the date, or nil where the value is no whole number.
    public var date: Date? { integer.map { Date(timeIntervalSince1970: Double($0) / 1_000_000) } }
}

extension Value: CustomStringConvertible {
    /// The value as people read it, as far as it is known without its type: bytes as hexadecimal digits.
    ///
    /// Objects, rows and snapshots know the types: their descriptions have dates as ISO-8601, uuids with hyphens.
    public var description: String {
        switch self {
        case .null: "null"
        case .integer(let number): String(number)
        case .double(let number): "\(number)"
        case .text(let text): text
        case .blob(let bytes): bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
    }
}
