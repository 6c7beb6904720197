/// Patterns and beginnings of texts.
package enum TextPatterns {
    /// The limit of a pattern, which leaves room for the escapes of a storage's own language.
    static let maximumPatternBytes = 10_000

    /// Returns the least text above all that begin with a prefix, or nil where there is none.
    package static func end(ofPrefix prefix: String) -> String? {
        var scalars = Array(prefix.unicodeScalars)
        while let last = scalars.popLast() {
            // Texts compare by their UTF-8 bytes, which gives the order of the scalars; surrogates are no scalars.
            let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
            guard let scalar = Unicode.Scalar(next) else { continue }
            scalars.append(scalar)
            return String(String.UnicodeScalarView(scalars))
        }
        return nil
    }

    /// Tells whether a text matches a LIKE pattern of NSPredicate.
    package static func matches(_ text: String, like pattern: String) -> Bool {
        let reading = ReadInterruption.current
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
                if last.position & 0xFFF == 0xFFF, reading?.isRequested ?? false { return false }
                retry = (last.part, last.position + 1)
                (part, position) = (last.part, last.position + 1)
            } else {
                return false
            }
        }
        return parts[part...].allSatisfy { $0 == .any }
    }

    /// A part of a pattern: any text, one scalar, or a stated one.
    package enum Part: Equatable {
        case any, one
        case scalar(Unicode.Scalar)
    }

    /// Returns the parts of a LIKE pattern of NSPredicate.
    package static func parts(_ pattern: String) -> [Part] {
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
