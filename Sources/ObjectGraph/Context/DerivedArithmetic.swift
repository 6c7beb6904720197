import Foundation

extension ArithmeticExpression {
    /// Computes the expression over an object's values; null if an operand is null, or on division by nought.
    ///
    /// A decimal attribute is computed in decimals, any other in doubles; whole-number attributes take the result
    /// rounded to the nearest, halves to the even number.
    func value(_ values: [Value], of attribute: Attribute) -> Value {
        if attribute.type == .decimal {
            return decimal(values).map { .text(DecimalText.text($0)) } ?? .null
        }
        guard let number = double(values), number.isFinite else { return .null }
        switch attribute.type {
        case .double: return .double(number)
        case .float: return .double(Double(Float(number)))
        default:
            return Int64(exactly: number.rounded(.toNearestOrEven)).flatMap(attribute.type.value(fromInteger:)) ?? .null
        }
    }

    private func double(_ values: [Value]) -> Double? {
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

    private func decimal(_ values: [Value]) -> Decimal? {
        switch self {
        case .number(let text): return DecimalText.number(text)
        case .attribute(let slot): return values[slot].decimal
        case .negated(let operand): return operand.decimal(values).map { -$0 }
        case .binary(let operation, let left, let right):
            guard let left = left.decimal(values), let right = right.decimal(values) else { return nil }
            let result: Decimal
            switch operation {
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
}

extension Value {
    /// The value as an exact decimal, or nil where it is no number.
    var decimal: Decimal? {
        switch self {
        case .integer(let number): Decimal(number)
        case .double(let number): DecimalText.number("\(number)")
        case .text(let text): DecimalText.number(text)
        case .null, .blob: nil
        }
    }
}

/// A sum in the making: exact for whole numbers and decimals, otherwise in doubles.
struct RunningSum {
    private let type: AttributeType
    /// Wide enough that adding up any number of rows is exact.
    private var whole: Int128 = 0
    private var decimal: Decimal = 0
    private var double: Double = 0

    /// Makes a sum that ends as a value of `type`.
    init(for type: AttributeType) { self.type = type }

    mutating func add(_ value: Value, times factor: Int64 = 1) {
        if type.integerRange != nil, case .integer(let number) = value {
            whole += Int128(number) * Int128(factor)
        } else if type == .decimal, let number = value.decimal {
            decimal += number * Decimal(factor)
        } else if case .text(let text) = value, let number = Double(text) {
            double += number * Double(factor)
        } else if let number = value.number {
            double += number * Double(factor)
        }
    }

    /// Adds another sum.
    mutating func add(_ other: RunningSum) {
        whole += other.whole
        decimal += other.decimal
        double += other.double
    }

    /// Tells whether the value stands for the sum exactly: sums that leave 64 bits, or 38 digits, do not.
    var isExact: Bool {
        switch type {
        case .decimal: !decimal.isNaN && decimal.magnitude < Self.decimalBound
        case .double, .float: false
        default: double == 0 && whole > Int128(Int64.min) && whole < Int128(Int64.max)
        }
    }

    /// Below it a decimal has room for twelve digits after the point.
    private static let decimalBound = Decimal(sign: .plus, exponent: 25, significand: 1)

    var isZero: Bool { whole == 0 && decimal == 0 && double == 0 }

    var value: Value {
        switch type {
        case .double, .float: return .double(double)
        case .decimal: return .text(DecimalText.text(decimal))
        default:
            let rounded = Int64(exactly: double.rounded(.toNearestOrEven)) ?? (double < 0 ? .min : .max)
            return .integer(double == 0 ? Int64(clamping: whole) : rounded)
        }
    }
}
