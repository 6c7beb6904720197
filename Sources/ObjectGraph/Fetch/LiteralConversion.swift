/// Brings a value as written into the stored form of a type.
enum LiteralConversion {
    /// Returns the stored form, or nil where the type has none.
    static func value(_ content: Literal.Content, as type: AttributeType) -> Value? {
        switch content {
        case .null: return .null
        case .text(let text): return type.value(fromText: text)
        case .boolean(let flag): return type == .boolean ? .integer(flag ? 1 : 0) : nil
        case .number(let text):
            if type == .boolean { return text == "0" || text == "1" ? .integer(text == "1" ? 1 : 0) : nil }
            guard type.isNumeric else { return nil }
            // A whole number compares with a fraction, and with one that its type has no room for.
            return type.value(fromText: text) ?? (type == .decimal ? nil : number(text))
        case .date(let microseconds): return type == .date ? .integer(microseconds) : nil
        case .uuid(let bytes):
            if type == .uuid { return .blob(bytes) }
            return type == .string ? UUIDText.text(bytes).map { .text($0) } : nil
        case .binary(let bytes): return type == .binary || type == .uuid && bytes.count == 16 ? .blob(bytes) : nil
        }
    }

    private static func number(_ text: String) -> Value? {
        if let whole = Int64(text) { return .integer(whole) }
        return Double(text).flatMap { $0.isFinite ? .double($0) : nil }
    }

    /// Returns the value with the type that it has by itself.
    static func natural(_ content: Literal.Content) -> TypedExpression? {
        switch content {
        case .null: return nil
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
