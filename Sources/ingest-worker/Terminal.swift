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

    /// The columns and rows; those of an old terminal where it does not say.
    var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}
