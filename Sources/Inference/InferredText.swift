/// Writes names and comments as YAML.
enum InferredText {
    /// Returns a key as a path of a route, in quotes where it needs them.
    static func path(_ key: String) -> String {
        let isPlain =
            key.first.map { $0.isASCII && $0.isLetter } == true
            && key.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
        return isPlain ? key : "\"\(key)\""
    }

    /// Returns a text as one line of a comment.
    static func comment(_ text: String) -> String {
        let line = String(text.map { $0.isNewline || $0.asciiValue.map { $0 < 32 } == true ? " " : $0 })
        return "# " + (line.count > 160 ? line.prefix(160) + "…" : line)
    }
}
