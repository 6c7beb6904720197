/// Makes names of a model out of those of files and columns.
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
        if isName(text), text != "_identity", text != "_entity" { return text }
        let words = words(text)
        guard let first = words.first else { return "column\(number)" }
        let name = first.lowercased() + words.dropFirst().map(capitalized).joined()
        return name.first.map { $0.isLetter } == true ? name : "column" + name
    }

    /// Returns a name that none of those has, with a number behind it where needed.
    package static func unused(_ name: String, _ used: Set<String>) -> String {
        guard used.contains(name) else { return name }
        return (2...).lazy.map { "\(name)\($0)" }.first { !used.contains($0) } ?? name
    }

    /// Returns the plural with a small first letter, for the inverse of a relationship.
    package static func plural(_ entity: String) -> String {
        let name = entity.prefix(1).lowercased() + entity.dropFirst()
        if name.hasSuffix("s") || name.hasSuffix("x") || name.hasSuffix("ch") { return name + "es" }
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

    private static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !(0x30...0x39).contains(first), text.utf8.count <= 255 else { return false }
        return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
    }

    private static func words(_ text: String) -> [String] {
        text.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }.map(String.init)
    }

    private static func capitalized(_ word: String) -> String { word.prefix(1).uppercased() + word.dropFirst() }

    private static func singular(_ word: String) -> String {
        if word.hasSuffix("ies"), word.count > 4 { return word.dropLast(3) + "y" }
        let isPlural = word.hasSuffix("s") && word.count > 3 && !["ss", "us", "is"].contains { word.hasSuffix($0) }
        return isPlural ? String(word.dropLast()) : word
    }
}
