/// A Swift value of an attribute of a ``TypedObject``, optional or not.
///
/// Enumerations that are `CaseIterable` and have raw values need only the conformance:
///
///     enum Priority: Int, CaseIterable, AttributeValue { case low, high }
///
/// The model then allows no other raw values: a pattern of the texts, or the range of the numbers.
public protocol AttributeValue: PropertyValue, Equatable, Sendable {
    /// The types of attributes for such values; the first is the default of a declaration.
    static var attributeTypes: [AttributeType] { get }
    /// Tells whether the value may be missing.
    static var isOptional: Bool { get }
    /// The value to read where the store has none, as in a placeholder: zero, an empty text and so on.
    static var placeholder: Self { get }
    /// A value other than ``placeholder``, which shows that a key path ends at the property and not behind it.
    static var sample: Self { get }
    /// All values in stored form, if the type is an enumeration; otherwise none.
    static var storedCases: [Value] { get }
    /// Makes the value from its stored form, or nil if that does not fit the type.
    init?(storedValue: Value)
    /// The value in stored form.
    var storedValue: Value { get }
}

extension AttributeValue {
    /// False by default.
    public static var isOptional: Bool { false }
    /// None by default.
    public static var storedCases: [Value] { [] }
}

extension Optional: AttributeValue where Wrapped: AttributeValue {
    /// The types of the wrapped value.
    public static var attributeTypes: [AttributeType] { Wrapped.attributeTypes }
    /// True.
    public static var isOptional: Bool { true }
    /// Nil.
    public static var placeholder: Wrapped? { nil }
    /// The sample of the wrapped value.
    public static var sample: Wrapped? { .some(Wrapped.sample) }
    /// The cases of the wrapped value.
    public static var storedCases: [Value] { Wrapped.storedCases }

    /// Makes nil from null, otherwise the value.
    public init?(storedValue: Value) {
        if storedValue.isNull {
            self = .none
        } else if let value = Wrapped(storedValue: storedValue) {
            self = .some(value)
        } else {
            return nil
        }
    }

    /// The value in stored form; null for nil.
    public var storedValue: Value { self?.storedValue ?? .null }
}

extension AttributeValue where Self: RawRepresentable, RawValue: AttributeValue {
    /// The types of the raw value.
    public static var attributeTypes: [AttributeType] { RawValue.attributeTypes }

    /// Makes the value from the stored form of its raw value.
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
    /// All cases.
    public static var storedCases: [Value] { allCases.map(\.storedValue) }
}

extension Literal.Content {
    /// Makes the literal from a stored value.
    package init(_ value: Value, _ type: AttributeType) {
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
