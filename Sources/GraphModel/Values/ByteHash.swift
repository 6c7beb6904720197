/// The hash of bytes that come from outside, such as identities and the names in records.
///
/// An event looks dozens of them up, and the standard library's hash takes five times as long. Each process has its own
/// keys, so nobody outside can choose bytes that collide. The method is wyhash's: products of 64 by 64 bits, folded.
package struct ByteHash {
    private let first: UInt64
    private let second: UInt64

    /// The process's own keys: the standard library's hash makes them from its own random ones.
    private static let keys = ByteHash(first: number(1), second: number(2))

    private static func number(_ seed: Int) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(seed)
        // Odd, so no key is zero.
        return UInt64(truncatingIfNeeded: hasher.finalize()) | 1
    }

    /// Returns the hash of a number for a table with a seed of its own.
    package static func hash(_ number: UInt64, seed: Int) -> Int {
        let keys = keys
        return Int(
            truncatingIfNeeded: fold(
                fold(number ^ keys.first, UInt64(truncatingIfNeeded: seed) ^ keys.second), keys.first))
    }

    /// Returns the hash of bytes for a table with a seed of its own.
    package static func hash(_ bytes: UnsafeRawBufferPointer, seed: Int) -> Int {
        let keys = keys
        var state = UInt64(truncatingIfNeeded: seed) ^ keys.first
        var (low, high): (UInt64, UInt64) = (0, 0)
        let count = bytes.count
        switch count {
        case 0: break
        case 1...3:
            low = UInt64(bytes[0]) << 16 | UInt64(bytes[count >> 1]) << 8 | UInt64(bytes[count - 1])
        case 4...7:
            low = UInt64(bytes.loadUnaligned(as: UInt32.self))
            high = UInt64(bytes.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self))
        default:
            var position = 0
            while count - position > 16 {
                state = fold(word(bytes, position) ^ keys.second, word(bytes, position + 8) ^ state)
                position += 16
            }
            // The last words may overlap what was read before.
            low = word(bytes, count > 16 ? count - 16 : 0)
            high = word(bytes, count - 8)
        }
        let folded = fold(low ^ keys.second, high ^ state)
        return Int(truncatingIfNeeded: fold(folded ^ UInt64(truncatingIfNeeded: count), keys.second))
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ position: Int) -> UInt64 {
        bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
    }

    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}

extension Value {
    /// Hashes the parts that ``==(_:_:)`` compares: of a text its bytes.
    public func hash(into hasher: inout Hasher) { hasher.combine(_rawHashValue(seed: 0)) }

    /// Gives tables the hash itself; by way of a `Hasher` it would be hashed by the standard library once more.
    public func _rawHashValue(seed: Int) -> Int {
        switch self {
        case .null: ByteHash.hash(0, seed: seed)
        case .integer(let number): ByteHash.hash(UInt64(bitPattern: number), seed: seed)
        // Zero has two forms, which are equal.
        case .double(let number): ByteHash.hash((number == 0 ? 0 : number).bitPattern, seed: seed)
        case .text(let text): Self.hash(text, seed: seed)
        case .blob(let bytes): bytes.withUnsafeBytes { ByteHash.hash($0, seed: seed) }
        }
    }

    private static func hash(_ text: String, seed: Int) -> Int {
        let known = text.utf8.withContiguousStorageIfAvailable { ByteHash.hash(UnsafeRawBufferPointer($0), seed: seed) }
        if let known { return known }
        var text = text
        return text.withUTF8 { ByteHash.hash(UnsafeRawBufferPointer($0), seed: seed) }
    }
}
