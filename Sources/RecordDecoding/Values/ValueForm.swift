import GraphCore

extension RouteConfiguration.ValueForm {
    /// The unit of a form that counts time, or nil.
    package var unit: TimeUnit? {
        switch self {
        case .days: .days
        case .seconds: .seconds
        case .milliseconds: .milliseconds
        case .microseconds: .microseconds
        case .nanoseconds: .nanoseconds
        case .text, .number, .boolean, .json, .iso8601: nil
        }
    }

    /// Tells whether values of this form can become values of a type.
    func canBecome(_ type: AttributeType) -> Bool {
        switch self {
        case .text: type != .transformable
        case .number: type == .string || type == .uri || type == .boolean || type.isNumeric
        case .boolean: type == .string || type == .boolean || type.isNumeric
        case .json: type == .transformable
        case .iso8601, .days, .seconds, .milliseconds, .microseconds, .nanoseconds: type == .date || type == .string
        }
    }

    /// Returns the stored form of a value of this form, or nil where it is of another form or does not fit.
    func value(_ json: JSONValue, for type: AttributeType) -> Value? {
        if let unit {
            return Self.instant(json, unit).flatMap { ConnectValues.instant($0, for: type) }
        }
        switch self {
        case .text: return json.string.flatMap { $0.utf8.contains(0) ? nil : type.value(fromText: $0) }
        case .number:
            guard type == .string || type == .uri else { return json.wholeNumber.flatMap(type.value(fromInteger:)) }
            return json.numberText.map { .text($0) }
        case .boolean:
            guard let flag = json.bool else { return nil }
            return type == .string ? .text(flag ? "true" : "false") : type.value(fromInteger: flag ? 1 : 0)
        case .json: return nil
        default:
            return json.utf8.flatMap { Timestamp.microseconds(utf8: $0) }
                .flatMap { ConnectValues.instant($0, for: type) }
        }
    }

    /// Returns the stored form of a CSV field, or nil where it does not fit.
    func value(text: String, for type: AttributeType) -> Value? {
        guard let unit else { return type.value(fromText: text) }
        var text = text
        return text.withUTF8 { unit.microseconds(utf8: $0) }.flatMap { ConnectValues.instant($0, for: type) }
    }

    /// Returns the instant that a count means, written as a number or as text, with a fraction or without.
    private static func instant(_ json: JSONValue, _ unit: TimeUnit) -> Int64? {
        switch json.kind {
        case .integer: json.int64.flatMap { unit.microseconds($0) }
        case .double: unit.microseconds(ofNumber: json)
        case .string: json.utf8.flatMap { unit.microseconds(utf8: $0) }
        default: nil
        }
    }
}
