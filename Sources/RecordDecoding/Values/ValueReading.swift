import GraphCore

/// How a value is read where it is not written as its property's type says.
enum ValueReading: Sendable {
    case form(RouteConfiguration.ValueForm)
    case pattern(DatePattern)

    /// Tells whether such values can become values of a type.
    func canBecome(_ type: AttributeType) -> Bool {
        switch self {
        case .form(let form): form.canBecome(type)
        case .pattern: type == .date || type == .string
        }
    }

    /// Returns the stored form of a value, or nil where it is of another form or does not fit.
    func value(_ json: JSONValue, for type: AttributeType) -> Value? {
        switch self {
        case .form(let form): form.value(json, for: type)
        case .pattern(let pattern):
            json.utf8.flatMap { pattern.microseconds(utf8: $0) }.flatMap { ConnectValues.instant($0, for: type) }
        }
    }

    /// Returns the stored form of a text, or nil where it does not fit.
    func value(text: String, for type: AttributeType) -> Value? {
        switch self {
        case .form(let form): form.value(text: text, for: type)
        case .pattern(let pattern): pattern.microseconds(text).flatMap { ConnectValues.instant($0, for: type) }
        }
    }

    /// Whether texts hold JSON, which a parser reads.
    var isJSON: Bool { if case .form(.json) = self { true } else { false } }

    /// The form as the configuration spells it.
    var name: String {
        switch self {
        case .form(let form): form.rawValue
        case .pattern(let pattern): pattern.text
        }
    }

    /// The values that a type takes in this form, as messages name them.
    func expectation(_ type: AttributeType) -> String {
        switch self {
        case .form(.json): "JSON, or a text that holds JSON"
        case .form(.text): "\(type.expectation), written as text"
        case .form(.number): "a number, or \(type.expectation)"
        case .form(.boolean): "true or false, or \(type.expectation)"
        case .form(.iso8601): AttributeType.date.expectation
        case .form(let form): "a number of \(form.rawValue) since 1970"
        case .pattern(let pattern): "a date of the form \(pattern.text)"
        }
    }
}

/// The rules of a topic, a file or a route about values besides their types; nil in most decoders.
final class ValueRules: Sendable {
    /// The texts that stand for null.
    let nulls: [[UInt8]]
    /// The form of dates that are texts, where it is not ISO 8601.
    let dates: DatePattern?

    init?(nulls: [String], dates: DatePattern?) {
        if nulls.isEmpty, dates == nil { return nil }
        self.nulls = nulls.map { Array($0.utf8) }
        self.dates = dates
    }

    func isNull(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let bytes = UnsafeRawBufferPointer(bytes)
        return nulls.contains { null in null.withUnsafeBytes { bytes.hasSameBytes(as: $0) } }
    }
}

extension TimeUnit {
    /// Reads a count as text, with a fraction or without: `1704200000.000200`. Nil where it is none or does not fit.
    package func microseconds(utf8 bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        var position = 0
        let isNegative = bytes.first == UInt8(ascii: "-")
        if isNegative { position = 1 }
        var whole: Int64 = 0
        let first = position
        while position < bytes.count, (0x30...0x39).contains(bytes[position]) {
            let (product, isTooLarge) = whole.multipliedReportingOverflow(by: 10)
            let (sum, overflows) = product.addingReportingOverflow(Int64(bytes[position] - 0x30))
            if isTooLarge || overflows { return nil }
            whole = sum
            position += 1
        }
        guard position > first, let count = microseconds(isNegative ? -whole : whole) else { return nil }
        if position == bytes.count { return count }
        guard bytes[position] == UInt8(ascii: "."), position + 1 < bytes.count, let unit = microseconds(1) else {
            return nil
        }
        var fraction: Int64 = 0
        var share = unit
        for byte in bytes[(position + 1)...] {
            guard (0x30...0x39).contains(byte) else { return nil }
            // A day has 864 hundreds of millions: its tenths stay whole long enough for a microsecond.
            share /= 10
            fraction += Int64(byte - 0x30) * share
        }
        return isNegative ? count - fraction : count + fraction
    }

    /// Reads a number that is written with a fraction or an exponent, rounded to microseconds.
    func microseconds(ofNumber json: JSONValue) -> Int64? {
        guard let number = json.double, let unit = microseconds(1) else { return nil }
        let count = (number * Double(unit)).rounded()
        // Beyond 2^53 microseconds a double leaves some out.
        if unit > 0, abs(count) < 0x1p53 { return Int64(exactly: count) }
        return json.wholeNumber.flatMap { microseconds($0) } ?? json.writtenDouble.flatMap { microseconds(utf8: $0) }
    }
}
