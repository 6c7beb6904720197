/// Finds the end of one element of a JSON array, whatever its nesting, byte by byte and without recursion.
struct ElementScanner {
    enum Outcome {
        /// The cursor stands behind the element.
        case ended
        /// A line break was found in a string: the cursor stands at it.
        case cut
        /// All bytes are scanned and the element goes on.
        case needsMore
    }

    private enum Mode {
        case scalar, string, container
    }

    /// Levels whose kind is remembered; deeper ones, which no parser here accepts, are only counted.
    private static let rememberedLevels = 1024

    private var mode = Mode.scalar
    private var isInString = false
    private var isEscaped = false
    private var depth = 0
    /// A bit for each remembered level: 1 for an object.
    private var kinds: [UInt64] = []

    /// Begins behind an element's first byte, forgetting the element before.
    mutating func restart(first: UInt8) {
        isInString = first == 0x22
        isEscaped = false
        depth = 0
        switch first {
        case 0x22: mode = .string
        case 0x7B, 0x5B:
            mode = .container
            open(isObject: first == 0x7B)
        default: mode = .scalar
        }
    }

    /// Scans on from the cursor, counting line breaks.
    mutating func scan(_ window: ByteWindow, line: inout Int) -> Outcome {
        while window.cursor < window.end {
            let outcome: Outcome
            if isInString {
                outcome = scanString(window)
            } else if mode == .scalar {
                return scanScalar(window)
            } else {
                outcome = scanContainer(window, line: &line)
            }
            if outcome != .needsMore { return outcome }
        }
        return .needsMore
    }

    /// Scans to the end of a string and says so only where the string is the whole element.
    private mutating func scanString(_ window: ByteWindow) -> Outcome {
        let base = window.base
        let end = window.end
        var cursor = window.cursor
        defer { window.cursor = cursor }
        while cursor < end {
            let byte = base[cursor]
            if byte == 0x0A { return .cut }
            cursor += 1
            if isEscaped {
                isEscaped = false
            } else if byte == 0x5C {
                isEscaped = true
            } else if byte == 0x22 {
                isInString = false
                return mode == .string ? .ended : .needsMore
            }
        }
        return .needsMore
    }

    private func scanScalar(_ window: ByteWindow) -> Outcome {
        while window.cursor < window.end {
            switch window.base[window.cursor] {
            case 0x20, 0x09, 0x0A, 0x0D, 0x2C, 0x5D, 0x5B, 0x7B, 0x7D, 0x22: return .ended
            default: window.cursor += 1
            }
        }
        return .needsMore
    }

    private mutating func scanContainer(_ window: ByteWindow, line: inout Int) -> Outcome {
        let base = window.base
        let end = window.end
        var cursor = window.cursor
        defer { window.cursor = cursor }
        while cursor < end {
            let byte = base[cursor]
            cursor += 1
            switch byte {
            case 0x22:
                isInString = true
                return .needsMore
            case 0x7B, 0x5B: open(isObject: byte == 0x7B)
            case 0x7D, 0x5D:
                close(isObject: byte == 0x7D)
                if depth == 0 { return .ended }
            case 0x0A: line += 1
            default: break
            }
        }
        return .needsMore
    }

    private mutating func open(isObject: Bool) {
        if depth < Self.rememberedLevels {
            let word = depth >> 6
            if word == kinds.count { kinds.append(0) }
            let bit: UInt64 = 1 << UInt64(depth & 63)
            if isObject { kinds[word] |= bit } else { kinds[word] &= ~bit }
        }
        depth += 1
    }

    /// Closes the innermost container of that kind and those inside it; passes over a bracket that closes nothing.
    private mutating func close(isObject: Bool) {
        var level = depth - 1
        if level >= Self.rememberedLevels {
            depth = level
            return
        }
        while level >= 0 {
            let isObjectLevel = kinds[level >> 6] >> UInt64(level & 63) & 1 == 1
            if isObjectLevel == isObject {
                depth = level
                return
            }
            level -= 1
        }
    }
}
