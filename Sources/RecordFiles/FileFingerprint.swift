/// Tells whether the file at a path is still the one that was read before: a hash of its first bytes, and no times.
///
/// A file that has grown since keeps its fingerprint, because the hash is compared over the bytes that were there then.
package struct FileFingerprint: Hashable, Sendable, CustomStringConvertible {
    /// How many bytes of the file are hashed: its first 64 KiB, or all of a shorter file.
    package let byteCount: Int
    /// The 64-bit FNV-1a hash of those bytes as they are on disk.
    package let hash: UInt64

    /// The most bytes that are hashed.
    package static let maximumBytes = 64 << 10

    init(_ bytes: some Collection<UInt8>) {
        byteCount = bytes.count
        hash = bytes.fnv1a
    }

    /// Reads a fingerprint back from its description; nil where the text is none.
    package init?(_ description: String) {
        let parts = description.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let byteCount = Int(parts[0]), (0...Self.maximumBytes).contains(byteCount),
            parts[1].count == 16, let hash = UInt64(parts[1], radix: 16)
        else { return nil }
        self.byteCount = byteCount
        self.hash = hash
    }

    /// The byte count and the hash, such as `65536-0123456789abcdef`, for keeping.
    package var description: String {
        let digits = String(hash, radix: 16)
        return "\(byteCount)-\(String(repeating: "0", count: 16 - digits.count))\(digits)"
    }
}
