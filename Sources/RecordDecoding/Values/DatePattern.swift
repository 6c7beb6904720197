import GraphCore

/// A form of dates as a route states it, such as `dd.MM.yyyy HH:mm`, compiled once.
///
/// The letters are the same as in Unicode's date patterns; this reads numbers, English names of months and offsets.
/// Parts in square brackets may be missing: `yyyy-MM-dd[ HH:mm[:ss[.SSS]]]`.
package struct DatePattern: Sendable {
    enum Field: Sendable, Equatable {
        case year, shortYear, month, monthName, day, hour, shortHour, minute, second, fraction, meridiem, offset
        case literal([UInt8])
        /// Fields that stand there together, or not at all.
        case optional([Field])
    }

    /// The pattern as it was written.
    package let text: String
    private let fields: [Field]
    private let zone: ZoneOffsets?

    /// Reads a pattern.
    ///
    /// - Parameter zone: the name of the zone of dates without an offset, such as `Europe/Berlin`; UTC when nil.
    package init(_ text: String, zone: String?) throws(ExpressionError) {
        self.text = text
        fields = try Self.fields(text)
        let needed: [(letters: String, fields: [Field])] = [
            ("dd", [.day]), ("yyyy", [.year, .shortYear]), ("MM", [.month, .monthName]),
        ]
        for (letters, any) in needed where !any.contains(where: fields.contains) {
            let hint = text.contains("[") ? " outside of brackets, which mark parts that may be missing" : ""
            throw ExpressionError("the form '\(text)' has no '\(letters)'\(hint)")
        }
        self.zone = try zone.map { name throws(ExpressionError) in
            guard let zone = ZoneOffsets(name) else {
                throw ExpressionError("'\(name)' is no known zone; write it as Europe/Berlin, or UTC")
            }
            return zone
        }
    }

    /// Tells whether a text of the configuration is meant as a pattern.
    package static func isMeant(_ text: String) -> Bool {
        text.contains("yy") || text.contains("dd") || text.contains("HH")
    }

    /// Compiles a pattern.
    private static func fields(_ text: String) throws(ExpressionError) -> [Field] {
        // The fields outside of brackets, and behind them the fields of each open bracket.
        var open: [[Field]] = [[]]
        var literal: [UInt8] = []
        let bytes = Array(text.utf8)
        var position = 0
        func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) }
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "'") {
                let end = bytes[(position + 1)...].firstIndex(of: byte)
                guard let end else { throw ExpressionError("the form '\(text)' has a quote that is not closed") }
                literal += end == position + 1 ? [byte] : Array(bytes[(position + 1)..<end])
                position = end + 1
                continue
            }
            if byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]") {
                end(literal, byte == UInt8(ascii: "["), &open)
                if open.isEmpty { throw ExpressionError("the form '\(text)' has a bracket that was not opened") }
                literal = []
                position += 1
                continue
            }
            guard isLetter(byte) else {
                literal.append(byte)
                position += 1
                continue
            }
            var count = 1
            while position + count < bytes.count, bytes[position + count] == byte { count += 1 }
            append(literal, to: &open)
            literal = []
            open[open.count - 1].append(try field(byte, count, text))
            position += count
        }
        if open.count > 1 { throw ExpressionError("the form '\(text)' has a bracket that is not closed") }
        append(literal, to: &open)
        return open[0]
    }

    private static func append(_ literal: [UInt8], to open: inout [[Field]]) {
        if !literal.isEmpty { open[open.count - 1].append(.literal(literal)) }
    }

    /// Ends a literal at a bracket, and opens or closes an optional part; nothing is left where none was open.
    private static func end(_ literal: [UInt8], _ opens: Bool, _ open: inout [[Field]]) {
        append(literal, to: &open)
        if opens { return open.append([]) }
        let part = open.removeLast()
        if !open.isEmpty { open[open.count - 1].append(.optional(part)) }
    }

    private static func field(_ letter: UInt8, _ count: Int, _ text: String) throws(ExpressionError) -> Field {
        switch (Character(UnicodeScalar(letter)), count) {
        case ("y", 2): return .shortYear
        case ("y", 1), ("y", 4): return .year
        case ("M", 1...2): return .month
        case ("M", 3...4): return .monthName
        case ("d", 1...2): return .day
        case ("H", 1...2): return .hour
        case ("h", 1...2): return .shortHour
        case ("m", 1...2): return .minute
        case ("s", 1...2): return .second
        case ("S", _): return .fraction
        case ("a", 1): return .meridiem
        case ("X", 1...3), ("x", 1...3), ("Z", 1...5): return .offset
        default:
            let run = String(repeating: Character(UnicodeScalar(letter)), count: count)
            throw ExpressionError(
                "the form '\(text)' has '\(run)', which is not known. Use yyyy, MM, MMM, dd, HH, hh, mm, ss, SSS, a and "
                    + "XXX, and put other letters into quotes: 'T'")
        }
    }

    // MARK: Reading

    /// Returns the instant that a text states, in microseconds since 1970 UTC, or nil where it has another form.
    func microseconds(utf8 bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        var reader = DateReader(bytes: bytes)
        for field in fields where !reader.read(field) { return nil }
        guard reader.position == bytes.count, let local = reader.localSeconds else { return nil }
        let seconds = reader.offset.map { local - $0 } ?? zone?.instant(local: local) ?? local
        return seconds * 1_000_000 + reader.microseconds
    }

    package func microseconds(_ text: String) -> Int64? {
        var text = text
        return text.withUTF8 { microseconds(utf8: $0) }
    }
}

