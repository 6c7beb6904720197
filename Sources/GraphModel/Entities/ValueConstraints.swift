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
    package var isEmpty: Bool {
        minimum.isNull && maximum.isNull && minimumLength == nil && maximumLength == nil && pattern == nil
    }
}

extension Attribute {
    /// Tells whether a value of the type may be refused.
    package var hasLimits: Bool { !constraints.isEmpty || type == .uri || type == .date || type == .transformable }

    /// Checks a value against the attribute's type and limits, and reports each that it breaks; null passes.
    package func check(_ value: Value, entity: String, report: (ValidationFailure) -> Void) {
        if !hasLimits || value.isNull { return }
        if type == .date, !Timestamp.isInRange(value) {
            report(failure(.invalidDate, "has to lie in the years 1 to 9999", entity))
        }
        if type == .uri, let text = value.text, !URIText.isReference(text) {
            report(failure(.invalidURI, "has to be a URI or a relative reference", entity))
        }
        if type == .transformable, !type.holds(value) { report(failure(.generic, "has to be JSON", entity)) }
        checkRange(value, entity, report)
        if constraints.minimumLength != nil || constraints.maximumLength != nil { checkLength(value, entity, report) }
        if let pattern = constraints.pattern, let text = value.text, !pattern.matches(text) {
            report(failure(.patternMismatch, "has to match the pattern \(pattern.source)", entity))
        }
    }

    private func failure(_ reason: ValidationFailure.Reason, _ limit: String, _ entity: String) -> ValidationFailure {
        ValidationFailure(reason: reason, entity: entity, property: name, limit: limit)
    }

    /// Checks a value against the attribute's type and limits and throws the first that it breaks.
    package func check(_ value: Value, entity: String) throws(ValidationFailure) {
        var first: ValidationFailure?
        check(value, entity: entity) { if first == nil { first = $0 } }
        if let first { throw first }
    }

    private func checkRange(_ value: Value, _ entity: String, _ report: (ValidationFailure) -> Void) {
        let isDate = type == .date
        if !constraints.minimum.isNull, Self.comesBefore(value, constraints.minimum, type) {
            let limit = "may not be less than \(display(constraints.minimum))"
            report(failure(isDate ? .dateTooSoon : .numberTooSmall, limit, entity))
        }
        if !constraints.maximum.isNull, Self.comesBefore(constraints.maximum, value, type) {
            let limit = "may not be more than \(display(constraints.maximum))"
            report(failure(isDate ? .dateTooLate : .numberTooLarge, limit, entity))
        }
    }

    package static func comesBefore(_ left: Value, _ right: Value, _ type: AttributeType) -> Bool {
        if type == .decimal, let left = left.text.flatMap(DecimalText.number),
            let right = right.text.flatMap(DecimalText.number)
        {
            return left < right
        }
        return left.isOlder(than: right) ?? false
    }

    private func checkLength(_ value: Value, _ entity: String, _ report: (ValidationFailure) -> Void) {
        let length: Int
        let unit: String
        switch value {
        case .text(let text): (length, unit) = (characterCount(text), "character")
        case .blob(let bytes): (length, unit) = (bytes.count, "byte")
        default: return
        }
        if let maximum = constraints.maximumLength, length > maximum {
            report(failure(.textTooLong, "may have at most \(counted(maximum, unit)), this one has \(length)", entity))
        }
        if let minimum = constraints.minimumLength, length < minimum {
            report(failure(.textTooShort, "needs at least \(counted(minimum, unit)), this one has \(length)", entity))
        }
    }

    /// Counts characters; the common case, a text whose bytes are already few enough, is not segmented.
    private func characterCount(_ text: String) -> Int {
        let bytes = text.utf8.count
        if constraints.minimumLength == nil, let maximum = constraints.maximumLength, bytes <= maximum { return bytes }
        return text.count
    }
}
