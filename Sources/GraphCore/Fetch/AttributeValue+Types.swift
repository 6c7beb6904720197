import Foundation

extension String: AttributeValue {
    /// Texts; URIs as they are, JSON as it is.
    public static var attributeTypes: [AttributeType] { [.string, .uri, .transformable] }
    /// The empty text.
    public static var placeholder: String { "" }
    /// A text.
    public static var sample: String { "sample" }

    /// Makes the value from its stored form.
    public init?(storedValue: Value) {
        guard let text = storedValue.text else { return nil }
        self = text
    }

    /// The value in stored form.
    public var storedValue: Value { .text(self) }
}

extension Bool: AttributeValue {
    /// Booleans.
    public static var attributeTypes: [AttributeType] { [.boolean] }
    /// False.
    public static var placeholder: Bool { false }
    /// True.
    public static var sample: Bool { true }

    /// Makes the value from its stored form.
    public init?(storedValue: Value) {
        guard let number = storedValue.integer else { return nil }
        self = number != 0
    }

    /// The value in stored form.
    public var storedValue: Value { Value(self) }
}

extension AttributeValue where Self: FixedWidthInteger {
    /// Whole numbers; setting an attribute refuses a number outside of its range.
    public static var attributeTypes: [AttributeType] { [.integer64, .integer32, .integer16] }
    /// Zero.
    public static var placeholder: Self { 0 }
    /// A number.
    public static var sample: Self { 63 }

    /// Makes the value from its stored form.
    public init?(storedValue: Value) {
        guard let number = storedValue.integer else { return nil }
        self.init(exactly: number)
    }

    /// The value in stored form; its digits if it exceeds 64 bits with a sign, which no attribute accepts.
    public var storedValue: Value { Int64(exactly: self).map { .integer($0) } ?? .text(String(self)) }
}

extension Int: AttributeValue {
    /// A number.
    public static var sample: Int { 23_063 }
}

extension Int64: AttributeValue {
    /// A number.
    public static var sample: Int64 { 23_063 }
}

extension Int32: AttributeValue {
    /// Whole numbers of 32 or 16 bits.
    public static var attributeTypes: [AttributeType] { [.integer32, .integer16] }
    /// A number.
    public static var sample: Int32 { 23_063 }
}

extension Int16: AttributeValue {
    /// Whole numbers of 16 bits.
    public static var attributeTypes: [AttributeType] { [.integer16] }
    /// A number.
    public static var sample: Int16 { 23_063 }
}

extension Int8: AttributeValue {
    /// Whole numbers of 16 bits.
    public static var attributeTypes: [AttributeType] { [.integer16] }
}

extension UInt: AttributeValue {}
extension UInt64: AttributeValue {}
extension UInt32: AttributeValue {}

extension UInt16: AttributeValue {
    /// Whole numbers of 32 or 16 bits.
    public static var attributeTypes: [AttributeType] { [.integer32, .integer16] }
}

extension Double: AttributeValue {
    /// Numbers.
    public static var attributeTypes: [AttributeType] { [.double, .float] }
    /// Zero.
    public static var placeholder: Double { 0 }
    /// A number.
    public static var sample: Double { 0.7265625 }

    /// Makes the value from its stored form.
    public init?(storedValue: Value) {
        guard let number = storedValue.number else { return nil }
        self = number
    }

    /// The value in stored form.
    public var storedValue: Value { .double(self + 0) }
}

extension Float: AttributeValue {
    /// Numbers of 32 bits.
    public static var attributeTypes: [AttributeType] { [.float] }
    /// Zero.
    public static var placeholder: Float { 0 }
    /// A number.
    public static var sample: Float { 0.7265625 }

    /// Makes the value from its stored form.
    public init?(storedValue: Value) {
        guard let number = storedValue.number else { return nil }
        self = Float(number)
    }

    /// The value in stored form.
    public var storedValue: Value { .double(Double(self) + 0) }
}

extension Decimal: AttributeValue {
    /// Decimal numbers, with all their digits.
    public static var attributeTypes: [AttributeType] { [.decimal] }
    /// Zero.
    public static var placeholder: Decimal { 0 }
    /// A number.
    public static var sample: Decimal { Decimal(sign: .plus, exponent: -2, significand: 23_063) }

    /// Makes the value from its stored form.
    public init?(storedValue: Value) {
        guard let number = storedValue.text.flatMap({ DecimalText.number($0) }) else { return nil }
        self = number
    }

    /// The value in stored form.
    public var storedValue: Value { .text(DecimalText.text(self)) }
}

extension UUID: AttributeValue {
    /// UUIDs.
    public static var attributeTypes: [AttributeType] { [.uuid] }
    /// The nil UUID.
    public static var placeholder: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
    /// A UUID.
    public static var sample: UUID { UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)) }

    /// Makes the value from its stored form.
    public init?(storedValue: Value) {
        guard case .blob(let bytes) = storedValue, let uuid = UUIDText.text(bytes).flatMap({ UUID(uuidString: $0) })
        else {
            return nil
        }
        self = uuid
    }

    /// The value in stored form.
    public var storedValue: Value { Value(self) }
}

extension URL: AttributeValue {
    /// URIs.
    public static var attributeTypes: [AttributeType] { [.uri] }
    /// The root of the file system.
    public static var placeholder: URL { URL(fileURLWithPath: "/") }
    /// A file.
    public static var sample: URL { URL(fileURLWithPath: "/sample") }

    /// Makes the value from its stored form.
    public init?(storedValue: Value) {
        guard let url = storedValue.text.flatMap({ URL(string: $0) }) else { return nil }
        self = url
    }

    /// The value in stored form.
    public var storedValue: Value { .text(absoluteString) }
}

extension Data: AttributeValue {
    /// Bytes.
    public static var attributeTypes: [AttributeType] { [.binary] }
    /// No bytes.
    public static var placeholder: Data { Data() }
    /// Two bytes.
    public static var sample: Data { Data([23, 63]) }

    /// Makes the value from its stored form.
    public init?(storedValue: Value) {
        guard case .blob(let bytes) = storedValue else { return nil }
        self.init(bytes)
    }

    /// The value in stored form.
    public var storedValue: Value { .blob([UInt8](self)) }
}

extension Array: AttributeValue where Element == UInt8 {
    /// Bytes.
    public static var attributeTypes: [AttributeType] { [.binary] }
    /// No bytes.
    public static var placeholder: [UInt8] { [] }
    /// Two bytes.
    public static var sample: [UInt8] { [23, 63] }

    /// Makes the value from its stored form.
    public init?(storedValue: Value) {
        guard case .blob(let bytes) = storedValue else { return nil }
        self = bytes
    }

    /// The value in stored form.
    public var storedValue: Value { .blob(self) }
}

extension Date: AttributeValue {
    /// Dates.
    public static var attributeTypes: [AttributeType] { [.date] }
    /// The beginning of 1970 UTC.
    public static var placeholder: Date { Date(timeIntervalSince1970: 0) }
    /// A date.
    public static var sample: Date { Date(timeIntervalSince1970: 23_063) }

    /// Makes the date from its microseconds since 1970 UTC.
    public init?(storedValue: Value) {
        guard let date = storedValue.date else { return nil }
        self = date
    }

    /// The nearest microsecond, so that reading and writing a date does not change it.
    public var storedValue: Value { Value(self) }
}
