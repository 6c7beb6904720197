import RecordDecoding

/// The forms of dates besides ISO 8601 that an inferred route can state.
enum DateForms {
    /// A form, and the part of it that is the day.
    struct Form: Sendable {
        let day: String
        let pattern: DatePattern
    }

    /// Dates with points begin with the day, wherever they are written.
    private static let days = [
        "dd.MM.yyyy", "dd/MM/yyyy", "MM/dd/yyyy", "yyyy/MM/dd", "dd-MM-yyyy", "MM-dd-yyyy", "dd-MMM-yyyy",
        "dd MMM yyyy", "yyyy-MM-dd",
    ]
    private static let times = [
        "", " HH:mm", " HH:mm:ss", " HH:mm[:ss[.SSS]]", "[ HH:mm[:ss[.SSS]]]", " hh:mm[ ]a", " hh:mm[:ss][ ]a",
        "[ hh:mm[:ss][ ]a]",
    ]

    /// All of them, each with and without a time, the plain ones first.
    static let all: [Form] = days.flatMap { day in
        times.compactMap { time in
            (try? DatePattern(day + time, zone: nil)).map { Form(day: day, pattern: $0) }
        }
    }

    /// Tells whether one of them reads a text.
    static func canRead(_ text: String) -> Bool {
        guard (8...32).contains(text.utf8.count),
            text.utf8.prefix(5).contains(where: { [0x2E, 0x2F, 0x2D, 0x20].contains($0) })
        else { return false }
        return all.contains { $0.pattern.microseconds(text) != nil }
    }

    /// The plainest form of each day among some forms.
    static func plainest(_ forms: [Form]) -> [String] {
        var days: Set<String> = []
        return forms.filter { days.insert($0.day).inserted }.map(\.pattern.text)
    }
}

/// The parts of ISO-8601 dates in a column or a file.
struct DateParts: OptionSet {
    let rawValue: Int

    /// Some are a day alone.
    static let day = DateParts(rawValue: 1)
    /// Some have a `T` before the time.
    static let letter = DateParts(rawValue: 2)
    /// Some have a space before the time.
    static let space = DateParts(rawValue: 4)
    /// Some have an offset.
    static let offset = DateParts(rawValue: 8)

    init(rawValue: Int) { self.rawValue = rawValue }

    /// The parts of a date, or of a date with a time.
    init(_ text: String, hasOffset: Bool) {
        let bytes = text.utf8
        guard bytes.count > 10 else {
            self = .day
            return
        }
        self = bytes[bytes.index(bytes.startIndex, offsetBy: 10)] == 0x20 ? .space : .letter
        if hasOffset { insert(.offset) }
    }

    /// The form that reads all of them: seconds and their fraction may be missing.
    var form: String {
        let separator = isSuperset(of: [.letter, .space]) ? "['T'][ ]" : contains(.letter) ? "'T'" : " "
        return "yyyy-MM-dd[\(separator)HH:mm[:ss[.SSS]]\(contains(.offset) ? "[XXX]" : "")]"
    }
}
