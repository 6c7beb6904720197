/// Writes texts as YAML.
package enum YAMLText {
    /// Words that YAML takes for something else than texts.
    private static let words: Set = ["true", "false", "yes", "no", "on", "off", "y", "n", "null"]

    /// Returns a text as it is where YAML reads it as a text, otherwise in quotes.
    package static func scalar(_ text: String) -> String {
        let isPlain =
            text.utf8.first.map { ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7A } ?? false
            && text.utf8.allSatisfy {
                ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7A || $0 >= 0x30 && $0 <= 0x39 || $0 == UInt8(ascii: "_")
                    || $0 == UInt8(ascii: "-")
            }
        return isPlain && !words.contains(text.lowercased()) ? text : quoted(text)
    }

    /// Returns a text in double quotes, with escapes for what YAML does not allow or would fold.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x22, 0x5C, 0..<0x20, 0x7F...0xA0, 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF:
                JSONText.appendEscape(scalar, to: &quoted)
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
