/// A Swift value that an attribute of a ``TypedObject`` holds, optional or not.
///
/// Enumerations that are `CaseIterable` and have raw values need nothing but the conformance:
///
///     enum Priority: Int, CaseIterable, AttributeValue { case low, high }
public protocol AttributeValue: PropertyValue, Equatable, Sendable {
    /// The types of the attributes that may hold such values; the first is the one that a declaration means.
    static var attributeTypes: [AttributeType] { get }
    /// Tells whether the value may be missing.
    static var isOptional: Bool { get }
    /// What is read where there is no value, as in a placeholder: a nought, an empty text and so on.
    static var placeholder: Self { get }
    /// Another value than ``placeholder``, by which a key path is known to lead to a property and not past it.
    static var sample: Self { get }
    /// Makes the value of its stored form, or nil where it is none of the type.
    init?(storedValue: Value)
    /// The value in stored form.
    var storedValue: Value { get }
}

extension AttributeValue {
    /// Values are there unless their type says otherwise.
    public static var isOptional: Bool { false }
}

extension Optional: AttributeValue where Wrapped: AttributeValue {
    /// Those of the value that may be missing.
    public static var attributeTypes: [AttributeType] { Wrapped.attributeTypes }
    /// True.
    public static var isOptional: Bool { true }
    /// Nil.
    public static var placeholder: Wrapped? { nil }
    /// That of the value that may be missing.
    public static var sample: Wrapped? { .some(Wrapped.sample) }

    /// Makes nil of null, otherwise the value.
    public init?(storedValue: Value) {
        if storedValue.isNull {
            self = .none
        } else if let value = Wrapped(storedValue: storedValue) {
            self = .some(value)
        } else {
            return nil
        }
    }

    /// The value in stored form; null where there is none.
    public var storedValue: Value { self?.storedValue ?? .null }
}

extension AttributeValue where Self: RawRepresentable, RawValue: AttributeValue {
    /// Those of the raw value.
    public static var attributeTypes: [AttributeType] { RawValue.attributeTypes }

    /// Makes the value of the stored form of its raw value.
    public init?(storedValue: Value) {
        guard let raw = RawValue(storedValue: storedValue) else { return nil }
        self.init(rawValue: raw)
    }

    /// The raw value in stored form.
    public var storedValue: Value { rawValue.storedValue }
}

extension AttributeValue where Self: CaseIterable {
    /// The first case.
    public static var placeholder: Self { allCases[allCases.startIndex] }
    /// The last case.
    public static var sample: Self { Array(allCases).last ?? placeholder }
}

extension Literal.Content {
    /// Makes the literal of a stored value.
    init(_ value: Value, _ type: AttributeType) {
        switch (value, type) {
        case (.null, _): self = .null
        case (.integer(let number), .boolean): self = .boolean(number != 0)
        case (.integer(let microseconds), .date): self = .date(microseconds)
        case (.integer(let number), _): self = .number(String(number))
        case (.double(let number), _): self = .number("\(number)")
        case (.text(let text), .decimal): self = .number(text)
        case (.text(let text), _): self = .text(text)
        case (.blob(let bytes), .uuid): self = .uuid(bytes)
        case (.blob(let bytes), _): self = .binary(bytes)
        }
    }
}
