import Foundation

/// A property's value in the form in which the store keeps it.
///
/// The forms are SQLite's storage classes. An attribute's ``AttributeType`` says how to read one:
///
/// | type | form |
/// |---|---|
/// | boolean | `integer` 0 or 1 |
/// | date | `integer`, microseconds since 1970 UTC |
/// | uuid | `blob` of 16 bytes |
/// | decimal | `text` in canonical form |
/// | transformable | `text` that holds JSON |
/// | to-one relationship | `integer`, the destination's primary key |
public enum Value: Sendable, Hashable {
    case null
    case integer(Int64)
    case double(Double)
    case text(String)
    case blob([UInt8])

    /// Tells whether two values are the same for SQLite: texts by their bytes.
    ///
    /// Swift holds canonically equivalent texts to be equal, such as the two spellings of "é". The store does not: two
    /// objects may have them as identities.
    @inlinable public static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.integer(let left), .integer(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.text(let left), .text(let right)): hasSameBytes(left, right)
        case (.blob(let left), .blob(let right)): left == right
        default: false
        }
    }

    @usableFromInline static func hasSameBytes(_ left: String, _ right: String) -> Bool {
        let result = left.utf8.withContiguousStorageIfAvailable { left in
            right.utf8.withContiguousStorageIfAvailable { right in
                guard left.count == right.count, let start = left.baseAddress, let other = right.baseAddress else {
                    return left.count == right.count
                }
                return memcmp(start, other, left.count) == 0
            }
        }
        return (result ?? nil) ?? left.utf8.elementsEqual(right.utf8)
    }

    /// Compares two texts by their UTF-8 bytes, as SQLite does; negative where the first comes before the second.
    package static func order(_ left: String, _ right: String) -> Int {
        let result = left.utf8.withContiguousStorageIfAvailable { left in
            right.utf8.withContiguousStorageIfAvailable { right in
                let count = min(left.count, right.count)
                guard count > 0, let start = left.baseAddress, let other = right.baseAddress else {
                    return left.count - right.count
                }
                let order = memcmp(start, other, count)
                return order == 0 ? left.count - right.count : Int(order)
            }
        }
        if let known = result ?? nil { return known }
        if left.utf8.elementsEqual(right.utf8) { return 0 }
        return left.utf8.lexicographicallyPrecedes(right.utf8) ? -1 : 1
    }

    /// Tells whether there is no value.
    @inlinable public var isNull: Bool {
        if case .null = self { return true }
        return false
    }

    /// Returns the integer, or nil for any other form.
    @inlinable public var integer: Int64? {
        if case .integer(let number) = self { return number }
        return nil
    }

    /// Returns the number as a double, or nil where the value is no number.
    @inlinable public var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }

    /// Returns the text, or nil for any other form.
    @inlinable public var text: String? {
        if case .text(let text) = self { return text }
        return nil
    }
}

extension Value {
    /// Compares two versions, or returns nil where they are of forms that have no common order.
    ///
    /// Numbers compare as numbers, texts by their UTF-8 bytes.
    package func isOlder(than other: Value) -> Bool? {
        switch (self, other) {
        case (.integer(let left), .integer(let right)): left < right
        case (.text(let left), .text(let right)): Self.order(left, right) < 0
        default:
            if let left = number, let right = other.number { left < right } else { nil }
        }
    }
}

/// The values of an object's slots.
package protocol SlotReadable {
    /// The value of a slot.
    subscript(slot: Int) -> Value { get }
}

extension [Value]: SlotReadable {}
