import Foundation

/// The sum of an owner's destinations, in decimals and in doubles.
package struct OwnerSum {
    package let pk: Int64
    package let identity: Value
    package let stored: Value
    private var decimal = ExactDecimalSum()
    private var double = 0.0
    private var count = 0

    package init(pk: Int64, identity: Value, stored: Value) {
        self.pk = pk
        self.identity = identity
        self.stored = stored
    }

    package mutating func add(_ value: Value) {
        switch value {
        case .integer(let number):
            decimal.add(number, times: 1)
            double += Double(number)
        case .double(let number):
            decimal.add(DecimalText.canonical("\(number)") ?? "0")
            double += number
        case .text(let text):
            decimal.add(text)
            double += Double(text) ?? 0
        case .null, .blob: return
        }
        count += 1
    }

    package func agrees(_ type: AttributeType, _ function: AggregateFunction) -> Bool {
        if function == .average, count == 0 { return stored.isNull }
        let expected = function == .average ? double / Double(count) : double
        switch (type, stored) {
        case (.decimal, .text(let text)): return text == self.text(type, function)
        // Binary fractions depend on the order in which they are added up.
        case (.double, .double(let number)): return abs(number - expected) <= 1e-9 * max(1, abs(expected))
        case (.float, .double(let number)): return abs(number - expected) <= 1e-5 * max(1, abs(expected))
        case (.integer16, .integer(let number)), (.integer32, .integer(let number)), (.integer64, .integer(let number)):
            let range = type.integerRange ?? Int64.min...Int64.max
            let bounded = min(max(expected, Double(range.lowerBound)), Double(range.upperBound))
            return abs(Double(number) - bounded) <= 0.5 + 1e-9 * abs(bounded)
        default: return false
        }
    }

    package func text(_ type: AttributeType, _ function: AggregateFunction) -> String {
        if function == .average, count == 0 { return "null" }
        guard type == .decimal else { return "\(function == .average ? double / Double(count) : double)" }
        if function == .sum { return decimal.text }
        return DecimalText.text((DecimalText.number(decimal.text) ?? 0) / Decimal(count))
    }
}
