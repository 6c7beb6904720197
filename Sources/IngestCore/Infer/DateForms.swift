/// The forms of dates besides ISO 8601 that an inferred route can state.
enum DateForms {
    /// Dates with points begin with the day, wherever they are written.
    private static let days = ["dd.MM.yyyy", "dd/MM/yyyy", "MM/dd/yyyy", "yyyy/MM/dd", "dd-MM-yyyy", "MM-dd-yyyy"]

    /// All of them, each with and without a time.
    static let all: [DatePattern] = days.flatMap { day in
        ["", " HH:mm", " HH:mm:ss"].compactMap { try? DatePattern(day + $0, zone: nil) }
    }

    /// Tells whether one of them reads a text.
    static func canRead(_ text: String) -> Bool {
        guard (8...19).contains(text.utf8.count),
            text.utf8.prefix(5).contains(where: { $0 == 0x2E || $0 == 0x2F || $0 == 0x2D })
        else { return false }
        return all.contains { $0.microseconds(text) != nil }
    }
}
