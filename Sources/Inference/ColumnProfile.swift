import GraphCore

/// Describes the values of one column or field, gathered in one pass and bounded memory.
package struct ColumnProfile: Sendable {
    /// The column's name in the file.
    package let name: String
    /// The number of values of each form.
    package private(set) var counts: [ValueShape: Int] = [:]
    /// The texts that stand for no value, with their counts.
    package private(set) var markers: [String: Int] = [:]
    /// The texts that might stand for no value, and are values in this column, with their counts.
    private(set) var keptMarkers: [String: Int] = [:]
    /// The first distinct values, each cut to 40 characters.
    package private(set) var examples: [String] = []
    /// The smallest and the greatest whole number.
    package private(set) var integerRange: ClosedRange<Int64>?
    /// The smallest and the greatest number, with a fraction or without, about.
    package private(set) var numberRange: ClosedRange<Double>?
    /// The forms besides ISO 8601 that all dates have.
    private(set) var dateForms = DateForms.all
    /// The parts of the ISO-8601 dates.
    private(set) var dateParts: DateParts = []
    /// The fewest and the most digits behind the point.
    package private(set) var fractionDigits: ClosedRange<Int>?
    /// The length of the longest text in characters.
    package private(set) var maximumLength = 0
    /// The first value of each form, cut to 40 characters.
    package private(set) var firsts: [ValueShape: String] = [:]
    /// Whether all texts are two or three capital letters, as codes of countries are.
    private(set) var areCodes = true
    /// The distinct values, up to the bound.
    package private(set) var distinct: BoundedSet

    /// Whether the values come from JSON, which tells numbers and texts apart.
    let isJSON: Bool

    /// The number of examples that are kept: one more than an enumeration has.
    package static let exampleLimit = 13

    /// Makes an empty profile that remembers at most `distinctLimit` distinct values.
    package init(name: String, isJSON: Bool = false, distinctLimit: Int = 200_000) {
        self.name = name
        self.isJSON = isJSON
        distinct = BoundedSet(limit: distinctLimit)
    }

    /// Adds a value of the file.
    package mutating func add(_ text: String, _ shape: ValueShape) {
        counts[shape, default: 0] += 1
        if firsts[shape] == nil { firsts[shape] = String(text.prefix(40)) }
        switch shape {
        case .empty, .nested: return
        case .nullMarker: return markers[text, default: 0] += 1
        case .integer, .integerText: if let number = Int64(text) { extend(number) }
        case .fraction, .fractionText: extend(fraction: text)
        case .foreignDate: dateForms.removeAll { $0.pattern.microseconds(text) == nil }
        case .date, .localDate: dateParts.formUnion(DateParts(text, hasOffset: shape == .date))
        case .text:
            areCodes =
                areCodes && (2...3).contains(text.utf8.count) && text.utf8.allSatisfy { (0x41...0x5A).contains($0) }
        default: break
        }
        if let number = shape.isNumber ? Double(text) : nil {
            let range = numberRange ?? number...number
            numberRange = min(range.lowerBound, number)...max(range.upperBound, number)
        }
        maximumLength = max(maximumLength, text.count)
        if distinct.insert(text.utf8.fnv1a), examples.count < Self.exampleLimit {
            examples.append(String(text.prefix(40)))
        }
    }

    /// Counts a text that might stand for a missing value as an ordinary text.
    mutating func keep(_ marker: String) {
        guard let count = markers.removeValue(forKey: marker) else { return }
        let others = (counts[.nullMarker] ?? count) - count
        counts[.nullMarker] = others > 0 ? others : nil
        for _ in 0..<min(count, 2) { add(marker, .text) }
        counts[.text, default: 0] += max(0, count - 2)
        keptMarkers[marker] = count
    }

    /// Whether all truth values are single letters, of which only one came: likelier a code than PostgreSQL's `t` or `f`.
    var isLetter: Bool { counts[.boolean] != nil && (examples == ["t"] || examples == ["f"]) }

    private mutating func extend(_ number: Int64) {
        let range = integerRange ?? number...number
        integerRange = min(range.lowerBound, number)...max(range.upperBound, number)
    }

    private mutating func extend(fraction text: String) {
        // A whole number beyond 64 bits has none.
        let digits = text.utf8.contains(0x2E) ? text.utf8.reversed().prefix { $0 != 0x2E }.count : 0
        let range = fractionDigits ?? digits...digits
        fractionDigits = min(range.lowerBound, digits)...max(range.upperBound, digits)
    }

    /// The number of values that are neither empty nor a null marker.
    package var valueCount: Int {
        counts.reduce(0) { $0 + ([.empty, .nullMarker].contains($1.key) ? 0 : $1.value) }
    }

    /// The forms of those values.
    package var shapes: Set<ValueShape> { Set(counts.keys).subtracting([.empty, .nullMarker]) }

    /// The values of an enumeration: few, each of them often; nil for other columns.
    package var enumeration: [String]? {
        guard examples.count < Self.exampleLimit, distinct.hasRepeats, valueCount >= 5 * examples.count,
            maximumLength <= 40
        else { return nil }
        return examples.sorted()
    }
}
