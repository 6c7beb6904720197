import Foundation

/// The certificates of a file in PEM form. Of each only the end of its validity is read.
///
/// Source: RFC 5280, section 4.1, and RFC 7468.
enum CertificateFile {
    /// Returns the last second of each certificate, since 1970 UTC, in the order of the file.
    ///
    /// It returns nil where the file or one of its certificates cannot be read.
    static func ends(ofFile path: String) -> [Int64]? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        var ends: [Int64] = []
        var block: String?
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.hasPrefix("-----BEGIN "), line.hasSuffix("CERTIFICATE-----") {
                block = ""
            } else if line.hasPrefix("-----END "), let base64 = block {
                guard let end = Data(base64Encoded: base64).flatMap({ end(ofCertificate: [UInt8]($0)) }) else {
                    return nil
                }
                ends.append(end)
                block = nil
            } else {
                block?.append(line)
            }
        }
        return block == nil ? ends : nil
    }

    private static func end(ofCertificate bytes: [UInt8]) -> Int64? {
        var file = DERReader(bytes[...])
        guard var certificate = file.sequence(), var contents = certificate.sequence() else { return nil }
        // The version is left out of certificates of version 1.
        guard var element = contents.next() else { return nil }
        if element.tag == DERReader.version { element = contents.next() ?? element }
        // The serial number, which has been read, the algorithm, the issuer, the validity.
        guard element.tag == DERReader.integer, contents.sequence() != nil, contents.sequence() != nil,
            var validity = contents.sequence(), validity.next() != nil, let end = validity.next()
        else { return nil }
        return seconds(end.tag, String(decoding: end.content, as: UTF8.self))
    }

    /// Reads `YYMMDDhhmmssZ` or `YYYYMMDDhhmmssZ`. Two digits name a year from 1950 to 2049.
    private static func seconds(_ tag: UInt8, _ text: String) -> Int64? {
        let digits = text.utf8.dropLast().map { Int32($0) - 0x30 }
        let yearDigits = tag == DERReader.shortTime ? 2 : 4
        guard tag == DERReader.shortTime || tag == DERReader.longTime, text.hasSuffix("Z"),
            digits.count == yearDigits + 10, digits.allSatisfy({ (0...9).contains($0) })
        else { return nil }
        func pair(_ index: Int) -> Int32 { digits[index] * 10 + digits[index + 1] }
        let fields = stride(from: yearDigits, to: digits.count, by: 2).map(pair)
        var time = tm()
        let year = yearDigits == 4 ? pair(0) * 100 + pair(2) : pair(0) < 50 ? 2_000 + pair(0) : 1_900 + pair(0)
        (time.tm_year, time.tm_mon, time.tm_mday) = (year - 1_900, fields[0] - 1, fields[1])
        (time.tm_hour, time.tm_min, time.tm_sec) = (fields[2], fields[3], fields[4])
        return Int64(timegm(&time))
    }
}

/// Reads elements in the Distinguished Encoding Rules of ASN.1, one after the other.
private struct DERReader {
    static let integer: UInt8 = 0x02
    static let shortTime: UInt8 = 0x17
    static let longTime: UInt8 = 0x18
    static let version: UInt8 = 0xA0
    private static let sequenceTag: UInt8 = 0x30

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func next() -> (tag: UInt8, content: ArraySlice<UInt8>)? {
        guard let tag = rest.popFirst(), let first = rest.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard (1...4).contains(count), rest.count >= count else { return nil }
            length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(count)
        }
        guard length <= rest.count else { return nil }
        defer { rest = rest.dropFirst(length) }
        return (tag, rest.prefix(length))
    }

    mutating func sequence() -> DERReader? {
        guard let element = next(), element.tag == Self.sequenceTag else { return nil }
        return DERReader(element.content)
    }
}
