/// Reads a jq program by jq's lexical rules, and finds what makes a result depend on more than the record.
///
/// Source: `lexer.l` and `parser.y` of jq 1.6. It refuses no program for its grammar, which is left to jq's compiler.
struct JQTokenizer {
    /// Why a program is refused, and where.
    struct Refusal: Error, Equatable {
        /// The fault and its remedy.
        let message: String
        /// The line in the program, counted from 1.
        let line: Int
    }

    private enum Token: Equatable {
        case name(String), variable(String), sign(UInt8), other
    }

    /// The functions that look beyond the record, or speak to others than the worker.
    static let refusedFunctions: Set<String> = [
        "env", "input", "inputs", "input_filename", "input_line_number", "now", "localtime", "strflocaltime", "debug",
        "stderr", "halt", "halt_error", "modulemeta", "get_search_list", "get_prog_origin", "get_jq_origin",
    ]
    private static let refusedWords: Set<String> = ["import", "include", "module"]
    private static let largestDepth = 256

    private let bytes: [UInt8]
    private var position = 0
    private var line = 1
    /// The open brackets; a quote stands for a text around an interpolation.
    private var open: [UInt8] = []
    private var last = Token.other
    /// A name that is refused unless it turns out to be the key of an object.
    private var pending: (name: String, line: Int)?
    private var hasTokens = false
    /// The texts of the program that hold no interpolation and no escape.
    private(set) var literals: Set<String> = []
    /// Whether it calls `strptime`.
    private var parsesTimes = false

    /// Whether it reads times with an offset, which jq 1.6 reads and forgets.
    var dropsOffsets: Bool { parsesTimes && literals.contains { $0.contains("%z") || $0.contains("%Z") } }

    /// Checks a program.
    init(_ program: String) throws(Refusal) {
        bytes = Array(program.utf8)
        while position < bytes.count { try next() }
        try settlePending(before: .other)
        if let bracket = open.last {
            throw refusal(
                bracket == Self.quote
                    ? "A text of the program has no end"
                    : "The program leaves '\(Character(Unicode.Scalar(bracket)))' open")
        }
        if !hasTokens { throw refusal("The program is empty. Write '.' to take each record as the event that it is") }
    }

    private static let quote = UInt8(ascii: "\"")

    private func refusal(_ message: String, line: Int? = nil) -> Refusal {
        Refusal(message: message, line: line ?? self.line)
    }

    private func byte(_ offset: Int = 0) -> UInt8 {
        position + offset < bytes.count ? bytes[position + offset] : 0
    }

    private mutating func next() throws(Refusal) {
        switch byte() {
        case UInt8(ascii: " "), UInt8(ascii: "\t"): position += 1
        case UInt8(ascii: "\n"): newLine()
        case UInt8(ascii: "#"): while position < bytes.count, byte() != UInt8(ascii: "\n") { try skipComment() }
        case Self.quote: try readText()
        case 0..<0x20, 0x7F:
            throw refusal("The program has a control character outside of its texts. Remove it")
        default: try readToken()
        }
    }

    private mutating func newLine() {
        line += 1
        position += 1
    }

    private mutating func skipComment() throws(Refusal) {
        // Versions of jq differ in the ends of comments.
        if byte() == UInt8(ascii: "\r") { throw refusal("The program has a carriage return in a comment. Remove it") }
        position += 1
    }

    // MARK: Tokens

