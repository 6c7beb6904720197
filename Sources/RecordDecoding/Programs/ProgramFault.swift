/// The words for the errors of jq.
enum ProgramFault {
    /// Reads the compiler's errors, of which the first counts: `jq: error: … at <top-level>, line 2:` and the source.
    static func compiling(_ text: String) -> JQTokenizer.Refusal {
        var message = text.split(separator: "\n").first.map(String.init) ?? ""
        message.trimPrefix("jq: error: ")
        guard let place = message.range(of: " at <top-level>, line ") else {
            return JQTokenizer.Refusal(message: message, line: 1)
        }
        let line = Int(message[place.upperBound...].prefix { $0.isNumber }) ?? 1
        message = String(message[..<place.lowerBound]).replacing(" (Unix shell quoting issues?)", with: "")
        return JQTokenizer.Refusal(message: message, line: line)
    }

    /// Describes the fault of a run, without any value of the record.
    ///
    /// - Parameter literals: the texts that stand in the program.
    static func running(_ message: String, literals: Set<String>) -> String {
        if literals.contains(message) { return message }
        guard let phrase = phrases.first(where: { message.contains($0) }) else {
            return "one that the program raises, or whose words could hold a value of the record"
        }
        guard phrase.hasPrefix("Cannot"), let end = message.range(of: phrase)?.upperBound else { return phrase }
        let kind = message[end...].drop { $0 == " " }.prefix { $0.isLetter }
        return kinds.contains(String(kind)) ? "\(phrase) \(kind)" : phrase
    }

    private static let kinds: Set = ["null", "boolean", "number", "string", "array", "object"]

    /// The fixed parts of jq's messages.
    private static let phrases = [
        "Cannot iterate over", "Cannot index", "Cannot use", "Cannot check whether", "Cannot delete field at",
        "Cannot update field at", "Cannot determine", "Object keys must be strings", "Invalid path expression",
        "Invalid numeric literal", "Out of bounds negative array index", "Range bounds must be numeric",
        "Path must be specified as an array", "Start and end indices", "cannot be added", "cannot be subtracted",
        "cannot be multiplied", "cannot be divided because the divisor is zero", "cannot be divided",
        "cannot be parsed as a number", "cannot be parsed", "cannot be matched, as it is not a string",
        "cannot be sorted, as it is not an array", "cannot be grouped, as it is not an array",
        "cannot be csv-formatted",
        "cannot be tsv-formatted", "cannot be escaped for shell", "cannot have their containment checked",
        "has no keys", "has no length", "is not a valid format", "is not valid base64 data", "does not match format",
        "is not a string", "explode input must be a string", "implode input must be an array", "requires",
        "startswith() requires string inputs", "endswith() requires string inputs",
        "split input and separator must be strings",
        "(while parsing", "not valid in a csv row",
    ]
}
