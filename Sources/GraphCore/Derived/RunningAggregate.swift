import Foundation

/// A sum in the making: exact for whole numbers and decimals, otherwise in doubles.
package struct RunningSum {
    private let type: AttributeType
    /// Wide enough that adding up any number of rows is exact.
    private var whole: Int128 = 0
    private var decimal = ExactDecimalSum()
    private var double: Double = 0

    /// Makes a sum that ends as a value of `type`.
    package init(for type: AttributeType) { self.type = type }

    package mutating func add(_ value: Value, times factor: Int64 = 1) {
        if type == .decimal {
            switch value {
            case .integer(let number): decimal.add(number, times: factor)
            case .text(let text): decimal.add(text, times: factor)
            case .double(let number): decimal.add(DecimalText.canonical("\(number)") ?? "0", times: factor)
            case .null, .blob: break
            }
        } else if type.integerRange != nil, case .integer(let number) = value {
            whole += Int128(number) * Int128(factor)
        } else if case .text(let text) = value, let number = Double(text) {
            double += number * Double(factor)
        } else if let number = value.number {
            double += number * Double(factor)
        }
    }

    /// Adds another sum.
    package mutating func add(_ other: RunningSum) {
        whole += other.whole
        decimal.add(other.decimal)
        double += other.double
    }

    /// Tells whether the value stands for the sum exactly: sums at a bound of the type, or of 38 digits, may not.
    var isExact: Bool {
        switch type {
        case .decimal: return decimal.isExact
        case .double, .float: return false
        default:
            guard let range = type.integerRange else { return false }
            return double == 0 && whole > Int128(range.lowerBound) && whole < Int128(range.upperBound)
        }
    }

    var isZero: Bool { whole == 0 && double == 0 && decimal.isZero }

    /// The sum; whole numbers that leave the type stay at its bound, and a sum of doubles that leaves it is null.
    package var value: Value {
        switch type {
        case .double, .float: return type.value(ofComputed: double)
        case .decimal: return .text(decimal.text)
        default:
            let range = type.integerRange ?? Int64.min...Int64.max
            let exact = double == 0 ? whole : whole + Self.rounded(double)
            let clamped = min(max(exact, Int128(range.lowerBound)), Int128(range.upperBound))
            return .integer(Int64(clamped))
        }
    }

    /// A sum of whole numbers or doubles as a double, not held to the bounds of a type.
    package var number: Double { Double(whole) + double }

    private static func rounded(_ number: Double) -> Int128 {
        Int128(exactly: number.rounded(.toNearestOrEven)) ?? (number < 0 ? Int128(Int64.min) : Int128(Int64.max))
    }
}

/// An average in the making: a sum that is exact where its terms are, and their number.
package struct RunningAverage {
    private let type: AttributeType
    private var sum: RunningSum
    private var count: Int64 = 0

    /// Makes an average of values of `source` that ends as a value of `type`.
    package init(of source: AttributeType, for type: AttributeType) {
        self.type = type
        // Whole numbers are added up exactly whatever they end as.
        let isDecimal = type == .decimal || source == .decimal
        sum = RunningSum(for: isDecimal ? .decimal : source.integerRange != nil ? .integer64 : .double)
    }

    package mutating func add(_ value: Value, times factor: Int64 = 1) {
        if value.isNull { return }
        sum.add(value, times: factor)
        count += factor
    }

    /// The average, or null without values and where it does not fit.
    package var value: Value {
        guard count > 0 else { return .null }
        if type == .decimal {
            guard let total = sum.value.decimal else { return .null }
            let average = total / Decimal(count)
            return average.isNaN ? .null : .text(DecimalText.text(average))
        }
        let total = sum.value.text.map { Double($0) ?? 0 } ?? sum.number
        return type.value(ofComputed: total / Double(count))
    }
}

/// A sum or an average in the making.
package enum RunningAggregate {
    case sum(RunningSum)
    case average(RunningAverage)

    /// Makes an aggregate without values, of the type `source`, that ends as a value of `type`; nil for an extreme.
    package init?(_ function: AggregateFunction, of source: AttributeType, for type: AttributeType) {
        switch function {
        case .sum: self = .sum(RunningSum(for: type))
        case .average: self = .average(RunningAverage(of: source, for: type))
        case .minimum, .maximum: return nil
        }
    }

    package mutating func add(_ value: Value, times factor: Int64 = 1) {
        switch self {
        case .sum(var sum):
            sum.add(value, times: factor)
            self = .sum(sum)
        case .average(var average):
            average.add(value, times: factor)
            self = .average(average)
        }
    }

    package var value: Value {
        switch self {
        case .sum(let sum): sum.value
        case .average(let average): average.value
        }
    }
}

/// The change of a least or greatest value of one owner by a chunk.
struct ExtremeChange {
    /// The most extreme of the values that come, or null.
    private var entering: Value = .null
    /// The values that go.
    private var leaving: Set<Value> = []

    mutating func add(_ value: Value, _ function: AggregateFunction, _ type: AttributeType) {
        if value.isNull { return }
        if entering.isNull || function.prefers(value, to: entering, type) { entering = value }
    }

    mutating func remove(_ value: Value) {
        if !value.isNull { leaving.insert(value) }
    }

    /// Returns the extreme after the change, or nil where only the rows can tell.
    func value(after current: Value, _ function: AggregateFunction, _ type: AttributeType) -> Value? {
        if !current.isNull, leaving.contains(current) {
            // Nothing that stays is more extreme than what goes.
            if entering.isNull || function.prefers(current, to: entering, type) { return nil }
            return entering
        }
        if entering.isNull { return current }
        return current.isNull || function.prefers(entering, to: current, type) ? entering : current
    }
}
