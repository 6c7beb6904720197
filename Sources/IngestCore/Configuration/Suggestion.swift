/// Finds the known name that somebody probably meant.
package enum Suggestion {
    /// Returns the closest candidate, or nil when none is close enough to be helpful.
    package static func closest(to name: String, among candidates: some Sequence<String>) -> String? {
        let wanted = normalized(name)
        guard !wanted.isEmpty else { return nil }
        var best: (candidate: String, distance: Int)?
        for candidate in candidates {
            let known = normalized(candidate)
            let distance = distance(wanted, known)
            guard distance <= max(2, max(wanted.count, known.count) / 3), distance < (best?.distance ?? .max) else {
                continue
            }
            best = (candidate, distance)
        }
        return best?.candidate
    }

    /// Leaves letters and digits only, in lower case: how names of variables and keys are compared.
    static func normalized(_ name: String) -> [UInt8] {
        name.utf8.compactMap { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): byte
            default: nil
            }
        }
    }

    /// Counts the insertions, deletions, replacements and swaps of neighbours between two names.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        // Names beyond this length are not typing mistakes, and the cost is quadratic.
        guard left.count <= 64, right.count <= 64 else { return .max }
        var beforePrevious = [Int]()
        var previous = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let cost = left[row] == right[column] ? 0 : 1
                var best = min(previous[column + 1] + 1, current[column] + 1, previous[column] + cost)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    best = min(best, beforePrevious[column - 1] + 1)
                }
                current.append(best)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[right.count]
    }
}
