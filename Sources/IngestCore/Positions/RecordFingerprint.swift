import CZlib
import RecordDecoding

/// Distinguishes a record from another at the same offset, in a topic that was deleted and created again or lost its
/// end.
///
/// The store keeps its text, `TIME-SUM`, beside a position. The time is in milliseconds since 1970 UTC, or empty. The
/// sum is the CRC-32 of key and value in hexadecimal digits.
package struct RecordFingerprint: Sendable, Hashable, LosslessStringConvertible {
    let timestampMilliseconds: Int64?
    let checksum: UInt32

    package init(_ record: SourceRecord) {
        self.init(record.timestampMilliseconds, record.key, record.value)
    }

    /// - Parameter parts: the key and the value, or both in one.
    init(_ timestampMilliseconds: Int64?, _ parts: UnsafeRawBufferPointer?...) {
        self.timestampMilliseconds = timestampMilliseconds
        checksum = UInt32(truncatingIfNeeded: parts.reduce(crc32(0, nil, 0)) { Self.add($1, to: $0) })
    }

    private static func add(_ bytes: UnsafeRawBufferPointer?, to sum: UInt) -> UInt {
        guard let bytes, let start = bytes.baseAddress else { return sum }
        return crc32_z(sum, start.assumingMemoryBound(to: UInt8.self), bytes.count)
    }

    package init?(_ description: String) {
        let parts = description.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let checksum = UInt32(parts[1], radix: 16) else { return nil }
        guard parts[0].isEmpty || Int64(parts[0]) != nil else { return nil }
        timestampMilliseconds = Int64(parts[0])
        self.checksum = checksum
    }

    package var description: String {
        "\(timestampMilliseconds.map { "\($0)" } ?? "")-\(String(checksum, radix: 16))"
    }
}