/// Reads the fields of one date.
private struct DateReader {
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0
    var year = 1970
    var month = 1
    var day = 1
    var hour = 0
    var minute = 0
    var second = 0
    var microseconds: Int64 = 0
    var isAfternoon: Bool?
    var offset: Int64?

    private static let months: [StaticString] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    /// Reads a field; false where something else stands there.
    mutating func read(_ field: DatePattern.Field) -> Bool {
        switch field {
        case .year, .month, .day, .hour, .shortHour, .minute, .second: readNumber(field)
        case .shortYear: readShortYear()
        case .monthName: readMonth()
        case .fraction: readFraction()
        case .meridiem: readMeridiem()
        case .offset: readOffset()
        case .literal(let text): readLiteral(text)
        case .optional(let part): readOptional(part)
        }
    }

    private mutating func readOptional(_ part: [DatePattern.Field]) -> Bool {
        let before = self
        for field in part where !read(field) {
            self = before
            break
        }
        return true
    }

    private mutating func readNumber(_ field: DatePattern.Field) -> Bool {
        guard let value = number(field == .year ? 4...4 : 1...2) else { return false }
        switch field {
        case .year: year = value
        case .month: month = value
        case .day: day = value
        case .minute: minute = value
        case .second: second = value
        default: hour = value
        }
        return true
    }

    /// Reads as many digits as there are, within a range of counts; nil where there are fewer.
    private mutating func number(_ counts: ClosedRange<Int>) -> Int? {
        var found = 0
        var count = 0
        while position < bytes.count, count < counts.upperBound, (0x30...0x39).contains(bytes[position]) {
            found = found * 10 + Int(bytes[position] - 0x30)
            position += 1
            count += 1
        }
        return counts.contains(count) ? found : nil
    }

    private mutating func readShortYear() -> Bool {
        guard let value = number(2...2) else { return false }
        year = value < 70 ? 2000 + value : 1900 + value
        return true
    }

    private mutating func readLiteral(_ text: [UInt8]) -> Bool {
        guard position + text.count <= bytes.count else { return false }
        for (index, byte) in text.enumerated() where bytes[position + index] != byte { return false }
        position += text.count
        return true
    }

    private func letter(at index: Int) -> UInt8? {
        guard index < bytes.count else { return nil }
        let byte = bytes[index] | 0x20
        return (0x61...0x7A).contains(byte) ? byte : nil
    }

    private mutating func readMonth() -> Bool {
        guard let first = letter(at: position), let second = letter(at: position + 1),
            let third = letter(at: position + 2)
        else { return false }
        let found = Self.months.firstIndex { name in
            name.utf8Start[0] == first && name.utf8Start[1] == second && name.utf8Start[2] == third
        }
        guard let found else { return false }
        month = found + 1
        position += 3
        while letter(at: position) != nil { position += 1 }
        return true
    }

    private mutating func readMeridiem() -> Bool {
        guard let first = letter(at: position), letter(at: position + 1) == UInt8(ascii: "m") else { return false }
        guard first == UInt8(ascii: "a") || first == UInt8(ascii: "p") else { return false }
        isAfternoon = first == UInt8(ascii: "p")
        position += 2
        return true
    }

    private mutating func readFraction() -> Bool {
        var unit: Int64 = 100_000
        var count = 0
        while position < bytes.count, count < 9, (0x30...0x39).contains(bytes[position]) {
            microseconds += Int64(bytes[position] - 0x30) * unit
            unit /= 10
            position += 1
            count += 1
        }
        return count > 0
    }

    private mutating func readOffset() -> Bool {
        guard position < bytes.count else { return false }
        let sign = bytes[position]
        position += 1
        if sign == UInt8(ascii: "Z") || sign == UInt8(ascii: "z") {
            offset = 0
            return true
        }
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return false }
        guard let hours = number(2...2), hours <= 23 else { return false }
        if position < bytes.count, bytes[position] == UInt8(ascii: ":") { position += 1 }
        var minutes = 0
        if position < bytes.count, (0x30...0x39).contains(bytes[position]) {
            guard let found = number(2...2), found <= 59 else { return false }
            minutes = found
        }
        let seconds = Int64(hours * 3600 + minutes * 60)
        offset = sign == UInt8(ascii: "-") ? -seconds : seconds
        return true
    }

    /// The seconds since 1970 of the date on the wall, or nil where there is no such date.
    var localSeconds: Int64? {
        var hour = hour
        if let isAfternoon {
            guard (1...12).contains(hour) else { return nil }
            hour = hour % 12 + (isAfternoon ? 12 : 0)
        }
        guard hour < 24, minute < 60, second < 60, let days = Timestamp.days(year: year, month: month, day: day) else {
            return nil
        }
        return days * 86_400 + Int64(hour * 3600 + minute * 60 + second)
    }
}
