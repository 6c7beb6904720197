/// Names and lists in SQL text. Values are never written into SQL; they are bound.
package enum SQLText {
    /// Returns a name as a quoted identifier.
    package static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    /// Returns a text as a literal, for names of entities in schema text.
    package static func literal(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
    }

    /// Returns texts of a model as a list of literals.
    package static func literals(_ texts: [String]) -> String { texts.map(literal).joined(separator: ", ") }
}
