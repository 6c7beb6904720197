import AvroFormat
import GraphCore

/// Turns the values of a Kafka Connect struct into the stored form of attributes, by what their schema says.
package struct ConnectValues {
    private let nested: JSONParser

    /// Makes a converter; `depthLimit` and `maximumBytes` bound JSON inside texts.
    package init(depthLimit: Int, maximumBytes: Int) {
        nested = JSONParser(depthLimit: depthLimit, maximumBytes: maximumBytes)
    }

    /// Returns the text that a value of a logical type means, or nil where it means none.
    package func text(_ json: JSONValue, _ type: LogicalType) -> String? {
        if case .text(let text)? = value(json, type, for: .string, ValueDecoding()) { text } else { nil }
    }

    /// Returns the stored form of a value, or nil where it does not fit.
    func value(
        _ json: JSONValue, _ logical: LogicalType, for type: AttributeType, _ values: ValueDecoding
    ) -> Value? {
        if json.isNull { return .null }
        switch logical {
        case .plain: return values.value(json, for: type)
        case .bytes:
            switch type {
            case .binary, .string, .uri, .transformable: return values.value(json, for: type)
            default: return nil
            }
        case .instant(let unit):
            guard type == .date || type == .string else { return values.value(json, for: type) }
            return json.int64.flatMap(unit.microseconds).flatMap { Self.instant($0, for: type) }
        case .instantText:
            guard type == .date else { return values.value(json, for: type) }
            return json.utf8.flatMap { Timestamp.microseconds(utf8: $0) }.map { .integer($0) }
        case .timeOfDay(let unit):
            // A time of day is no instant: as a date it would be one of 1970.
            if type == .date { return nil }
            guard type == .string else { return values.value(json, for: type) }
            return json.int64.flatMap(unit.timeOfDay).map { .text($0) }
        case .decimal where json.kind != .string || type != .binary, .scaledDecimal where json.member("scale") != nil:
            return Self.text(json, logical).flatMap { Self.number($0, for: type) }
        case .decimal, .scaledDecimal: return values.value(json, for: type)
        case .json: return type == .transformable ? parsed(json) : values.value(json, for: type)
        }
    }

    /// Returns the text of a string, a number or a value with a schema.
    ///
    /// It is nil for all else, and where a value does not fit its schema.
    static func text(_ json: JSONValue, _ schema: JSONValue?) -> String? {
        let logical = schema.map { LogicalType($0) } ?? .plain
        if let text = text(json, logical) { return text }
        if logical.governs(json), logical != .bytes { return nil }
        return json.string ?? json.numberText
    }

    /// Returns the text that a value stands for in an expression, or nil where its schema says no more than JSON.
    static func text(_ json: JSONValue, _ logical: LogicalType) -> String? {
        switch logical {
        case .plain, .bytes, .instantText, .json: return nil
        case .instant(let unit): return json.int64.flatMap(unit.microseconds).map { Timestamp.text($0) }
        case .timeOfDay(let unit): return json.int64.flatMap(unit.timeOfDay)
        case .decimal(let scale):
            // Kafka Connect's converter writes numbers where `decimal.format` is NUMERIC.
            guard let text = json.string else { return json.numberText.flatMap(DecimalText.canonical) }
            return decimal(text, scale: scale)
        case .scaledDecimal:
            guard let text = json.member("value")?.string, let scale = json.member("scale")?.int64 else { return nil }
            return Int(exactly: scale).flatMap { decimal(text, scale: $0) }
        }
    }

    static func instant(_ microseconds: Int64, for type: AttributeType) -> Value? {
        switch type {
        case .date: .integer(microseconds)
        case .string: .text(Timestamp.text(microseconds))
        default: nil
        }
    }

    /// A text that holds JSON is that JSON to an attribute of JSON; one that holds something else does not fit.
    private func parsed(_ json: JSONValue) -> Value? {
        guard let text = json.utf8, let root = try? nested.parse(UnsafeRawBufferPointer(text)).root else { return nil }
        return .text(String(decoding: root.serialized(), as: UTF8.self))
    }

    private static func number(_ text: String, for type: AttributeType) -> Value? {
        switch type {
        case .decimal, .string, .transformable: .text(text)
        case .integer16, .integer32, .integer64, .double, .float: type.value(fromText: text)
        default: nil
        }
    }

    /// Returns the canonical text of a number that is given as base64 of its unscaled value. Returns nil where the text
    /// is no number, or has more digits than a decimal keeps exactly.
    static func decimal(_ base64: String, scale: Int) -> String? {
        guard let bytes = Base64Text.bytes(base64), !bytes.isEmpty, bytes.count <= AvroText.largestDecimalBytes,
            (-AvroText.largestScale...AvroText.largestScale).contains(scale)
        else { return nil }
        return DecimalText.canonical(AvroText.shortDecimal(bytes[...], scale: scale))
    }
}

extension LogicalType {
    /// The form of a date by the schema, for messages; nil where the schema does not state one.
    func expectation(_ type: AttributeType) -> String? {
        guard type == .date, case .instant(let unit) = self else { return nil }
        return "a number of \(unit) since 1970 in the years 1 to 9999, by its schema"
    }
}
