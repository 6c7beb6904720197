/// The type of an attribute, named as in a model file.
public enum AttributeType: String, Sendable, CaseIterable {
    case string, integer16, integer32, integer64, double, float, decimal, boolean, date, uuid, uri, binary
    case transformable

    /// Tells whether values are numbers that arithmetic and sums work on.
    public var isNumeric: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .double, .float, .decimal: true
        default: false
        }
    }

    /// Tells whether values of this type can identify an object.
    var canIdentify: Bool {
        switch self {
        case .string, .integer16, .integer32, .integer64, .uuid, .uri: true
        default: false
        }
    }

    /// Tells whether values of this type can order the versions of an object.
    var canBeVersion: Bool {
        switch self {
        case .string, .integer16, .integer32, .integer64, .double, .date: true
        default: false
        }
    }

    /// The whole numbers that fit, or nil where the type is no integer.
    package var integerRange: ClosedRange<Int64>? {
        switch self {
        case .integer16: Int64(Int16.min)...Int64(Int16.max)
        case .integer32: Int64(Int32.min)...Int64(Int32.max)
        case .integer64: Int64.min...Int64.max
        default: nil
        }
    }
}
