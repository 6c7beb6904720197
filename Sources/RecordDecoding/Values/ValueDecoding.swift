import GraphCore

/// Turns JSON values into the stored form of attributes.
struct ValueDecoding {
    /// The unit in which dates are written.
    var dates = RouteConfiguration.DateFormat.iso8601
    /// The further rules of a topic, a file or a route; nil in most decoders.
    var rules: ValueRules?
    /// Whether a text may stand where a number is wanted, as programs hand on what a double does not hold.
    var takesNumberTexts = false
    /// Whether a text may stand for each type, as in the fields of a CSV file; an empty one is null.
    var takesTexts = false

    /// Tells whether a value is null, or a text that stands for it.
    func isNull(_ json: JSONValue) -> Bool {
        if let rules, let text = json.utf8 { return rules.isNull(text) }
        return json.isNull
    }

    /// Returns the stored form of a value, or nil where it is of the wrong kind.
    ///
    /// - Parameter texts: the texts of values that come again and again.
    func value(_ json: JSONValue, for type: AttributeType, _ texts: TextCache? = nil) -> Value? {
        switch json.kind {
        case .null: .null
        case .string: json.utf8.flatMap { value(utf8: $0, for: type, texts) }
        case .integer: json.int64.flatMap { value(integer: $0, for: type) }
        case .unsignedInteger: json.uint64.flatMap { value(unsigned: $0, for: type) }
        case .double: value(double: json, for: type)
        case .boolean: value(boolean: json.bool ?? false, for: type)
        case .object, .array: type == .transformable ? serialized(json) : nil
        }
    }

    private func value(
        utf8 bytes: UnsafeBufferPointer<UInt8>, for type: AttributeType, _ texts: TextCache?
    ) -> Value? {
        if let rules, rules.isNull(bytes) { return .null }
        if takesTexts, type != .string, bytes.isEmpty { return .null }
        switch type {
        case .string, .uri:
            // NUL ends a text for most readers of a store.
            if UnsafeRawBufferPointer(bytes).hasNUL { return nil }
            return .text(texts?.text(bytes) ?? JSONValue.text(bytes))
        case .date:
            return instant(utf8: bytes).map { .integer($0) }
        case .uuid: return UUIDText.bytes(utf8: bytes).map { .blob($0) }
        case .decimal: return DecimalText.canonical(JSONValue.text(bytes)).map { .text($0) }
        case .binary: return Base64Text.bytes(JSONValue.text(bytes)).map { .blob($0) }
        case .transformable where !takesTexts: return .text(JSONText.string(JSONValue.text(bytes)))
        case .transformable, .integer16, .integer32, .integer64, .double, .float, .boolean:
            guard takesTexts || takesNumberTexts && type.isNumeric else { return nil }
            return type.value(fromText: JSONValue.text(bytes))
        }
    }

    private func value(integer number: Int64, for type: AttributeType) -> Value? {
        switch type {
        case .date: date(number)
        case .boolean: nil
        case .transformable: .text(String(number))
        default: type.value(fromInteger: number)
        }
    }

    /// Returns the value of a number beyond 64 bits with a sign. Only types that keep every digit take it exactly.
    private func value(unsigned number: UInt64, for type: AttributeType) -> Value? {
        switch type {
        case .decimal, .transformable: .text(String(number))
        case .double, .float: type.value(fromDouble: Double(number))
        default: nil
        }
    }

    /// A number with a fraction or an exponent, or beyond 64 bits; only doubles and floats may lose digits of it.
    private func value(double json: JSONValue, for type: AttributeType) -> Value? {
        switch type {
        case .date: dates.unit.flatMap { $0.microseconds(ofNumber: json) }.map { .integer($0) }
        case .transformable: serialized(json)
        case .decimal: json.writtenDouble.flatMap { DecimalText.canonical(JSONValue.text($0)) }.map { .text($0) }
        case .double, .float: json.double.flatMap { type.value(fromDouble: $0) }
        case .integer16, .integer32, .integer64: json.wholeNumber.flatMap { type.value(fromInteger: $0) }
        default: nil
        }
    }

    private func value(boolean flag: Bool, for type: AttributeType) -> Value? {
        switch type {
        case .boolean: .integer(flag ? 1 : 0)
        case .transformable: .text(flag ? "true" : "false")
        default: nil
        }
    }

    /// Returns the instant that a number of the unit means, or nil where it does not fit.
    func date(_ number: Int64) -> Value? {
        dates.unit.flatMap { $0.microseconds(number) }.map { .integer($0) }
    }

    /// Returns the instant that a text means in the form that dates have, or nil where it has another.
    private func instant(utf8 bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        if let pattern = rules?.dates { return pattern.microseconds(utf8: bytes) }
        if let unit = dates.unit { return unit.microseconds(utf8: bytes) }
        return Timestamp.microseconds(utf8: bytes)
    }

    /// Returns the stored form of a text that is not JSON, such as a CSV field; nil where it does not fit.
    func value(text: String, for type: AttributeType) -> Value? {
        var text = text
        if let rules, text.withUTF8({ rules.isNull($0) }) { return .null }
        guard type == .date, dates != .iso8601 || rules?.dates != nil else { return type.value(fromText: text) }
        return text.withUTF8 { instant(utf8: $0) }.map { .integer($0) }
    }

    private func serialized(_ json: JSONValue) -> Value {
        var bytes: [UInt8] = []
        json.serialize(into: &bytes)
        return .text(String(decoding: bytes, as: UTF8.self))
    }

    /// The remedy for times of another form or unit.
    ///
    /// - Parameter number: the time, where it is a number.
    func datesRemedy(for number: Double?) -> String? {
        if rules?.dates != nil { return nil }
        guard let unit = dates.unit else {
            return
                "State the form with 'dates' of the route: seconds, milliseconds, microseconds, nanoseconds, or a form "
                + "such as dd.MM.yyyy HH:mm"
        }
        guard let number, let likely = TimeUnit.likely(for: number), likely != unit else { return nil }
        return "By its size it counts \(likely): set 'dates: \(likely)'"
    }

    /// Returns the form of a type's values in an event, for messages.
    func expectation(_ type: AttributeType) -> String {
        switch type {
        case .string, .uri: "\(type.expectation) without NUL characters"
        case .date where rules?.dates != nil: "a date of the form \(rules?.dates?.text ?? "")"
        case .date where dates != .iso8601: "a number of \(dates.rawValue) since 1970"
        default: type.expectation
        }
    }
}

extension RouteConfiguration.DateFormat {
    /// The unit of dates that are counts, or nil.
    var unit: TimeUnit? {
        switch self {
        case .iso8601: nil
        case .seconds: .seconds
        case .milliseconds: .milliseconds
        case .microseconds: .microseconds
        case .nanoseconds: .nanoseconds
        }
    }
}
