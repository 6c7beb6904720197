import GraphCore

/// A value as a record or a condition states it.
enum RecordScalar: Sendable, Equatable {
    case null
    case boolean(Bool)
    case integer(Int64)
    /// A number with as many digits as a double keeps.
    case number(Double)
    /// Any other number.
    case exact(DecimalDigits)
    /// A time that a schema states, in microseconds since 1970 UTC.
    case instant(Int64)
    /// A text of a record, which may be a number: decimals are written so.
    case text(String)
    /// A text of a condition, or bytes as base64: no number, even where it looks like one.
    case literal(String)
    /// An object or an array, or a value that has not the form of its schema: equal to nothing.
    case composite

    /// Reads a number of a condition.
    init(number text: String) {
        if let whole = Int64(text) {
            self = .integer(whole)
        } else if let digits = DecimalDigits(text.utf8) {
            let number = Double(text) ?? .nan
            self = digits == DecimalDigits("\(number)".utf8) ? .number(number) : .exact(digits)
        } else {
            self = .number(.nan)
        }
    }

    /// Reads a value of a record by its schema, so that its wire form does not count.
    init(_ json: JSONValue, _ logical: LogicalType) {
        if json.isNull || logical == .plain {
            self.init(json)
            return
        }
        switch logical {
        case .instant(let unit) where json.kind != .string:
            self = json.wholeNumber.flatMap(unit.microseconds).map { .instant($0) } ?? .composite
        case .instant, .instantText:
            self = json.utf8.flatMap { Timestamp.microseconds(utf8: $0) }.map { .instant($0) } ?? Self(json)
        case .decimal, .scaledDecimal:
            let digits = ConnectValues.text(json, logical).flatMap { DecimalDigits($0.utf8) }
            self = digits.map { .exact($0) } ?? .composite
        case .bytes: self = json.string.map { .literal($0) } ?? Self(json)
        default: self = ConnectValues.text(json, logical).map { .text($0) } ?? Self(json)
        }
    }

    private init(_ json: JSONValue) {
        switch json.kind {
        case .null: self = .null
        case .boolean: self = .boolean(json.bool ?? false)
        case .integer: self = .integer(json.int64 ?? 0)
        case .unsignedInteger: self = .init(number: json.numberText ?? "")
        case .double:
            let digits = json.inexactDouble.flatMap { DecimalDigits($0) }
            self = digits.map { .exact($0) } ?? .number(json.double ?? .nan)
        case .string: self = .text(json.string ?? "")
        case .object, .array: self = .composite
        }
    }

    /// The number with the other sign; nil for other values.
    var negated: Self? {
        switch self {
        case .integer(let number): .integer(-number)
        case .number(let number): .number(-number)
        case .exact(let digits): .exact(digits.negated)
        default: nil
        }
    }

    var folded: Self {
        switch self {
        case .text(let text): .text(text.lowercased())
        case .literal(let text): .literal(text.lowercased())
        default: self
        }
    }

    /// The text that comparisons of texts look at.
    var text: String? {
        switch self {
        case .text(let text), .literal(let text): text
        case .instant(let time): Timestamp.text(time)
        default: nil
        }
    }

    // MARK: Comparison

    static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.null, .null): return true
        case (.boolean(let left), .boolean(let right)): return left == right
        case (.integer(let left), .integer(let right)): return left == right
        default:
            if let pair = Self.texts(left, right) { return pair.0.elementsEqual(pair.1) }
            if let pair = Self.instants(left, right) { return pair.0 == pair.1 }
            if let pair = Self.doubles(left, right) { return pair.0 == pair.1 }
            guard let pair = Self.digits(left, right) else { return false }
            return pair.0 == pair.1
        }
    }

    /// Compares, or returns nil where there is no order.
    func isLess(than other: Self) -> Bool? {
        switch (self, other) {
        case (.integer(let left), .integer(let right)): return left < right
        default:
            if let pair = Self.texts(self, other) { return pair.0.lexicographicallyPrecedes(pair.1) }
            if let pair = Self.instants(self, other) { return pair.0 < pair.1 }
            if let pair = Self.doubles(self, other) { return pair.0 < pair.1 }
            return Self.digits(self, other).map { $0.0 < $0.1 }
        }
    }

    private static func texts(_ left: Self, _ right: Self) -> (String.UTF8View, String.UTF8View)? {
        func text(_ value: Self) -> String? {
            switch value {
            case .text(let text), .literal(let text): text
            default: nil
            }
        }
        guard let first = text(left), let second = text(right) else { return nil }
        return (first.utf8, second.utf8)
    }

    /// Two times, of which a schema states one at least.
    private static func instants(_ left: Self, _ right: Self) -> (Int64, Int64)? {
        func time(_ value: Self) -> Int64? {
            switch value {
            case .instant(let time): time
            case .text(let text), .literal(let text): Timestamp.microseconds(text, assumesUTC: true)
            default: nil
            }
        }
        switch (left, right) {
        case (.instant, _), (_, .instant):
            guard let first = time(left), let second = time(right) else { return nil }
            return (first, second)
        default: return nil
        }
    }

    /// Two numbers that doubles hold.
    private static func doubles(_ left: Self, _ right: Self) -> (Double, Double)? {
        func double(_ value: Self) -> Double? {
            switch value {
            case .integer(let number) where number.magnitude <= 1 << 53: Double(number)
            case .number(let number) where !number.isNaN: number
            default: nil
            }
        }
        guard let first = double(left), let second = double(right) else { return nil }
        return (first, second)
    }

    /// Two numbers, of which the record may write one as a text.
    private static func digits(_ left: Self, _ right: Self) -> (DecimalDigits, DecimalDigits)? {
        func digits(_ value: Self) -> DecimalDigits? {
            switch value {
            case .integer(let number): DecimalDigits("\(number)".utf8)
            case .number(let number): DecimalDigits("\(number)".utf8)
            case .exact(let digits): digits
            case .text(let text): DecimalDigits(text.utf8)
            default: nil
            }
        }
        guard let first = digits(left), let second = digits(right) else { return nil }
        return (first, second)
    }
}
