/// Finds the place where bytes stop being UTF-8. Used on the error path only.
enum UTF8Fault {
    /// Returns the offset of the first byte of the first malformed sequence, or nil where all is well.
    static func firstOffset(in bytes: UnsafeRawBufferPointer) -> Int? {
        var position = 0
        while position < bytes.count {
            guard let length = sequenceLength(at: position, in: bytes) else { return position }
            position += length
        }
        return nil
    }

    /// The lead bytes' lengths and the allowed second bytes, after table 3-7 of the Unicode standard.
    private static func sequenceLength(at position: Int, in bytes: UnsafeRawBufferPointer) -> Int? {
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch bytes[position] {
        case 0x00...0x7F: return 1
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: return nil
        }
        guard position + length <= bytes.count, second.contains(bytes[position + 1]) else { return nil }
        for offset in 2..<max(length, 2) where bytes[position + offset] & 0xC0 != 0x80 { return nil }
        return length
    }
}
