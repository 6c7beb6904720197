import StoreSQL

extension SQLText {
    /// Begins a statement that inserts several rows of a save.
    ///
    /// With SQLite's default, ABORT, a statement of several rows keeps the former state of each page that it changes, to
    /// undo itself alone. A failed save is undone as a whole, so no row of it stays with FAIL either.
    static let insertion = "INSERT OR FAIL INTO"

    /// Returns `count` parameters separated by commas.
    static func parameters(_ count: Int) -> String {
        Array(repeating: "?", count: count).joined(separator: ",")
    }
}
