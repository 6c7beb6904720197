import CSimdjson

/// A parsed document. Valid until its parser's next parse, and as long as the parser lives.
package struct JSONDocument {
    /// The document's value.
    package let root: JSONValue
}

/// A cursor on one value of a parsed document.
///
/// It points into the parser's memory and owns nothing. Using it after the parser's next parse, or after the parser is
/// gone, is a programmer's error that is not detected. Hold the parser in a property, or use `JSONParser.withValue`;
/// copy out values that have to live longer.
package struct JSONValue {
    /// The kinds of JSON value. A number is `integer` where it fits `Int64`, and `unsignedInteger` where it only fits
    /// `UInt64`. It is `double` where it is written with a fraction or an exponent, or does not fit 64 bits.
    package enum Kind: Sendable {
        case object, array, string, integer, unsignedInteger, double, boolean, null
    }

    let tape: UnsafePointer<UInt64>
    let strings: UnsafePointer<UInt8>
    let index: Int

    /// The marks that stand in the top byte of a tape word (simdjson's doc/tape.md).
    enum Mark {
        static let objectStart: UInt8 = 0x7B
        static let arrayStart: UInt8 = 0x5B
        static let string: UInt8 = 0x22
        static let integer: UInt8 = 0x6C
        static let unsignedInteger: UInt8 = 0x75
        static let double: UInt8 = 0x64
        static let isTrue: UInt8 = 0x74
        static let isFalse: UInt8 = 0x66
    }

    var mark: UInt8 { UInt8(truncatingIfNeeded: tape[index] >> 56) }

    /// The word after this value's last one.
    var nextIndex: Int {
        switch mark {
        case Mark.objectStart, Mark.arrayStart: Int(tape[index] & 0xFFFF_FFFF)
        case Mark.integer, Mark.unsignedInteger, Mark.double: index + 2
        default: index + 1
        }
    }

    func value(at other: Int) -> JSONValue { JSONValue(tape: tape, strings: strings, index: other) }

    func stringBytes(at word: Int) -> UnsafeBufferPointer<UInt8> {
        let text = strings + Int(tape[word] & 0x00FF_FFFF_FFFF_FFFF)
        let length = UInt32(littleEndian: UnsafeRawPointer(text).loadUnaligned(as: UInt32.self))
        return UnsafeBufferPointer(start: text + 4, count: Int(length))
    }

    /// The kind of value.
    package var kind: Kind {
        switch mark {
        case Mark.objectStart: .object
        case Mark.arrayStart: .array
        case Mark.string: .string
        case Mark.integer: .integer
        case Mark.unsignedInteger: .unsignedInteger
        case Mark.double: .double
        case Mark.isTrue, Mark.isFalse: .boolean
        default: .null
        }
    }

    /// Whether the value is null.
    package var isNull: Bool { kind == .null }

    /// The string's UTF-8 bytes with escapes undone, in the parser's memory; nil for other kinds.
    package var utf8: UnsafeBufferPointer<UInt8>? {
        mark == Mark.string ? stringBytes(at: index) : nil
    }

    /// The string; nil for other kinds.
    package var string: String? {
        utf8.map { Self.text($0) }
    }

    /// Makes a string of a text's or a key's bytes.
    ///
    /// The standard library would check texts with other characters than ASCII byte by byte; simdjson checks them
    /// sixty-four at a time.
    package static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        var span = UTF8Span(unchecked: bytes.span)
        if !span.checkForASCII(), json_is_utf8(bytes.baseAddress, bytes.count) == 0 {
            return String(decoding: bytes, as: UTF8.self)
        }
        return String(copying: span)
    }

    /// The integer; nil for other kinds, for numbers written with a fraction or exponent, and above `Int64.max`.
    package var int64: Int64? {
        mark == Mark.integer ? Int64(bitPattern: tape[index + 1]) : nil
    }

    /// The integer where it is not negative; nil for other kinds and for numbers with a fraction or exponent.
    package var uint64: UInt64? {
        switch mark {
        case Mark.unsignedInteger: tape[index + 1]
        case Mark.integer: UInt64(exactly: Int64(bitPattern: tape[index + 1]))
        default: nil
        }
    }

    /// Any number as the nearest double, which is an infinity beyond 1.8e308; nil for other kinds.
    package var double: Double? {
        switch mark {
        case Mark.double: Double(bitPattern: tape[index + 1])
        case Mark.integer: Double(Int64(bitPattern: tape[index + 1]))
        case Mark.unsignedInteger: Double(tape[index + 1])
        default: nil
        }
    }

    /// The boolean; nil for other kinds.
    package var bool: Bool? {
        switch mark {
        case Mark.isTrue: true
        case Mark.isFalse: false
        default: nil
        }
    }
}
