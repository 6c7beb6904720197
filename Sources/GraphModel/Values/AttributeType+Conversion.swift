extension AttributeType {
    /// Returns the stored form of a value written as text (a model's defaults, CSV fields, conditions), or nil.
    public func value(fromText text: String) -> Value? {
        switch self {
        case .string, .uri: .text(text)
        case .transformable: JSONSyntax.isValid(text) ? .text(text) : nil
        case .integer16, .integer32, .integer64:
            // 5.0 is a whole number: some programs write whole numbers so where a column has gaps.
            (Int64(text) ?? DecimalDigits(text.utf8)?.wholeNumber).flatMap(value(fromInteger:))
        case .double, .float: DecimalText.isNumber(text) ? Double(text).flatMap(value(fromDouble:)) : nil
        case .decimal: DecimalText.canonical(text).map { .text($0) }
        case .boolean: Self.boolean(text)
        case .date: Timestamp.microseconds(text).map { .integer($0) }
        case .uuid: UUIDText.bytes(text).map { .blob($0) }
        case .binary: Base64Text.bytes(text).map { .blob($0) }
        }
    }

    /// Returns the stored form of a text that says no more than its value, or nil.
    ///
    /// Leading zeros, a plus, the case of a uuid's letters, a part of a microsecond and digits without room would be lost.
    /// Zeros at the end of a fraction say nothing of a number's value, nor does a date's offset of its instant.
    package func value(keepingText text: String) -> Value? {
        guard let value = value(fromText: text) else { return nil }
        let isKept =
            switch self {
            case .integer16, .integer32, .integer64, .boolean, .uuid, .binary: self.text(of: value) == text
            case .decimal: !DecimalText.isPadded(text)
            case .double: !DecimalText.isPadded(text) && DecimalText.isSame(text, self.text(of: value))
            case .float:
                !DecimalText.isPadded(text) && DecimalText.isSame(text, "\(value.number.map(Float.init) ?? .nan)")
            case .date: Timestamp.keepsTime(of: text)
            case .uri: URIText.isReference(text)
            case .string, .transformable: true
            }
        return isKept ? value : nil
    }

    /// Returns the stored form of a whole number, or nil where the type has no room for it.
    public func value(fromInteger number: Int64) -> Value? {
        if let range = integerRange { return range.contains(number) ? .integer(number) : nil }
        switch self {
        case .double, .float: return .double(Double(number))
        case .decimal: return .text(String(number))
        case .boolean: return number == 0 || number == 1 ? .integer(number) : nil
        default: return nil
        }
    }

    /// Returns the stored form of a number, or nil where the type has no room for it; infinities never fit. A negative zero
    /// is zero, as SQLite stores it.
    public func value(fromDouble number: Double) -> Value? {
        guard number.isFinite else { return nil }
        switch self {
        case .double: return .double(number + 0)
        case .float: return Float(number).isFinite ? .double(Double(Float(number)) + 0) : nil
        case .decimal: return DecimalText.canonical("\(number)").map { .text($0) }
        default:
            // 3.0 is a whole number to every producer that has only one kind of number.
            return Int64(exactly: number).flatMap(value(fromInteger:))
        }
    }

    /// Returns the stored form of a computed number, or null where the type has no room for it. Whole-number types take it
    /// rounded, halves to the even number.
    package func value(ofComputed number: Double) -> Value {
        value(fromDouble: integerRange == nil ? number : number.rounded(.toNearestOrEven)) ?? .null
    }

    private static func boolean(_ text: String) -> Value? {
        switch text.lowercased() {
        case "true", "yes", "t", "1": .integer(1)
        case "false", "no", "f", "0": .integer(0)
        default: nil
        }
    }

    /// Tells whether a value has the stored form of the type.
    package func holds(_ value: Value) -> Bool {
        switch (self, value) {
        case (.string, .text), (.uri, .text), (.date, .integer), (.binary, .blob): true
        case (.transformable, .text(let text)): JSONSyntax.isValid(text)
        case (.decimal, .text(let text)): DecimalText.canonical(text) == text
        case (.boolean, .integer(let number)): number == 0 || number == 1
        case (.uuid, .blob(let bytes)): bytes.count == 16
        case (.double, .double(let number)), (.float, .double(let number)): number.isFinite
        case (_, .integer(let number)): integerRange?.contains(number) ?? false
        default: false
        }
    }

    /// Returns a stored value as people read it: dates as ISO-8601, uuids with hyphens, binary as base64.
    public func text(of value: Value) -> String {
        switch (self, value) {
        case (_, .null): "null"
        case (.date, .integer(let microseconds)): Timestamp.text(microseconds)
        case (.boolean, .integer(let number)): number == 0 ? "false" : "true"
        case (.uuid, .blob(let bytes)): UUIDText.text(bytes) ?? Base64Text.text(bytes)
        case (_, .integer(let number)): String(number)
        case (_, .double(let number)): "\(number)"
        case (_, .text(let text)): text
        case (_, .blob(let bytes)): Base64Text.text(bytes)
        }
    }

    /// The form of the type's values, for messages.
    public var expectation: String {
        switch self {
        case .string: "a text"
        case .uri: "a text holding a URI"
        case .integer16: "a whole number from -32768 to 32767"
        case .integer32: "a whole number of 32 bits"
        case .integer64: "a whole number of 64 bits"
        case .double, .float: "a number"
        case .decimal: "a decimal number of up to 38 digits, such as 12.50"
        case .boolean: "true or false"
        case .date: "a date such as 2026-01-02T03:04:05Z"
        case .uuid: "a UUID"
        case .binary: "base64"
        case .transformable: "JSON"
        }
    }
}
