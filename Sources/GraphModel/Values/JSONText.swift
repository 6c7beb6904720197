/// Writes JSON text by hand: small, without intermediate objects.
public enum JSONText {
    /// Appends a text as a JSON string.
    public static func append(_ text: String, to output: inout String) {
        output.append("\"")
        if text.utf8.contains(where: { isEscaped(UInt32($0)) }) {
            for scalar in text.unicodeScalars {
                if isEscaped(scalar.value) {
                    appendEscape(scalar, to: &output)
                } else {
                    output.unicodeScalars.append(scalar)
                }
            }
        } else {
            output += text
        }
        output.append("\"")
    }

    private static func isEscaped(_ code: UInt32) -> Bool { code < 0x20 || code == 0x22 || code == 0x5C }

    /// Appends a scalar of at most 16 bits as JSON, YAML and log lines escape it.
    package static func appendEscape(_ scalar: Unicode.Scalar, to output: inout String) {
        switch scalar {
        case "\"": output += "\\\""
        case "\\": output += "\\\\"
        case "\n": output += "\\n"
        case "\r": output += "\\r"
        case "\t": output += "\\t"
        default:
            let digits = String(scalar.value, radix: 16)
            output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }

    /// Returns a text as a JSON string.
    public static func string(_ text: String) -> String {
        var output = ""
        append(text, to: &output)
        return output
    }
}

extension AttributeType {
    /// Appends a stored value as JSON: numbers and booleans as themselves, decimals too, the rest as strings.
    ///
    /// The result is always JSON. A value of another type, which only another program can have stored, becomes a string.
    public func appendJSON(_ value: Value, to output: inout String) {
        switch (self, value) {
        case (_, .null): output += "null"
        case (.boolean, .integer(let number)): output += number == 0 ? "false" : "true"
        case (.date, .integer): JSONText.append(text(of: value), to: &output)
        case (_, .integer(let number)): output += String(number)
        case (_, .double(let number)): output += number.isFinite ? "\(number)" : "null"
        case (.decimal, .text(let text)) where JSONSyntax.isValid(text),
            (.transformable, .text(let text)) where JSONSyntax.isValid(text):
            output += text
        default: JSONText.append(text(of: value), to: &output)
        }
    }
}
