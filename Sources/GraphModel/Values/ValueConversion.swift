/// A change of an attribute's type that loses nothing. It is safe for all values, or for values that a check has
/// passed.
package struct ValueConversion: Sendable, Equatable {
    package enum Safety: Sendable, Equatable {
        /// The store keeps both types alike: nothing is written.
        case sameForm
        /// Every value has its counterpart.
        case always
        /// Each row has to be looked at.
        case checked
    }

    package let old: AttributeType
    package let new: AttributeType
    package let safety: Safety

    /// Makes the conversion between two types, or nil where there is none.
    package init?(from old: AttributeType, to new: AttributeType) {
        guard let safety = Self.safety(old, new) else { return nil }
        self.old = old
        self.new = new
        self.safety = safety
    }

    private static func safety(_ old: AttributeType, _ new: AttributeType) -> Safety? {
        if old == new { return .sameForm }
        if let from = old.integerRange {
            if let to = new.integerRange {
                return to.lowerBound <= from.lowerBound && to.upperBound >= from.upperBound ? .sameForm : .checked
            }
            switch new {
            case .string, .decimal: return .always
            case .double: return old == .integer64 ? .checked : .always
            case .float: return old == .integer16 ? .always : .checked
            case .boolean: return .checked
            default: return nil
            }
        }
        switch (old, new) {
        case (.uri, .string), (.float, .double), (.uuid, .binary): return .sameForm
        case (.string, .transformable), (.boolean, .integer16), (.boolean, .integer32), (.boolean, .integer64):
            return old == .boolean ? .sameForm : .always
        case (_, .string): return .always
        case (.uri, .transformable): return .always
        case (.string, _): return .checked
        case (.double, .float), (.double, .decimal), (.float, .decimal), (.decimal, .double), (.decimal, .float),
            (.binary, .uuid):
            return .checked
        case (.double, _), (.float, _), (.decimal, _): return new.integerRange == nil ? nil : .checked
        default: return nil
        }
    }

    /// Returns a value in its new form, or nil where that would lose something.
    package func converted(_ value: Value) -> Value? {
        if value.isNull || safety == .sameForm { return value }
        switch (old, new) {
        case (_, .transformable): return value.text.map { .text(JSONText.string($0)) }
        case (_, .string): return .text(old.text(of: value))
        case (.string, _): return value.text.flatMap(new.value(keepingText:))
        case (.binary, .uuid):
            if case .blob(let bytes) = value, bytes.count == 16 { return value }
            return nil
        default: return number(value)
        }
    }

    /// Converts a number and back again: the way there lost nothing if the way back leads home.
    private func number(_ value: Value) -> Value? {
        guard let there = Self.number(value, as: new), let back = Self.number(there, as: old), back == value else {
            return nil
        }
        return there
    }

    private static func number(_ value: Value, as type: AttributeType) -> Value? {
        switch value {
        case .integer(let number):
            // Beyond 2^53 a double has no room for each whole number; the way back would clamp.
            if type == .double || type == .float, Int64(exactly: Double(number)) != number { return nil }
            return type.value(fromInteger: number)
        case .double(let number): return type.value(fromDouble: number)
        case .text(let text): return type.value(fromText: text)
        case .null, .blob: return nil
        }
    }
}
