import GraphCore

/// The type that a column's values suggest, and the reason.
package struct ColumnGuess: Sendable, Equatable {
    /// The attribute's type.
    package var type: AttributeType
    /// The form that a route has to name under `types`, or nil.
    package var form: String?
    /// Whether values are times without an offset, which the zone of the route makes instants.
    package var isLocal = false
    /// The reason, as a comment of the model.
    package var reason: String
    /// Something a person should look at, or nil.
    package var warning: String?

    private static let moneyWords = ["price", "cost", "amount", "total", "fee", "tax", "salary", "balance", "revenue"]
    private static let codeWords = ["id", "key", "code", "number", "version", "release", "phone", "zip"]
    /// The seconds since 1970 that are years from 2001 to 2100.
    private static let plausibleSeconds = 978_307_200.0..<4_102_444_800
    private static let units = [("seconds", 1.0), ("milliseconds", 1e3), ("microseconds", 1e6), ("nanoseconds", 1e9)]

    /// Guesses the type of a column.
    package init(_ profile: ColumnProfile) {
        self = Self.guess(profile)
        warning = Self.warning(profile, type) ?? Self.markers(profile)
    }

    init(
        type: AttributeType, form: String? = nil, isLocal: Bool = false, reason: String, warning: String? = nil
    ) {
        self.type = type
        self.form = form
        self.isLocal = isLocal
        self.reason = reason
        self.warning = warning
    }

    private static func guess(_ profile: ColumnProfile) -> ColumnGuess {
        let shapes = profile.shapes
        let all = "all \(profile.valueCount) values"
        if shapes.isEmpty { return .init(type: .string, reason: "no value was seen") }
        if let time = time(profile, all) { return time }
        if shapes == [.integer] {
            let range = profile.integerRange ?? 0...0
            return .init(type: .integer64, reason: "\(all) are whole, \(range.lowerBound) to \(range.upperBound)")
        }
        if shapes.isSubset(of: [.integer, .fraction, .exponent]) { return number(profile, all) }
        if let decimal = decimalText(profile, all) { return decimal }
        if shapes == [.boolean], !profile.isLetter || TimeName.isFlag(profile.name) {
            return .init(type: .boolean, reason: "\(all) are true or false\(profile.isJSON ? "" : ", yes or no")")
        }
        if shapes.isSubset(of: [.date, .localDate]) { return date(profile, all) }
        let forms = DateForms.plainest(profile.dateForms)
        if shapes == [.foreignDate], forms.count == 1, let form = forms.first {
            let isLocal = form.contains(":")
            return .init(type: .date, form: form, isLocal: isLocal, reason: "\(all) are dates of the form \(form)")
        }
        if shapes == [.uuid] { return .init(type: .uuid, reason: "\(all) are UUIDs") }
        return text(profile)
    }

    private static func date(_ profile: ColumnProfile, _ all: String) -> ColumnGuess {
        let isLocal = profile.shapes.contains(.localDate)
        let reason = "\(all) are ISO-8601 dates\(isLocal ? ", with times of the route's zone" : "")"
        return .init(type: .date, isLocal: isLocal, reason: reason)
    }

    /// Values that stay text or JSON.
    private static func text(_ profile: ColumnProfile) -> ColumnGuess {
        let shapes = profile.shapes
        if shapes == [.nested] { return .init(type: .transformable, reason: "nested JSON, kept as it is") }
        let hasNumbers = !shapes.isDisjoint(with: [.integer, .fraction, .exponent])
        let hasFlags = shapes.contains(.boolean)
        if shapes.contains(.nested) || profile.isJSON && hasNumbers && hasFlags {
            return .init(type: .transformable, reason: "JSON of several kinds: \(list(profile))")
        }
        // JSON has numbers and texts in one field: a text takes the others only where the route says so.
        let form = !profile.isJSON ? nil : hasNumbers ? "number" : hasFlags ? "boolean" : nil
        if let values = profile.enumeration {
            return .init(type: .string, form: form, reason: "one of: \(values.joined(separator: ", "))")
        }
        return .init(
            type: .string, form: form, reason: "\(list(profile)); at most \(profile.maximumLength) characters")
    }

    // MARK: Numbers

    /// Counts since 1970, where the name speaks of time.
    private static func time(_ profile: ColumnProfile, _ all: String) -> ColumnGuess? {
        let numbers: Set<ValueShape> = [.integer, .integerText, .fraction, .fractionText]
        guard profile.shapes.isSubset(of: numbers), let range = profile.numberRange, TimeName.isTime(profile.name)
        else { return nil }
        let isWhole = profile.shapes.isSubset(of: [.integer, .integerText])
        for (unit, factor) in isWhole ? units[...] : units.prefix(2)
        where plausibleSeconds.contains(range.lowerBound / factor)
            && plausibleSeconds.contains(range.upperBound / factor)
        {
            return .init(
                type: .date, form: unit,
                reason: "\(all) are \(isWhole ? "whole numbers" : "numbers") like \(unit) since 1970")
        }
        return nil
    }

    private static func number(_ profile: ColumnProfile, _ all: String) -> ColumnGuess {
        let name = profile.name.lowercased()
        let digits = profile.fractionDigits ?? 0...0
        if profile.counts[.exponent] == nil {
            if digits == 0...0, profile.maximumLength > 18 {
                let type: AttributeType = profile.maximumLength > 38 ? .string : .decimal
                let reason = "\(all) are whole, some with more digits than 64 bits hold: kept exactly"
                return .init(type: type, form: type == .string && profile.isJSON ? "number" : nil, reason: reason)
            }
            if let word = moneyWords.first(where: name.contains) {
                let reason = "\(all) are numbers, and '\(word)' in the name speaks of money: kept exactly"
                return .init(type: .decimal, reason: reason)
            }
            if digits == 2...2 {
                return .init(type: .decimal, reason: "\(all) are numbers, fractions of two digits: kept exactly")
            }
        }
        return .init(
            type: .double, reason: "\(all) are numbers, with up to \(digits.upperBound) digits behind the point")
    }

    /// Numbers with a fraction that JSON writes as text, to keep them exact; a code such as a version stays text.
    private static func decimalText(_ profile: ColumnProfile, _ all: String) -> ColumnGuess? {
        let name = profile.name.lowercased()
        guard profile.shapes.contains(.fractionText), profile.maximumLength <= 38,
            profile.shapes.isSubset(of: [.integer, .fraction, .integerText, .fractionText]),
            !codeWords.contains(where: name.hasSuffix)
        else { return nil }
        return .init(type: .decimal, reason: "\(all) are numbers, some written as text: kept exactly")
    }

    // MARK: Points to look at

    private static func markers(_ profile: ColumnProfile) -> String? {
        func list(_ markers: [String: Int]) -> String {
            markers.sorted { $0.key < $1.key }.map { "'\($0.key)' (\($0.value))" }.joined(separator: ", ")
        }
        var notes: [String] = []
        if !profile.markers.isEmpty { notes.append("\(list(profile.markers)) are read as missing (nullValues)") }
        if !profile.keptMarkers.isEmpty {
            notes.append("\(list(profile.keptMarkers)) are kept as texts. To read them as missing, use nullValues")
        }
        return notes.isEmpty ? nil : notes.joined(separator: "; ")
    }

    private static func warning(_ profile: ColumnProfile, _ type: AttributeType) -> String? {
        var (shapes, example) = (profile.shapes, profile.examples.first ?? "")
        // `NO` and `f` among texts of a table are two of them.
        if shapes.contains(.text), !profile.isJSON { shapes.remove(.boolean) }
        if shapes == [.foreignDate] { return foreignDates(profile, example) }
        if shapes.contains(.commaNumber), shapes.isSubset(of: [.commaNumber, .integer, .integerText]) {
            return
                "numbers with a comma, such as '\(profile.firsts[.commaNumber] ?? example)': kept as text, which has no "
                + "sums. For a decimal write them with a point, or let a 'jq' program of the route do it"
        }
        let isPlain = shapes.isSubset(of: [.text, .date, .uuid, .integerText, .fractionText])
        guard shapes.count > 1, type == .string, !isPlain else { return nil }
        // A text among numbers tells why they are none.
        let rarest = shapes.min { (profile.counts[$0] ?? 0) < (profile.counts[$1] ?? 0) }
        let rare = profile.firsts[.text] ?? rarest.flatMap { profile.firsts[$0] } ?? ""
        return "mixed values (\(list(profile)), such as '\(rare)'): kept as text"
    }

    private static func foreignDates(_ profile: ColumnProfile, _ example: String) -> String? {
        let forms = DateForms.plainest(profile.dateForms)
        if forms.count > 1 {
            return
                "dates such as \(example) have the form \(forms.joined(separator: " or ")), and no day above 12 tells "
                + "which: kept as text. For dates set 'type: date' in the model, and the form under 'types' of the route"
        }
        return forms.isEmpty
            ? "dates of several forms, such as \(example): kept as text. Write them in one form for dates" : nil
    }

    private static func list(_ profile: ColumnProfile) -> String {
        profile.shapes.sorted { (profile.counts[$0] ?? 0, $1.rawValue) > (profile.counts[$1] ?? 0, $0.rawValue) }
            .map { "\($0.words): \(profile.counts[$0] ?? 0)" }.joined(separator: ", ")
    }
}
