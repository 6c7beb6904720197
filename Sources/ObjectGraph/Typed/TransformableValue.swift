import Foundation
import GraphCore

/// A `Codable` value of a transformable attribute, which the store keeps as JSON.
///
///     struct Address: TransformableValue {
///         var street = ""
///         var city = ""
///     }
///
/// JSON has the members in the order of their names, so equal values have equal texts. Foundation's encoder writes a
/// `Date` as the seconds since 2001; a program that wants another form encodes a text.
///
/// A condition on such an attribute needs a ``AttributeValue/sample`` of the type's own.
public protocol TransformableValue: AttributeValue, Codable {
    /// Makes the value that a property without a value reads as.
    init()
}

extension TransformableValue {
    /// Transformable.
    public static var attributeTypes: [AttributeType] { [.transformable] }
    /// The value of the initializer without parameters.
    public static var placeholder: Self { Self() }
    /// The placeholder. It cannot show where a key path ends, so conditions refuse key paths to the attribute.
    public static var sample: Self { placeholder }

    /// Makes the value from JSON, or nil if its members do not fit.
    public init?(storedValue: Value) {
        guard let text = storedValue.text,
            let value = try? JSONDecoder().decode(Self.self, from: Data(text.utf8))
        else { return nil }
        self = value
    }

    /// The value as JSON; an empty text, which no attribute accepts, if JSON cannot hold the value.
    public var storedValue: Value {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return .text((try? encoder.encode(self)).flatMap { String(data: $0, encoding: .utf8) } ?? "")
    }
}
