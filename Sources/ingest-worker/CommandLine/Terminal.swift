import Foundation

/// A terminal that a descriptor leads to.
struct Terminal {
    let descriptor: Int32

    static let output = Terminal(descriptor: STDOUT_FILENO)
    static let errors = Terminal(descriptor: STDERR_FILENO)

    /// Whether the descriptor leads to a terminal that can move its cursor.
    var isPresent: Bool {
        isatty(descriptor) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
    }

    /// Whether colours may be used: on a terminal, unless `NO_COLOR` is set to something.
    var takesColours: Bool { isPresent && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty }

    /// The columns and rows; 80 by 24, as on old terminals, where the terminal does not tell.
    var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Asks a question that only yes answers; nil where no terminal can answer it.
    static func asks(_ lines: [String], _ question: String) -> Bool? {
        guard isatty(STDIN_FILENO) == 1, errors.isPresent else { return nil }
        for line in lines { Console.note(line) }
        Console.note("\(question) [y/N]")
        return readLine()?.lowercased().hasPrefix("y") == true
    }
}
