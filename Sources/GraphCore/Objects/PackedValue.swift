/// A value as the objects of a context hold it: 16 bytes that own nothing, so that a copy counts no reference.
///
/// A text's or blob's bytes stand in a ``ValueArena``, which has to live as long.
@frozen package struct PackedValue: BitwiseCopyable {
    @usableFromInline enum Kind: UInt64 {
        case null, integer, double, text, blob
    }

    /// The number's bits, or the address of the bytes.
    @usableFromInline let word: UInt64
    /// The kind in the lowest three bits, and the number of bytes above them.
    @usableFromInline let tag: UInt64

    @inlinable init(_ kind: Kind, _ word: UInt64, count: Int = 0) {
        self.word = word
        tag = kind.rawValue | UInt64(count) << 3
    }

    private init(_ kind: Kind, _ bytes: UnsafeRawBufferPointer) {
        self.init(kind, UInt64(UInt(bitPattern: bytes.baseAddress)), count: bytes.count)
    }

    @inlinable package static var null: PackedValue { PackedValue(.null, 0) }

    @inlinable package static func integer(_ number: Int64) -> PackedValue {
        PackedValue(.integer, UInt64(bitPattern: number))
    }

    static func double(_ number: Double) -> PackedValue { PackedValue(.double, number.bitPattern) }

    /// - Parameter bytes: valid UTF-8 that outlives the value.
    static func text(_ bytes: UnsafeRawBufferPointer) -> PackedValue { PackedValue(.text, bytes) }

    static func blob(_ bytes: UnsafeRawBufferPointer) -> PackedValue { PackedValue(.blob, bytes) }

    @inlinable var kind: Kind { Kind(rawValue: tag & 7) ?? .null }

    @inlinable var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: UInt(word)), count: Int(tag >> 3))
    }

    /// The value by its form, without a copy of its bytes.
    @frozen package enum Content {
        case null
        case integer(Int64)
        case double(Double)
        case text(UnsafeRawBufferPointer)
        case blob(UnsafeRawBufferPointer)
    }

    @inlinable package var content: Content {
        switch kind {
        case .null: .null
        case .integer: .integer(Int64(bitPattern: word))
        case .double: .double(Double(bitPattern: word))
        case .text: .text(bytes)
        case .blob: .blob(bytes)
        }
    }

    @inlinable package var isNull: Bool { kind == .null }

    /// The integer, or nil for any other form.
    @inlinable package var integer: Int64? { kind == .integer ? Int64(bitPattern: word) : nil }

    /// The value with a copy of its bytes.
    package var value: Value {
        switch content {
        case .null: .null
        case .integer(let number): .integer(number)
        case .double(let number): .double(number)
        case .text(let bytes): .text(Self.string(bytes))
        case .blob(let bytes): .blob([UInt8](bytes))
        }
    }

    private static func string(_ bytes: UnsafeRawBufferPointer) -> String {
        // The bytes were those of a text: the standard library need not look for faults again.
        var span = UTF8Span(unchecked: bytes.bindMemory(to: UInt8.self).span)
        _ = span.checkForASCII()
        return String(copying: span)
    }

    /// Compares as ``Value`` does.
    package static func == (left: PackedValue, right: PackedValue) -> Bool {
        if left.tag != right.tag { return false }
        switch left.kind {
        case .null: return true
        case .integer: return left.word == right.word
        case .double: return Double(bitPattern: left.word) == Double(bitPattern: right.word)
        case .text, .blob: return left.word == right.word || left.bytes.hasSameBytes(as: right.bytes)
        }
    }

    package static func != (left: PackedValue, right: PackedValue) -> Bool { !(left == right) }

    /// The number as a double, or nil where the value is no number.
    private var number: Double? {
        switch content {
        case .integer(let number): Double(number)
        case .double(let number): number
        case .null, .text, .blob: nil
        }
    }

    /// Compares two versions as ``Value/isOlder(than:)`` does.
    func isOlder(than other: PackedValue) -> Bool? {
        switch (content, other.content) {
        case (.integer(let left), .integer(let right)): return left < right
        case (.text(let left), .text(let right)): return left.precedes(right)
        default:
            guard let left = number, let right = other.number else { return nil }
            return left < right
        }
    }

    /// The hash of the value that is not packed, for a table with a seed of its own.
    func hash(seed: Int = 0) -> Int {
        switch content {
        case .null: Value.null._rawHashValue(seed: seed)
        case .integer(let number): Value.integer(number)._rawHashValue(seed: seed)
        case .double(let number): Value.double(number)._rawHashValue(seed: seed)
        case .text(let bytes), .blob(let bytes): ByteHash.hash(bytes, seed: seed)
        }
    }

    /// Tells whether an index has this value before another one, or returns nil where they are of different kinds or
    /// have no order.
    package func isBefore(_ other: PackedValue) -> Bool? {
        switch (content, other.content) {
        case (.integer(let number), .integer(let other)): number < other
        case (.text(let bytes), .text(let other)), (.blob(let bytes), .blob(let other)): bytes.precedes(other)
        default: nil
        }
    }

    /// Compares with a value that is not packed.
    package static func == (left: PackedValue, right: borrowing Value) -> Bool {
        switch right {
        case .null: left.kind == .null
        case .integer(let number): left.kind == .integer && left.word == UInt64(bitPattern: number)
        case .double(let number): left.kind == .double && Double(bitPattern: left.word) == number
        case .text(let text): left.kind == .text && text.hasSameBytes(as: left.bytes)
        case .blob(let bytes): left.kind == .blob && bytes.withUnsafeBytes { $0.hasSameBytes(as: left.bytes) }
        }
    }
}
