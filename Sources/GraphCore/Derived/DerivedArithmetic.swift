import Foundation

extension ArithmeticExpression {
    /// Computes the expression over an object's values; null if an operand is null, on division by zero, and where the
    /// result does not fit.
    ///
    /// A decimal attribute is computed in decimals, any other in doubles.
    package func value(_ values: some SlotReadable, of attribute: Attribute) -> Value {
        if attribute.type == .decimal {
            return decimal(values).map { .text(DecimalText.text($0)) } ?? .null
        }
        return double(values).map(attribute.type.value(ofComputed:)) ?? .null
    }

    private func double(_ values: some SlotReadable) -> Double? {
        switch self {
        case .number(let text): return Double(text)
        case .attribute(let slot):
            if case .text(let text) = values[slot] { return Double(text) }
            return values[slot].number
        case .negated(let operand): return operand.double(values).map { -$0 }
        case .binary(let operation, let left, let right):
            guard let left = left.double(values), let right = right.double(values) else { return nil }
            switch operation {
            case .add: return left + right
            case .subtract: return left - right
            case .multiply: return left * right
            case .divide: return right == 0 ? nil : left / right
            }
        }
    }

    private func decimal(_ values: some SlotReadable) -> Decimal? {
        switch self {
        case .number(let text): return DecimalText.number(text)
        case .attribute(let slot): return values[slot].decimal
        case .negated(let operand): return operand.decimal(values).map { -$0 }
        case .binary(let operation, let left, let right):
            guard let left = left.decimal(values), let right = right.decimal(values) else { return nil }
            return operation.computed(left, right)
        }
    }
}

extension ArithmeticExpression.Operator {
    /// Computes in decimals of 38 digits; nil on division by zero, and where the result has no room.
    package func computed(_ left: Decimal, _ right: Decimal) -> Decimal? {
        let result: Decimal
        switch self {
        case .add: result = left + right
        case .subtract: result = left - right
        case .multiply: result = left * right
        case .divide:
            if right == 0 { return nil }
            result = left / right
        }
        return result.isNaN ? nil : result
    }
}

extension Value {
    /// The value as an exact decimal, or nil where it is no number.
    package var decimal: Decimal? {
        switch self {
        case .integer(let number): Decimal(number)
        case .double(let number): DecimalText.number("\(number)")
        case .text(let text): DecimalText.number(text)
        case .null, .blob: nil
        }
    }
}

extension Attribute {
    /// The slots of the same object's values that a derived value follows from; none where it follows from others.
    package var ownSlots: Set<Int> {
        switch derivation {
        case .arithmetic(let expression): expression.slots
        case .keyPath(let path) where path.relationships.isEmpty: [path.slot]
        default: []
        }
    }
}
