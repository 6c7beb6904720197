/// The limits of an attribute, for loops over many objects.
///
/// Most values break no limit, and most limits are a range or a length. These limits clear such a value without a look
/// at the attribute, which a loop would copy.
package struct AttributeLimits: Sendable {
    package let slot: Int
    /// The whole numbers that break no limit, or nil where it takes a closer look.
    private let integers: ClosedRange<Int64>?
    /// Texts of up to so many bytes break no limit; nil where it takes a closer look.
    private let byteCount: Int?

    /// Makes the limits of an attribute; nil where it has none, or where its value is derived.
    init?(_ attribute: Attribute) {
        if attribute.isDerived || !attribute.hasLimits { return nil }
        slot = attribute.slot
        integers = Self.integers(attribute)
        byteCount = Self.byteCount(attribute)
    }

    /// Checks a value of an entity that has the attribute and reports each limit that it breaks; null passes.
    package func check(_ value: Value, of entity: Entity, report: (ValidationFailure) -> Void) {
        if !clears(value) { entity.attributes[slot].check(value, entity: entity.name, report: report) }
    }

    /// Tells whether a value breaks no limit for sure.
    package func clears(_ value: borrowing Value) -> Bool {
        switch value {
        case .null: true
        case .integer(let number): integers?.contains(number) ?? false
        case .text(let text): byteCount.map { text.utf8.count <= $0 } ?? false
        case .double, .blob: false
        }
    }

    private static func integers(_ attribute: Attribute) -> ClosedRange<Int64>? {
        let type = attribute.type == .date ? Timestamp.range : .min ... .max
        guard let minimum = bound(attribute.constraints.minimum, otherwise: type.lowerBound),
            let maximum = bound(attribute.constraints.maximum, otherwise: type.upperBound)
        else { return nil }
        let (lower, upper) = (max(minimum, type.lowerBound), min(maximum, type.upperBound))
        return lower <= upper ? lower...upper : nil
    }

    private static func bound(_ value: Value, otherwise: Int64) -> Int64? {
        value.isNull ? otherwise : value.integer
    }

    private static func byteCount(_ attribute: Attribute) -> Int? {
        let constraints = attribute.constraints
        let isLengthOnly =
            attribute.type == .string && constraints.pattern == nil && constraints.minimumLength == nil
            && constraints.minimum.isNull && constraints.maximum.isNull
        return isLengthOnly ? constraints.maximumLength : nil
    }
}
