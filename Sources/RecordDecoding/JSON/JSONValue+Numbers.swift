import CSimdjson
import GraphCore

/// Numbers with all their digits: a double has room for 15 to 17.
extension JSONValue {
    /// The text of a number of the kind `double` as the document has it; nil for other kinds.
    package var writtenDouble: UnsafeBufferPointer<UInt8>? {
        guard mark == Mark.double else { return nil }
        var count = 0
        let text = json_number_text(tape, index, &count)
        return UnsafeBufferPointer(start: text, count: count)
    }

    /// The text of a number of the kind `double` whose shortest form as a double is another number; nil for other ones.
    var inexactDouble: UnsafeBufferPointer<UInt8>? {
        guard let text = writtenDouble else { return nil }
        let hasExponent = text.contains { $0 | 0x20 == UInt8(ascii: "e") }
        // Doubles keep any 15 digits.
        if text.count <= 16, !hasExponent { return nil }
        if !hasExponent, !text.contains(UInt8(ascii: ".")) { return text }
        let number = Double(bitPattern: tape[index + 1])
        return number.isFinite && DecimalDigits(text) == DecimalDigits("\(number)".utf8) ? nil : text
    }

    /// The text of a number without a loss of digits; nil for other kinds.
    package var numberText: String? {
        switch kind {
        case .integer: int64.map { String($0) }
        case .unsignedInteger: uint64.map { String($0) }
        case .double:
            inexactDouble.map { DecimalText.canonical(Self.text($0)) ?? Self.text($0) } ?? double.map { "\($0)" }
        default: nil
        }
    }

    /// The whole number of 64 bits with a sign that a number is, however it is written; nil where it is none.
    package var wholeNumber: Int64? { int64 ?? writtenDouble.flatMap { DecimalDigits($0)?.wholeNumber } }

    /// The digits of a number that is written without a fraction and an exponent, however many they are; nil for other
    /// values.
    package var wholeNumberText: String? {
        guard let text = writtenDouble else { return numberText }
        return text.allSatisfy { $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) } ? Self.text(text) : nil
    }
}
