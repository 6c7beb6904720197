/// Decides when the growth of the store's write-ahead log is worth a warning. The log reaches the first size only where
/// a reader holds a snapshot. Each doubling since is worth another warning.
struct LogGrowth: Sendable {
    /// The size of the first warning, twice that at which the writer waits for short readers.
    static let firstBytes = 512 << 20
    private var nextBytes = firstBytes

    /// Notes the log's size, and tells whether to warn.
    mutating func isWorthTelling(bytes: Int) -> Bool {
        if bytes < Self.firstBytes / 2 { nextBytes = Self.firstBytes }
        if bytes < nextBytes { return false }
        while nextBytes <= bytes { nextBytes *= 2 }
        return true
    }
}
