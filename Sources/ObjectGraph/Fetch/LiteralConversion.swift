extension AttributeType {
    /// Returns the stored form of a value that a program gives, or nil where it is none of the type.
    ///
    /// Texts are read as in a model file, so `"2026-01-02"` is a date and `"12.50"` a decimal; numbers are converted
    /// where nothing is lost.
    func value(of content: Literal.Content) -> Value? {
        switch content {
        case .null: return .null
        case .stored(let value): return self.value(stored: value)
        case .text(let text): return value(fromText: text)
        case .boolean(let flag): return self == .boolean ? .integer(flag ? 1 : 0) : nil
        case .number(let text):
            if self == .boolean { return text == "0" || text == "1" ? .integer(text == "1" ? 1 : 0) : nil }
            guard isNumeric else { return nil }
            return value(fromText: text) ?? (self == .decimal ? nil : Double(text).flatMap(value(fromDouble:)))
        case .date(let microseconds): return self == .date ? .integer(microseconds) : nil
        case .uuid(let bytes):
            if self == .uuid { return .blob(bytes) }
            return self == .string ? UUIDText.text(bytes).map { .text($0) } : nil
        case .binary(let bytes): return self == .binary || self == .uuid && bytes.count == 16 ? .blob(bytes) : nil
        }
    }

    /// Returns the stored form of a value that is in one already, or nearly so.
    private func value(stored value: Value) -> Value? {
        switch (self, value) {
        case (.date, .integer): value
        case (_, .null): .null
        case (_, .integer(let number)): self.value(fromInteger: number)
        case (_, .double(let number)): self.value(fromDouble: number)
        case (_, .text(let text)): self.value(of: .text(text))
        case (_, .blob(let bytes)): self.value(of: .binary(bytes))
        }
    }

    /// Returns the stored form of what a property is given, or nil where it is none of the type.
    func value(given value: (any PropertyValue)?) -> Value? {
        guard let value else { return .null }
        guard case .literal(let literal) = value.predicateExpression else { return nil }
        return self.value(of: literal.content)
    }
}

/// Brings a value as written in a predicate into the form that it is compared in.
enum LiteralConversion {
    /// Returns the stored form, or nil where the type has none.
    static func value(_ content: Literal.Content, as type: AttributeType) -> Value? {
        // A condition may look for any text in JSON, not for whole JSON only.
        if case .text(let text) = content { return type == .transformable ? .text(text) : type.value(fromText: text) }
        if let value = type.value(of: content) { return value }
        // A whole number compares with a fraction, and with one that its type has no room for.
        guard case .number(let text) = content, type.isNumeric, type != .decimal else { return nil }
        return number(text)
    }

    private static func number(_ text: String) -> Value? {
        if let whole = Int64(text) { return .integer(whole) }
        return Double(text).flatMap { $0.isFinite ? .double($0) : nil }
    }

    /// Returns the value with the type that it has by itself.
    static func natural(_ content: Literal.Content) -> TypedExpression? {
        switch content {
        case .null, .stored(.null): return nil
        case .stored(let value): return natural(Literal.Content(value, .string))
        case .boolean(let flag): return TypedExpression(node: .value(.integer(flag ? 1 : 0)), type: .value(.boolean))
        case .number(let text):
            if let whole = Int64(text) {
                return TypedExpression(node: .value(.integer(whole)), type: .value(.integer64))
            }
            guard let number = Double(text), number.isFinite else { return nil }
            return TypedExpression(node: .value(.double(number)), type: .value(.double))
        case .text(let text): return TypedExpression(node: .value(.text(text)), type: .value(.string))
        case .date(let time): return TypedExpression(node: .value(.integer(time)), type: .value(.date))
        case .uuid(let bytes): return TypedExpression(node: .value(.blob(bytes)), type: .value(.uuid))
        case .binary(let bytes): return TypedExpression(node: .value(.blob(bytes)), type: .value(.binary))
        }
    }
}
