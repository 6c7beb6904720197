import GraphCore
import RecordFiles

/// Makes names of a model out of the names of files and columns.
package enum InferredNames {
    /// Returns an entity's name: `work-orders` is `WorkOrder`.
    package static func entity(_ text: String) -> String {
        let words = words(text)
        let name = words.enumerated().map { index, word in
            capitalized(index == words.count - 1 ? singular(word) : word)
        }.joined()
        return name.first.map { $0.isLetter } == true ? name : "Record" + name
    }

    /// Returns a property's name: `Short text` is `shortText`; a name that can stay stays.
    package static func property(_ text: String, number: Int = 1) -> String {
        if ModelBuilder.isName(text), text != "_identity", text != "_entity" { return text }
        let words = words(text)
        guard let first = words.first else { return NumberedNames.column(number) }
        let name = first.lowercased() + words.dropFirst().map(capitalized).joined()
        return name.first.map { $0.isLetter } == true ? name : "column" + name
    }

    /// Returns the plural with a small first letter, for the inverse of a relationship.
    package static func plural(_ entity: String) -> String {
        let name = entity.prefix(1).lowercased() + entity.dropFirst()
        if ["s", "x", "z", "ch", "sh"].contains(where: name.hasSuffix) { return name + "es" }
        if name.hasSuffix("y"), let before = name.dropLast().last, !"aeiou".contains(before) {
            return name.dropLast() + "ies"
        }
        return name + "s"
    }

    /// Returns a reference's name: `asset_id` is `asset`.
    package static func reference(_ column: String, number: Int) -> String {
        let name = property(column, number: number)
        for suffix in ["_id", "Id", "ID", "_key", "_code"] where name.hasSuffix(suffix) && name.count > suffix.count {
            return String(name.dropLast(suffix.count))
        }
        return name
    }

    /// Returns a name without case and separators, for comparing.
    package static func folded(_ text: String) -> String { words(text).joined().lowercased() }

    /// Tells whether a key of JSON looks like the name of a field: it begins with a letter and has no quote.
    static func isField(_ text: String) -> Bool {
        guard let first = text.first, first.isLetter || first == "_" || first == "@" else { return false }
        return text.utf8.count <= 100 && !text.contains { $0 == "\"" || $0.isNewline }
    }

    private static func words(_ text: String) -> [String] {
        text.split { character in !character.unicodeScalars.allSatisfy { ModelBuilder.isName("a\($0)") && $0 != "_" } }
            .map(String.init)
    }

    private static func capitalized(_ word: String) -> String { word.prefix(1).uppercased() + word.dropFirst() }

    /// Words in `ies` and `uses` whose singular keeps the e.
    private static let plainPlurals = [
        "movies", "cookies", "calories", "selfies", "zombies", "rookies", "ties", "houses", "uses", "causes", "clauses",
        "spouses", "courses", "purses", "nurses",
    ]
    /// Words in `s` that have no other plural, or are none.
    private static let unchanged = ["series", "species", "news", "lens", "gas", "canvas", "atlas", "alias", "bias"]

    /// Returns the singular of a word; a table of the plural finds an entity of this name: see ``ColumnNames``.
    private static func singular(_ word: String) -> String {
        let small = word.lowercased()
        func ends(_ endings: [String]) -> Bool { endings.contains(where: small.hasSuffix) }
        guard small.hasSuffix("s"), small.count > 3, !ends(["ss", "us", "is"] + unchanged) else { return word }
        // The long ones end compounds, too: `warehouses`.
        if plainPlurals.contains(small) || ends(plainPlurals.filter { $0.count > 5 }) { return String(word.dropLast()) }
        if small.hasSuffix("ies"), small.count > 4 { return word.dropLast(3) + (small == word ? "y" : "Y") }
        if ends(["sses", "shes", "ches", "xes", "zzes", "uses", "aliases"]) { return String(word.dropLast(2)) }
        return String(word.dropLast())
    }
}
