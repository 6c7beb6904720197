import GraphCore
import Logging

/// Is a metadata value ready to be written.
indirect enum LogValue {
    case text(String)
    /// A number or boolean.
    case literal(String)
    case list([LogValue])
    case object([(String, LogValue)])
}

/// Is one log line before it is written.
struct LogLine {
    let time: LogTime
    let level: Logger.Level
    let message: String
    let fields: [(String, LogValue)]

    /// `2026-01-02T03:04:05.678Z info  message key=value`.
    var text: String {
        var line = time.description
        line += " "
        line += level.rawValue
        line += String(repeating: " ", count: max(0, 5 - level.rawValue.utf8.count))
        line += " "
        LogEscape.append(message, to: &line, quotes: false)
        for (key, value) in fields {
            line += " "
            LogEscape.append(key, to: &line, quotes: false)
            line += "="
            Self.append(value, to: &line)
        }
        return line + "\n"
    }

    /// One JSON object, with the time, the level and the message first.
    var json: String {
        var line = "{\"time\":\"\(time)\",\"level\":\"\(level.rawValue)\",\"message\":"
        LogEscape.appendQuoted(message, to: &line)
        for (key, value) in fields {
            line += ","
            // JSON readers keep the last of two equal keys: metadata must not hide the line's own.
            LogEscape.appendQuoted(["time", "level", "message"].contains(key) ? key + "_" : key, to: &line)
            line += ":"
            Self.appendJSON(value, to: &line)
        }
        return line + "}\n"
    }

    private static func append(_ value: LogValue, to line: inout String) {
        switch value {
        case .text(let text):
            if LogEscape.needsQuotes(text) {
                LogEscape.appendQuoted(text, to: &line)
            } else {
                line += text
            }
        case .literal(let text): line += text
        case .list, .object: appendJSON(value, to: &line)
        }
    }

    private static func appendJSON(_ value: LogValue, to line: inout String) {
        switch value {
        case .text(let text): LogEscape.appendQuoted(text, to: &line)
        case .literal(let text): line += text
        case .list(let values):
            line += "["
            for (index, value) in values.enumerated() {
                if index > 0 { line += "," }
                appendJSON(value, to: &line)
            }
            line += "]"
        case .object(let values):
            line += "{"
            for (index, (key, value)) in values.enumerated() {
                if index > 0 { line += "," }
                LogEscape.appendQuoted(key, to: &line)
                line += ":"
                appendJSON(value, to: &line)
            }
            line += "}"
        }
    }
}

/// Escapes text so that it neither breaks a line nor steers a terminal.
package enum LogEscape {
    static func needsQuotes(_ text: String) -> Bool {
        text.isEmpty || text.utf8.contains { $0 <= 0x20 || $0 == 0x22 || $0 == 0x3D || $0 == 0x5C || $0 == 0x7F }
            || text.unicodeScalars.contains(where: mustEscape)
    }

    static func appendQuoted(_ text: String, to line: inout String) {
        line += "\""
        append(text, to: &line, quotes: true)
        line += "\""
    }

    package static func append(_ text: String, to line: inout String, quotes: Bool) {
        for scalar in text.unicodeScalars {
            if mustEscape(scalar) || quotes && (scalar == "\"" || scalar == "\\") {
                JSONText.appendEscape(scalar, to: &line)
            } else {
                line.unicodeScalars.append(scalar)
            }
        }
    }

    /// Control characters, and the two separators that some readers take for line ends.
    private static func mustEscape(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.value == 0x2028 || scalar.value == 0x2029
    }
}
