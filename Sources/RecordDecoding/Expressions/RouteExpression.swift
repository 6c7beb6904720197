import GraphCore

/// A value that a route takes from a record: a path, a variable, or a template of texts around those.
package struct RouteExpression: Sendable {
    /// The things that a record brings besides its fields.
    enum Variable: Sendable, Equatable {
        case key(RecordPath)
        case header(String)
        case timestamp, topic, partition, offset, file, folder, row
        /// A path from the record's root, for expressions that begin elsewhere.
        case record(RecordPath)
        /// Of a split: the identity of the object around the element, the element's key in a map, the element itself.
        case parent, name, value
    }

    enum Part: Sendable {
        case text(String)
        case path(RecordPath)
        case variable(Variable)
    }

    /// The value of an expression for a record.
    enum Result: Equatable {
        /// A part of it is missing.
        case absent
        /// A part of it is null, and none is missing.
        case null
        case text(String)
    }

    /// The expression as it was written.
    let source: String
    let parts: [Part]
    /// Whether it has braces.
    let isTemplate: Bool
    /// Whether it looks at the whole key.
    let usesKey: Bool

    /// Reads an expression.
    ///
    /// - Parameter isSplit: whether it is about an element of a split.
    package init(_ source: String, isSplit: Bool = false) throws(ExpressionError) {
        self.source = source
        if source.isEmpty { throw ExpressionError("an expression is empty") }
        isTemplate = Self.isTemplate(source)
        parts =
            isTemplate
            ? try TemplateReader(source, isSplit: isSplit).parts() : [try Self.part(source, isSplit: isSplit)]
        usesKey = parts.contains { if case .variable(.key(.root)) = $0 { true } else { false } }
    }

    /// Tells whether a text holds a `{` outside of quotes.
    static func isTemplate(_ text: String) -> Bool {
        var isQuoted = false
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            if byte == UInt8(ascii: "{"), !isQuoted { return true }
        }
        return false
    }

    /// Tells whether a constant is a template: all its braces hold paths or variables, none JSON or nothing.
    static func isTemplate(constant text: String) -> Bool {
        guard isTemplate(text), let parts = try? RouteExpression(text, isSplit: true).parts else { return false }
        return parts.contains { part in
            switch part {
            case .text: false
            case .path(let path): path.text.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: ":") }
            case .variable: true
            }
        }
    }

    /// Reads the part that stands in braces, or alone.
    fileprivate static func part(_ text: String, isSplit: Bool) throws(ExpressionError) -> Part {
        guard text.hasPrefix("$") else {
            let path = try RecordPath(text)
            if path.isEmpty { throw ExpressionError("'\(text)' is no path") }
            return .path(path)
        }
        let end = text.firstIndex(of: ".") ?? text.endIndex
        let name = String(text[..<end])
        let rest = end == text.endIndex ? nil : String(text[text.index(after: end)...])
        return .variable(try variable(name, rest, isSplit: isSplit))
    }

    private static func variable(
        _ name: String, _ rest: String?, isSplit: Bool
    ) throws(ExpressionError) -> Variable {
        switch (name, rest) {
        case ("$key", let rest):
            return .key(try rest.map { text throws(ExpressionError) in try RecordPath(text) } ?? .root)
        case ("$header", let rest?) where !rest.isEmpty: return .header(rest)
        case ("$record", let rest?) where !rest.isEmpty: return .record(try RecordPath(rest))
        case ("$timestamp", nil): return .timestamp
        case ("$topic", nil): return .topic
        case ("$partition", nil): return .partition
        case ("$offset", nil): return .offset
        case ("$file", nil): return .file
        case ("$folder", nil): return .folder
        case ("$row", nil): return .row
        case ("$parent", nil) where isSplit: return .parent
        case ("$name", nil) where isSplit: return .name
        case ("$value", nil) where isSplit: return .value
        default: throw unknown(name, isSplit: isSplit)
        }
    }

    package static func unknown(_ name: String, isSplit: Bool) -> ExpressionError {
        let names =
            ["$key", "$header.NAME", "$timestamp", "$topic", "$partition", "$offset", "$file", "$folder", "$row"]
            + ["$record.PATH"] + (isSplit ? ["$parent", "$name", "$value"] : [])
        return ExpressionError(
            "'\(name)' is no known variable. The variables are \(names.joined(separator: ", "))",
            suggestion: ClosestName.find(name, among: names.map { String($0.prefix { $0 != "." }) }))
    }

    // MARK: What it looks at

    /// The path of an expression that is no more than one.
    var path: RecordPath? {
        guard parts.count == 1, case .path(let path) = parts[0] else { return nil }
        return path
    }

    /// The variable of an expression that is no more than one.
    var variable: Variable? {
        guard parts.count == 1, case .variable(let variable) = parts[0] else { return nil }
        return variable
    }

    /// The paths that begin where the expression does.
    var paths: [RecordPath] {
        parts.compactMap { if case .path(let path) = $0 { path } else { nil } }
    }

    /// Whether it looks at an element that need not be an object.
    var usesValue: Bool {
        parts.contains { if case .variable(.value) = $0 { true } else { false } }
    }
}

/// Cuts a template into its parts.
private struct TemplateReader {
    let source: String
    let isSplit: Bool
    private let bytes: [UInt8]

    init(_ source: String, isSplit: Bool) {
        self.source = source
        self.isSplit = isSplit
        bytes = Array(source.utf8)
    }

    func parts() throws(ExpressionError) -> [RouteExpression.Part] {
        var parts: [RouteExpression.Part] = []
        var text: [UInt8] = []
        var position = 0
        while position < bytes.count {
            let byte = bytes[position]
            let isDoubled = position + 1 < bytes.count && bytes[position + 1] == byte
            if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "}"), isDoubled {
                text.append(byte)
                position += 2
            } else if byte == UInt8(ascii: "{") {
                if !text.isEmpty { parts.append(.text(String(decoding: text, as: UTF8.self))) }
                text = []
                let end = try closingBrace(after: position)
                let content = String(decoding: bytes[(position + 1)..<end], as: UTF8.self)
                if content.isEmpty { throw ExpressionError("'\(source)' has empty braces") }
                parts.append(try RouteExpression.part(content, isSplit: isSplit))
                position = end + 1
            } else if byte == UInt8(ascii: "}") {
                throw ExpressionError("'\(source)' has a '}' without its '{'; write '}}' for a brace")
            } else {
                text.append(byte)
                position += 1
            }
        }
        if !text.isEmpty { parts.append(.text(String(decoding: text, as: UTF8.self))) }
        return parts
    }

    private func closingBrace(after start: Int) throws(ExpressionError) -> Int {
        var isQuoted = false
        for index in (start + 1)..<max(start + 1, bytes.count) {
            if bytes[index] == UInt8(ascii: "\"") { isQuoted.toggle() }
            if bytes[index] == UInt8(ascii: "}"), !isQuoted { return index }
        }
        throw ExpressionError("'\(source)' has a '{' that is not closed; write '{{' for a brace")
    }
}
