import KafkaClient

/// Reads the W3C trace context of a record from its header `traceparent`.
///
/// The store and notifications hold it as its version 00: `00-TRACE-PARENT-FLAGS`, 55 characters. A header that is no
/// valid context counts as absent, as the specification asks.
enum TraceParent {
    /// The name of the header, and of the extension of CloudEvents.
    static let name = "traceparent"
    private static let length = 55

    /// Returns the context of the first header of that name, or nil where it is absent or not valid.
    static func find(in headers: [RecordHeader]) -> String? {
        headers.first { $0.isNamed(name) }.flatMap { $0.value }.flatMap(read)
    }

    /// Returns the context that bytes hold, or nil. A later version may have more fields, which are left out.
    static func read(_ bytes: [UInt8]) -> String? {
        guard bytes.count >= length else { return nil }
        let fields = bytes[..<length].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard fields.map(\.count) == [2, 32, 16, 2], fields.allSatisfy({ $0.allSatisfy(isLowercaseHexadecimal) }) else {
            return nil
        }
        let isFirstVersion = fields[0].allSatisfy { $0 == zero }
        let isWhole = bytes.count == length || !isFirstVersion && bytes[length] == UInt8(ascii: "-")
        let isReserved = fields[0].allSatisfy { $0 == UInt8(ascii: "f") }
        let isUnset = fields[1].allSatisfy { $0 == zero } || fields[2].allSatisfy { $0 == zero }
        guard isWhole, !isReserved, !isUnset else { return nil }
        return "00" + String(decoding: bytes[2..<length], as: UTF8.self)
    }

    private static let zero = UInt8(ascii: "0")

    private static func isLowercaseHexadecimal(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}
