extension AttributeType {
    /// Returns the stored form of a program's value, or nil if the value does not fit the type.
    ///
    /// Texts have the syntax of a model file, so `"2026-01-02"` is a date and `"12.50"` a decimal. Numbers are converted
    /// if the conversion is exact.
    package func value(of content: Literal.Content) -> Value? {
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

    /// Returns the stored form of a value that is already in stored form, or in a related one.
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

    /// Returns the stored form of a property's new value, or nil if the value does not fit the type.
    package func value(given value: (any PropertyValue)?) -> Value? {
        guard let value else { return .null }
        guard case .literal(let literal) = value.predicateExpression else { return nil }
        return self.value(of: literal.content)
    }
}

/// Converts a literal of a predicate to the form of the other side.
enum LiteralConversion {
    /// Returns the stored form, or nil if the type has none.
    static func value(_ content: Literal.Content, as type: AttributeType) -> Value? {
        // A condition may search JSON for any text, not only for a whole JSON value.
        if case .text(let text) = content { return type == .transformable ? .text(text) : type.value(fromText: text) }
        if let value = type.value(of: content) { return value }
        // A whole number may be compared with a fraction, and with a number outside of its type.
        guard case .number(let text) = content, type.isNumeric, type != .decimal else { return nil }
        return number(text)
    }

    private static func number(_ text: String) -> Value? {
        if let whole = Int64(text) { return .integer(whole) }
        return Double(text).flatMap { $0.isFinite ? .double($0) : nil }
    }

    /// Returns the value with its own type.
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
