/// Names and lists in SQL text. Values are never written into SQL; they are bound.
enum SQLText {
    /// Begins a statement that inserts several rows of a save.
    ///
    /// With SQLite's default, ABORT, a statement of several rows keeps the former state of each page that it changes, to
    /// undo itself alone. A failed save is undone as a whole, so no row of it stays with FAIL either.
    static let insertion = "INSERT OR FAIL INTO"

    /// Returns a name as a quoted identifier.
    static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    /// Returns `count` parameters separated by commas.
    static func parameters(_ count: Int) -> String {
        Array(repeating: "?", count: count).joined(separator: ",")
    }

    /// Returns a text as a literal, for names of entities in schema text.
    static func literal(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
    }

    /// Returns texts of a model as a list of literals.
    static func literals(_ texts: [String]) -> String { texts.map(literal).joined(separator: ", ") }
}
