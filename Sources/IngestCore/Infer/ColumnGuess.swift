import ObjectGraph

/// The type that a column's values suggest, and the reason.
package struct ColumnGuess: Sendable, Equatable {
    /// The attribute's type.
    package var type: AttributeType
    /// The form that a route has to name under `types`, or nil.
    package var form: String?
    /// The reason, as a comment of the model.
    package var reason: String
    /// Something a person should look at, or nil.
    package var warning: String?

    private static let moneyWords = ["price", "cost", "amount", "total", "fee", "tax", "salary", "balance", "revenue"]
    private static let timeWords = ["time", "date", "epoch", "timestamp"]

    /// Guesses the type of a column.
    package init(_ profile: ColumnProfile) {
        let (type, form, reason) = Self.plain(profile)
        self.init(type: type, form: form, reason: reason)
        let marked = profile.markers.values.reduce(0, +)
        if marked > 0 {
            let markers = profile.markers.keys.sorted().map { "'\($0)'" }.joined(separator: ", ")
            warning = "\(marked) values are \(markers), and are read as missing (nullValues)"
        }
        if profile.shapes == [.localDate] {
            warning = "dates with a time and no offset name no instant: kept as text, which sorts by time"
        } else if profile.shapes == [.foreignDate] {
            warning = "dates such as \(profile.examples.first ?? ""): kept as text; ISO 8601 would make them dates"
        } else if profile.shapes.count > 1, type == .string, !profile.shapes.isSubset(of: [.text, .date, .uuid]) {
            let rarest = profile.shapes.min { (profile.counts[$0] ?? 0) < (profile.counts[$1] ?? 0) }
            let example = rarest.flatMap { profile.firsts[$0] } ?? ""
            warning = "mixed values (\(Self.list(profile)), such as '\(example)'): kept as text"
        }
    }

    init(type: AttributeType, form: String? = nil, reason: String, warning: String? = nil) {
        self.type = type
        self.form = form
        self.reason = reason
        self.warning = warning
    }

    private static func plain(_ profile: ColumnProfile) -> (AttributeType, String?, String) {
        let shapes = profile.shapes
        let all = "all \(profile.valueCount) values"
        if shapes.isEmpty { return (.string, nil, "no value was seen") }
        if shapes == [.integer] { return integer(profile, all) }
        if shapes.isSubset(of: [.integer, .fraction, .exponent]) { return number(profile, all) }
        if shapes == [.boolean] { return (.boolean, nil, "\(all) are true or false, yes or no") }
        if shapes == [.date] { return (.date, nil, "\(all) are ISO-8601 dates") }
        if shapes == [.uuid] { return (.uuid, nil, "\(all) are UUIDs") }
        if shapes == [.nested] { return (.transformable, nil, "nested JSON, kept as it is") }
        if shapes.contains(.nested) { return (.transformable, nil, "JSON of several kinds: \(list(profile))") }
        if let values = profile.enumeration {
            return (.string, nil, "one of: \(values.joined(separator: ", "))")
        }
        return (.string, nil, "\(list(profile)); at most \(profile.maximumLength) characters")
    }

    private static func integer(_ profile: ColumnProfile, _ all: String) -> (AttributeType, String?, String) {
        let range = profile.integerRange ?? 0...0
        let name = profile.name.lowercased()
        if timeWords.contains(where: name.contains) || profile.name.hasSuffix("At") || name.hasSuffix("_at") {
            if range.lowerBound >= 500_000_000, range.upperBound < 5_000_000_000 {
                return (.date, "seconds", "\(all) are whole numbers like seconds since 1970")
            }
            if range.lowerBound >= 500_000_000_000, range.upperBound < 5_000_000_000_000 {
                return (.date, "milliseconds", "\(all) are whole numbers like milliseconds since 1970")
            }
        }
        return (.integer64, nil, "\(all) are whole, \(range.lowerBound) to \(range.upperBound)")
    }

    private static func number(_ profile: ColumnProfile, _ all: String) -> (AttributeType, String?, String) {
        let name = profile.name.lowercased()
        let digits = profile.fractionDigits ?? 0...0
        if profile.counts[.exponent] == nil {
            if digits == 0...0, profile.maximumLength > 18 {
                let type: AttributeType = profile.maximumLength > 38 ? .string : .decimal
                return (type, nil, "\(all) are whole, some with more digits than 64 bits hold: kept exactly")
            }
            if let word = moneyWords.first(where: name.contains) {
                return (.decimal, nil, "\(all) are numbers, and '\(word)' in the name speaks of money: kept exactly")
            }
            if digits == 2...2 { return (.decimal, nil, "\(all) are numbers, fractions of two digits: kept exactly") }
        }
        return (.double, nil, "\(all) are numbers, with up to \(digits.upperBound) digits behind the point")
    }

    private static func list(_ profile: ColumnProfile) -> String {
        profile.shapes.sorted { (profile.counts[$0] ?? 0, $1.rawValue) > (profile.counts[$1] ?? 0, $0.rawValue) }
            .map { "\(profile.counts[$0] ?? 0) \($0.rawValue)" }.joined(separator: ", ")
    }
}
