/// Patterns of texts in SQL.
enum TextPatterns {
    /// SQLite takes patterns of GLOB up to 50,000 bytes; escapes make them longer.
    static let maximumPatternBytes = 10_000

    /// Returns the least text above all that begin with a prefix, or nil where there is none.
    static func end(ofPrefix prefix: String) -> String? {
        var scalars = Array(prefix.unicodeScalars)
        while let last = scalars.popLast() {
            // The store compares UTF-8 bytes, whose order is that of the scalars; surrogates are none.
            let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
            guard let scalar = Unicode.Scalar(next) else { continue }
            scalars.append(scalar)
            return String(String.UnicodeScalarView(scalars))
        }
        return nil
    }

    /// Returns the GLOB pattern of a LIKE pattern of NSPredicate: `*` any characters, `?` one, `\` escapes.
    static func glob(like pattern: String) -> String {
        var glob = String.UnicodeScalarView()
        var isEscaped = false
        for scalar in pattern.unicodeScalars {
            if !isEscaped, scalar == "\\" {
                isEscaped = true
                continue
            }
            let isSpecial = scalar == "[" || isEscaped && (scalar == "*" || scalar == "?")
            if isSpecial { glob.append("[") }
            glob.append(scalar)
            if isSpecial { glob.append("]") }
            isEscaped = false
        }
        if isEscaped { glob.append("\\") }
        return String(glob)
    }
}

extension TextPatterns {
    /// Tells whether a text matches a LIKE pattern of NSPredicate, as ``glob(like:)`` has SQLite tell it.
    static func matches(_ text: String, like pattern: String) -> Bool {
        let parts = Self.parts(pattern)
        let scalars = Array(text.unicodeScalars)
        var (part, position) = (0, 0)
        // Where to go on if what follows the last `*` does not fit: it takes one scalar more.
        var retry: (part: Int, position: Int)?
        while position < scalars.count {
            if part < parts.count, parts[part] == .any {
                part += 1
                retry = (part, position)
            } else if part < parts.count, parts[part] == .one || parts[part] == .scalar(scalars[position]) {
                part += 1
                position += 1
            } else if let last = retry {
                retry = (last.part, last.position + 1)
                (part, position) = (last.part, last.position + 1)
            } else {
                return false
            }
        }
        return parts[part...].allSatisfy { $0 == .any }
    }

    private enum Part: Equatable {
        case any, one
        case scalar(Unicode.Scalar)
    }

    private static func parts(_ pattern: String) -> [Part] {
        var parts: [Part] = []
        var isEscaped = false
        for scalar in pattern.unicodeScalars {
            if !isEscaped, scalar == "\\" {
                isEscaped = true
                continue
            }
            switch scalar {
            case "*" where !isEscaped: parts.append(.any)
            case "?" where !isEscaped: parts.append(.one)
            default: parts.append(.scalar(scalar))
            }
            isEscaped = false
        }
        return isEscaped ? parts + [.scalar("\\")] : parts
    }
}

/// The order of decimals in their canonical text, exact at any number of digits.
enum DecimalCollation {
    static let name = "objectgraph_decimal"

    static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int32 {
        let minus = UInt8(ascii: "-")
        switch (left.first == minus, right.first == minus) {
        case (false, false): return magnitude(left[...], right[...])
        case (true, true): return magnitude(right.dropFirst(), left.dropFirst())
        case (true, false): return -1
        case (false, true): return 1
        }
    }

    private static func magnitude(
        _ left: Slice<UnsafeRawBufferPointer>, _ right: Slice<UnsafeRawBufferPointer>
    ) -> Int32 {
        let point = UInt8(ascii: ".")
        let leftWhole = left.prefix { $0 != point }.count
        let rightWhole = right.prefix { $0 != point }.count
        if leftWhole != rightWhole { return leftWhole < rightWhole ? -1 : 1 }
        if left.lexicographicallyPrecedes(right) { return -1 }
        return right.lexicographicallyPrecedes(left) ? 1 : 0
    }
}
