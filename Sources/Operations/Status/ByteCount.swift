import GraphModel

/// Sizes for a person.
enum ByteCount {
    /// Writes bytes in units of a thousand: `512 B`, `4.1 kB`, `277.7 MB`.
    static func text(_ bytes: Int) -> String {
        let units = ["B", "kB", "MB", "GB", "TB"]
        var (number, unit) = (Double(max(0, bytes)), 0)
        while number >= 999.95, unit < units.count - 1 {
            number /= 1000
            unit += 1
        }
        return "\(grouped((number * 10).rounded() / 10)) \(units[unit])"
    }
}
