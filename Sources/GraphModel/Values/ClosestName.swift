/// Finds the known name that is closest to a mistyped one.
package enum ClosestName {
    /// Returns the known name nearest to `name`, or nil if none is near.
    package static func find(_ name: String, among known: some Sequence<String>) -> String? {
        let wanted = normalized(name)
        if wanted.isEmpty { return nil }
        var best: (name: String, distance: Int)?
        for candidate in known {
            let other = normalized(candidate)
            let distance = distance(wanted, other)
            if distance <= max(2, max(wanted.count, other.count) / 3), distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best?.name
    }

    /// Returns a remedy that names the nearest known name, or all of them.
    package static func remedy(_ name: String, among known: [String]) -> String {
        if let closest = find(name, among: known) { return "Did you mean '\(closest)'?" }
        return known.isEmpty ? "There are none" : "Known are: \(known.joined(separator: ", "))"
    }

    /// Leaves out ASCII's punctuation, and the case of its letters: how names of variables and keys are compared.
    package static func normalized(_ name: String) -> [UInt8] {
        name.utf8.compactMap { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...: byte
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
