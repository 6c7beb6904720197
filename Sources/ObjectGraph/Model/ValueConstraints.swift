/// The limits that a model sets on an attribute's values.
///
/// Lengths count Unicode characters for text and bytes for binary values. Bounds are inclusive.
/// A pattern has to match somewhere in the text; anchor it with `^` and `$` to match the whole.
public struct ValueConstraints: Sendable {
    /// The least value of a number or date, in stored form, or null for no limit.
    public var minimum: Value = .null
    /// The greatest value of a number or date, in stored form, or null for no limit.
    public var maximum: Value = .null
    /// The least length, or nil for no limit.
    public var minimumLength: Int?
    /// The greatest length, or nil for no limit.
    public var maximumLength: Int?
    /// The expression that a text has to match, or nil for any text.
    public var pattern: TextPattern?

    /// Tells whether there is nothing to check.
    var isEmpty: Bool {
        minimum.isNull && maximum.isNull && minimumLength == nil && maximumLength == nil && pattern == nil
    }
}

/// A regular expression of a model, compiled once.
public struct TextPattern: @unchecked Sendable {
    /// The expression as the model file states it.
    public let source: String
    // A Regex is immutable; the standard library does not mark it Sendable because of its transform closures,
    // and one made from text has none.
    private let expression: Regex<AnyRegexOutput>

    /// Compiles an expression; throws where its syntax is wrong.
    init(_ source: String) throws {
        self.source = source
        expression = try Regex(source)
    }

    func matches(_ text: String) -> Bool {
        (try? expression.firstMatch(in: text)) != nil
    }
}

/// A rule of the model that a value or an object breaks, with the code that Core Data gives it.
///
/// Source of the codes: CoreDataErrors.h.
public struct ValidationFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// Why a value is refused; the raw value is Core Data's code.
    public enum Reason: Int, Sendable {
        case uniqueness = 1551
        case missingMandatory = 1570
        case tooFewDestinations = 1580
        case tooManyDestinations = 1590
        case deniedDelete = 1600
        case numberTooLarge = 1610
        case numberTooSmall = 1620
        case dateTooLate = 1630
        case dateTooSoon = 1640
        case textTooLong = 1660
        case textTooShort = 1670
        case patternMismatch = 1680
    }

    /// The kind of rule that is broken.
    public let reason: Reason
    /// The name of the object's entity.
    public let entity: String
    /// The name of the attribute or relationship whose rule is broken.
    public let property: String
    /// What is allowed, without the value that broke it.
    public let limit: String

    /// Core Data's code of the failure.
    public var code: Int { reason.rawValue }

    /// The property, what is allowed and the code, without the value that broke it.
    public var description: String {
        "\(entity).\(property) \(limit) (\(code))"
    }
}

extension Attribute {
    /// Checks a value against the attribute's limits; null passes.
    func check(_ value: Value, entity: String) throws(ValidationFailure) {
        if constraints.isEmpty || value.isNull { return }
        try checkRange(value, entity: entity)
        if constraints.minimumLength != nil || constraints.maximumLength != nil {
            try checkLength(value, entity: entity)
        }
        if let pattern = constraints.pattern, let text = value.text, !pattern.matches(text) {
            throw failure(.patternMismatch, entity, "has to match the pattern \(pattern.source)")
        }
    }

    private func failure(_ reason: ValidationFailure.Reason, _ entity: String, _ limit: String) -> ValidationFailure {
        ValidationFailure(reason: reason, entity: entity, property: name, limit: limit)
    }

    private func checkRange(_ value: Value, entity: String) throws(ValidationFailure) {
        let isDate = type == .date
        if !constraints.minimum.isNull, Self.comesBefore(value, constraints.minimum, type) {
            let bound = display(constraints.minimum)
            throw failure(isDate ? .dateTooSoon : .numberTooSmall, entity, "may not be less than \(bound)")
        }
        if !constraints.maximum.isNull, Self.comesBefore(constraints.maximum, value, type) {
            let bound = display(constraints.maximum)
            throw failure(isDate ? .dateTooLate : .numberTooLarge, entity, "may not be more than \(bound)")
        }
    }

    static func comesBefore(_ left: Value, _ right: Value, _ type: AttributeType) -> Bool {
        if type == .decimal, let left = left.text.flatMap(DecimalText.number),
            let right = right.text.flatMap(DecimalText.number)
        {
            return left < right
        }
        return left.isOlder(than: right) ?? false
    }

    private func checkLength(_ value: Value, entity: String) throws(ValidationFailure) {
        let length: Int
        let unit: String
        switch value {
        case .text(let text): (length, unit) = (characterCount(text), "characters")
        case .blob(let bytes): (length, unit) = (bytes.count, "bytes")
        default: return
        }
        if let maximum = constraints.maximumLength, length > maximum {
            throw failure(.textTooLong, entity, "may have at most \(maximum) \(unit), this one has \(length)")
        }
        if let minimum = constraints.minimumLength, length < minimum {
            throw failure(.textTooShort, entity, "needs at least \(minimum) \(unit), this one has \(length)")
        }
    }

    /// Counts characters; the common case, a text whose bytes are already few enough, is not segmented.
    private func characterCount(_ text: String) -> Int {
        let bytes = text.utf8.count
        if constraints.minimumLength == nil, let maximum = constraints.maximumLength, bytes <= maximum { return bytes }
        return text.count
    }
}
