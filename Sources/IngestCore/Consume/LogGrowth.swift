/// Decides when the growth of the store's write-ahead log is worth telling: at a size that it has only where a reader
/// holds a snapshot, and each time it has doubled since.
struct LogGrowth: Sendable {
    /// The size that is told first, twice that at which the writer waits for short readers.
    static let firstBytes = 512 << 20
    private var nextBytes = firstBytes

    /// Takes the log's size, and returns whether to tell it.
    mutating func isWorthTelling(bytes: Int) -> Bool {
        if bytes < Self.firstBytes / 2 { nextBytes = Self.firstBytes }
        if bytes < nextBytes { return false }
        while nextBytes <= bytes { nextBytes *= 2 }
        return true
    }
}
