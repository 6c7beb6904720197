/// Names that take a number: of columns without a name, and names that would stand twice.
package enum NumberedNames {
    /// Returns the name that a column without one has by its place, from 1.
    package static func column(_ number: Int) -> String { "column\(number)" }

    /// Returns a name that none of those has, with a number behind it where needed.
    package static func unused(_ name: String, _ used: Set<String>) -> String {
        guard used.contains(name) else { return name }
        return (2...).lazy.map { "\(name)\($0)" }.first { !used.contains($0) } ?? name
    }
}
