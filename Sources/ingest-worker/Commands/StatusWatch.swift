import Foundation
import GraphCore
import IngestCore
import Operations

/// Shows the status on the terminal again each second, until q, Ctrl-C or a signal.
struct StatusWatch {
    let source: StatusSource

    private static let secondsBetween = 1.0

    func run() throws {
        let interruption = Interruption()
        let keys = KeyboardMode()
        // The alternate screen without a cursor; the former one comes back at the end.
        Console.write("\u{1B}[?1049h\u{1B}[?25l")
        defer {
            Console.write("\u{1B}[?25h\u{1B}[?1049l")
            keys.restore()
        }
        var screen = StatusScreen()
        repeat {
            do {
                screen.show(try source.report(), at: MonotonicClock.seconds())
            } catch {
                screen.show(failure: "\(error)")
            }
            draw(screen)
        } while !interruption.isRequested && !keys.isEndPressed(withinSeconds: Self.secondsBetween, interruption)
    }

    private func draw(_ screen: StatusScreen) {
        let clock = Timestamp.text(WriterContext.systemTime()).dropFirst(11).prefix(8)
        let lines = screen.lines(
            size: Terminal.output.size, clock: "\(clock) UTC", hasColours: Terminal.output.takesColours)
        // Each line is cleared behind its text, and the rest of the screen at the end: nothing flickers.
        Console.write("\u{1B}[H" + lines.map { "\($0)\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J")
    }
}

/// Standard input as a keyboard: keys arrive one by one and are not shown, until it is restored.
private struct KeyboardMode {
    private let former: termios?

    init() {
        var mode = termios()
        guard isatty(STDIN_FILENO) == 1, tcgetattr(STDIN_FILENO, &mode) == 0 else {
            former = nil
            return
        }
        former = mode
        mode.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
        tcsetattr(STDIN_FILENO, TCSANOW, &mode)
    }

    func restore() {
        guard var former else { return }
        tcsetattr(STDIN_FILENO, TCSANOW, &former)
    }

    /// Waits, and tells whether a key that ends the command was pressed meanwhile.
    func isEndPressed(withinSeconds seconds: Double, _ interruption: Interruption) -> Bool {
        let end = MonotonicClock.seconds() + seconds
        while !interruption.isRequested {
            let left = end - MonotonicClock.seconds()
            if left <= 0 { return false }
            var input = pollfd(fd: former == nil ? -1 : STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            // A signal is noticed soon, whichever thread takes it.
            guard poll(&input, 1, Int32(min(left, 0.1) * 1000) + 1) > 0 else { continue }
            var key: UInt8 = 0
            // Where the terminal has gone there is nobody to show anything.
            guard read(STDIN_FILENO, &key, 1) == 1 else { return true }
            if [UInt8(ascii: "q"), UInt8(ascii: "Q"), 3, 4].contains(key) { return true }
        }
        return true
    }
}
