import Foundation

/// UUIDs between their text and the 16 bytes that the store keeps.
public enum UUIDText {
    /// Returns the 16 bytes of a text with or without hyphens in any case, or nil where it is no UUID.
    public static func bytes(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { bytes(utf8: $0) }
    }

    /// Returns the 16 bytes of a text's UTF-8 form, or nil where it is no UUID.
    public static func bytes(utf8 text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard text.count == 32 || text.count == 36 else { return nil }
        let isHyphenated = text.count == 36
        var result: [UInt8] = []
        result.reserveCapacity(16)
        var index = 0
        while index < text.count {
            if isHyphenated, index == 8 || index == 13 || index == 18 || index == 23 {
                guard text[index] == UInt8(ascii: "-") else { return nil }
                index += 1
            }
            guard let high = digit(text[index]), let low = digit(text[index + 1]) else { return nil }
            result.append(high << 4 | low)
            index += 2
        }
        return result
    }

    /// Returns the text of 16 bytes in lower case with hyphens, or nil for another number of bytes.
    public static func text(_ bytes: [UInt8]) -> String? {
        guard bytes.count == 16 else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity(36)
        for (index, byte) in bytes.enumerated() {
            if index == 4 || index == 6 || index == 8 || index == 10 { result.append(UInt8(ascii: "-")) }
            result.append(character(byte >> 4))
            result.append(character(byte & 15))
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case 0x30...0x39: character - 0x30
        case 0x41...0x46: character - 0x37
        case 0x61...0x66: character - 0x57
        default: nil
        }
    }

    private static func character(_ digit: UInt8) -> UInt8 { digit < 10 ? 0x30 + digit : 0x57 + digit }

    /// Returns the bytes of a new random UUID.
    package static func random() -> [UInt8] {
        withUnsafeBytes(of: UUID().uuid) { [UInt8]($0) }
    }
}
