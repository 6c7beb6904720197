import Foundation

/// Comparisons of texts by their bytes, in time that is linear in their length.
///
/// The standard library compares texts as Unicode does, and puts the marks behind a letter in order for that. A letter with
/// many marks takes time that is quadratic in their number. A text that a record brings is compared here.
extension String {
    /// Tells whether two texts have the same UTF-8 bytes.
    package func hasSameBytes(as other: String) -> Bool { Value.hasSameBytes(self, other) }

    /// Tells whether the text's UTF-8 bytes are these.
    package func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        let known = utf8.withContiguousStorageIfAvailable { UnsafeRawBufferPointer($0).hasSameBytes(as: other) }
        return known ?? utf8.elementsEqual(other)
    }

    /// Tells whether the bytes of another text stand in this one.
    package func hasBytes(of part: String) -> Bool {
        var (text, part) = (self, part)
        return text.withUTF8 { text in part.withUTF8 { ByteSearch.contains(text, $0) } }
    }
}

extension UnsafeRawBufferPointer {
    /// Tells whether two buffers hold the same bytes.
    @inlinable package func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let start = baseAddress, let otherStart = other.baseAddress else { return true }
        return memcmp(start, otherStart, count) == 0
    }

    /// Tells whether the bytes come before others, as SQLite sorts texts and blobs.
    package func precedes(_ other: UnsafeRawBufferPointer) -> Bool {
        let shared = Swift.min(count, other.count)
        guard shared > 0, let start = baseAddress, let otherStart = other.baseAddress else {
            return count < other.count
        }
        let order = memcmp(start, otherStart, shared)
        return order == 0 ? count < other.count : order < 0
    }
}

/// The search for bytes in others.
package enum ByteSearch {
    /// Tells whether `part` stands in `text`.
    ///
    /// Source: D. E. Knuth, J. H. Morris, V. R. Pratt, "Fast Pattern Matching in Strings" (1977).
    package static func contains(_ text: UnsafeBufferPointer<UInt8>, _ part: UnsafeBufferPointer<UInt8>) -> Bool {
        if part.count > text.count { return false }
        guard let first = part.first else { return true }
        if part.count == 1 { return text.contains(first) }
        // For each length of a match, the length of the longest one that it also ends with.
        var shorter = [0]
        shorter.reserveCapacity(part.count)
        var length = 0
        for index in 1..<part.count {
            while length > 0, part[index] != part[length] { length = shorter[length - 1] }
            if part[index] == part[length] { length += 1 }
            shorter.append(length)
        }
        length = 0
        for byte in text {
            while length > 0, byte != part[length] { length = shorter[length - 1] }
            if byte == part[length] { length += 1 }
            if length == part.count { return true }
        }
        return false
    }
}
