/// Names and lists in SQL text. Values are never written into SQL; they are bound.
enum PostgresText {
    /// Returns a name as a quoted identifier.
    static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    /// Returns a text as a literal, for names of entities in schema text.
    static func literal(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
    }

    /// Returns texts of a model as a list of literals.
    static func literals(_ texts: [String]) -> String { texts.map(literal).joined(separator: ", ") }

    /// Returns a name with a suffix, of which the name loses the end where PostgreSQL would cut the whole.
    static func name(_ name: String, suffix: String) -> String {
        var name = name
        while !name.isEmpty, name.utf8.count + suffix.utf8.count > PostgresSchema.maximumNameLength {
            name.removeLast()
        }
        return name + suffix
    }
}
