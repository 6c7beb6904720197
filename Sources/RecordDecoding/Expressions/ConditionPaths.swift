/// Takes paths with quoted keys, indexes and hyphens out of a condition, whose language knows plain names only.
///
/// Each becomes a name of its own: `content."m.relates_to".event_id = 'x'` is read as `path_0_ = 'x'`. A text in double
/// quotes is a value there, so a path that begins with a quoted key has a dot before it: `."Order Id" = 5`.
struct ConditionPaths {
    /// The condition with plain names.
    private(set) var text = ""
    private var paths: [RecordPath] = []

    init(_ condition: String) throws(ExpressionError) {
        let bytes = Array(condition.utf8)
        var output: [UInt8] = []
        var position = 0
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
                let end = Self.endOfLiteral(bytes, position)
                output += bytes[position..<end]
                position = end
            } else if Self.isLetter(byte) || bytes[position...].starts(with: Array(".\"".utf8)) {
                let (end, isPlain) = Self.endOfPath(bytes, position)
                if isPlain {
                    output += bytes[position..<end]
                } else {
                    output += Array("path_\(paths.count)_".utf8)
                    paths.append(try RecordPath(String(decoding: bytes[position..<end], as: UTF8.self)))
                }
                position = end
            } else {
                output.append(byte)
                position += 1
                // The name behind a sign of the language, such as a variable's, is no path of a record.
                guard byte == UInt8(ascii: "$") || byte == UInt8(ascii: "@") || Self.isDigit(byte) else { continue }
                while position < bytes.count, Self.isName(bytes[position]) {
                    output.append(bytes[position])
                    position += 1
                }
            }
        }
        text = String(decoding: output, as: UTF8.self)
    }

    /// Returns the path that names in the condition mean.
    func path(of names: [String]) -> RecordPath {
        if names.count == 1, names[0].hasPrefix("path_"), names[0].hasSuffix("_"),
            let index = Int(names[0].dropFirst(5).dropLast()), paths.indices.contains(index)
        {
            return paths[index]
        }
        return RecordPath(keys: names)
    }

    private static func endOfLiteral(_ bytes: [UInt8], _ start: Int) -> Int {
        var index = start + 1
        while index < bytes.count, bytes[index] != bytes[start] {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(index + 1, bytes.count)
    }

    /// Finds the end of a path, and tells whether the condition's own language can read it.
    private static func endOfPath(_ bytes: [UInt8], _ start: Int) -> (end: Int, isPlain: Bool) {
        var isPlain = true
        var index = start
        while index < bytes.count {
            let byte = bytes[index]
            let next = index + 1 < bytes.count ? bytes[index + 1] : 0
            if isName(byte) || byte == UInt8(ascii: ".") && next != UInt8(ascii: "\"") {
                index += 1
            } else if byte == UInt8(ascii: "-"), isLetter(next) {
                isPlain = false
                index += 1
            } else if byte == UInt8(ascii: "."), let end = bytes[(index + 2)...].firstIndex(of: next) {
                isPlain = false
                index = end + 1
            } else if byte == UInt8(ascii: "["), isDigit(next),
                let end = bytes[index...].firstIndex(of: UInt8(ascii: "]"))
            {
                isPlain = false
                index = end + 1
            } else {
                break
            }
        }
        return (index, isPlain)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_") || byte >= 0x80
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    private static func isName(_ byte: UInt8) -> Bool { isLetter(byte) || isDigit(byte) }
}