    private mutating func readToken() throws(Refusal) {
        let start = byte()
        if start == UInt8(ascii: "."), Self.isLetter(byte(1)) {
            // A field, whatever its name is.
            position += 1
            _ = readName()
            return try take(.other)
        }
        if Self.isDigit(start) || start == UInt8(ascii: ".") && Self.isDigit(byte(1)) {
            readNumber()
            return try take(.other)
        }
        if start == UInt8(ascii: "@") {
            position += 1
            while Self.isLetter(byte()) || Self.isDigit(byte()) { position += 1 }
            return try take(.other)
        }
        if Self.isLetter(start) {
            let name = readName()
            return try take(last == .sign(UInt8(ascii: "$")) ? .variable(name) : .name(name))
        }
        position += 1
        switch start {
        case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): try take(.sign(start), opens: true)
        case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"): try close(start)
        default: try take(.sign(start))
        }
    }

    /// Reads a name with its modules: `a::b`.
    private mutating func readName() -> String {
        let start = position
        while true {
            while Self.isLetter(byte()) || Self.isDigit(byte()) { position += 1 }
            guard byte() == UInt8(ascii: ":"), byte(1) == UInt8(ascii: ":"), Self.isLetter(byte(2)) else { break }
            position += 2
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func readNumber() {
        while Self.isDigit(byte()) || byte() == UInt8(ascii: ".") && Self.isDigit(byte(1)) { position += 1 }
        if byte() == UInt8(ascii: ".") && byte(1) != UInt8(ascii: ".") && !Self.isLetter(byte(1)) { position += 1 }
        guard byte() | 0x20 == UInt8(ascii: "e") else { return }
        let sign = byte(1) == UInt8(ascii: "+") || byte(1) == UInt8(ascii: "-") ? 1 : 0
        guard Self.isDigit(byte(1 + sign)) else { return }
        position += 1 + sign
        while Self.isDigit(byte()) { position += 1 }
    }

    private mutating func close(_ bracket: UInt8) throws(Refusal) {
        let pairs: [UInt8: UInt8] = [0x29: 0x28, 0x5D: 0x5B, 0x7D: 0x7B]
        guard let opened = open.popLast(), opened == pairs[bracket] else {
            throw refusal("'\(Character(Unicode.Scalar(bracket)))' of the program closes nothing")
        }
        // The bracket of an interpolation ends in the text around it.
        guard bracket == UInt8(ascii: ")"), open.last == Self.quote else { return try take(.sign(bracket)) }
        try settlePending(before: .sign(bracket))
        try readRestOfText()
    }

    // MARK: Texts

    private mutating func readText() throws(Refusal) {
        try settlePending(before: .other)
        position += 1
        open.append(Self.quote)
        let start = position
        let isWhole = try readRestOfText()
        if isWhole, !bytes[start..<(position - 1)].contains(UInt8(ascii: "\\")) {
            literals.insert(String(decoding: bytes[start..<(position - 1)], as: UTF8.self))
        }
    }

    /// Reads on to the text's end, or to an interpolation; returns whether the end was reached.
    @discardableResult
    private mutating func readRestOfText() throws(Refusal) -> Bool {
        while position < bytes.count {
            switch byte() {
            case Self.quote:
                position += 1
                open.removeLast()
                (last, hasTokens) = (.other, true)
                return true
            case UInt8(ascii: "\\") where byte(1) == UInt8(ascii: "("):
                position += 2
                try push(UInt8(ascii: "("))
                last = .sign(UInt8(ascii: "("))
                return false
            case UInt8(ascii: "\\"): position += 2
            case UInt8(ascii: "\n"): newLine()
            default: position += 1
            }
        }
        return false
    }

    private mutating func push(_ bracket: UInt8) throws(Refusal) {
        if open.count >= Self.largestDepth { throw refusal("The program is nested deeper than \(Self.largestDepth)") }
        open.append(bracket)
    }

    // MARK: Meaning

    private mutating func take(_ token: Token, opens: Bool = false) throws(Refusal) {
        if token == .name("strptime") { parsesTimes = true }
        try settlePending(before: token)
        let isKey = open.last == UInt8(ascii: "{") && (last == .sign(0x7B) || last == .sign(UInt8(ascii: ",")))
        switch token {
        case .name(let name) where Self.refusedFunctions.contains(name) || Self.refusedWords.contains(name):
            if !isKey { throw refused(name, line) }
            // `{now: 1}` and `{now}` name a field; `{now::x` and the like are no jq.
            pending = (name, line)
        case .name(let name) where name.contains("::"):
            throw refusal("'\(name)' is of a module. A route's program stands alone: write the function into it")
        case .variable("ENV"): throw refused("$ENV", line)
        case .sign(let sign) where opens: try push(sign)
        default: break
        }
        (last, hasTokens) = (token, true)
    }

    /// Refuses the name before this token unless it is the key of an object.
    private mutating func settlePending(before token: Token) throws(Refusal) {
        guard let (name, line) = pending else { return }
        pending = nil
        if [.sign(UInt8(ascii: ":")), .sign(UInt8(ascii: ",")), .sign(0x7D)].contains(token) { return }
        throw refused(name, line)
    }

    private func refused(_ name: String, _ line: Int) -> Refusal {
        let reason =
            Self.refusedWords.contains(name)
            ? "A route's program stands alone: write the functions into it"
            : "The output of a program depends on the record alone"
        return refusal("'\(name)' is not for programs of routes. \(reason)", line: line)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_")
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
