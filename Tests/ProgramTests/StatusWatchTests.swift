import Foundation
import Testing

/// `status --watch` on a terminal of its own.
@Suite struct StatusWatchTests {
    private let workspace: Workspace
    private let store: String

    init() throws {
        workspace = try Workspace()
        store = try workspace.sampleStore()
    }

    /// Runs the command on a pseudo-terminal of 80 columns until it has drawn twice, then presses a key. Returns the
    /// outcome, whether the terminal shows typed keys again, and what was written.
    private func watch(key: String, environment: String = "") throws -> (outcome: Substring, text: String) {
        let script = """
            import fcntl, os, pty, select, signal, struct, sys, termios, time
            key, store, program, setting = sys.argv[1:5]
            process, terminal = pty.fork()
            if process == 0:
                os.environ["TERM"] = "xterm"
                os.environ.pop("NO_COLOR", None)
                if setting: os.environ.update([setting.split("=")])
                os.execv(program, [program, "status", "--watch", "--set", "store.path=" + store, "--set", "http.port=1"])
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            text, pressed, end = b"", False, time.time() + 60
            while time.time() < end:
                if not select.select([terminal], [], [], 1)[0]: continue
                try: part = os.read(terminal, 65536)
                except OSError: break
                if not part: break
                text += part
                if not pressed and text.count(b"q ends") >= 2:
                    pressed = True
                    if key == "TERM": os.kill(process, signal.SIGTERM)
                    else: os.write(terminal, key.encode().decode("unicode_escape").encode())
            status = os.waitpid(process, 0)[1]
            print(os.waitstatus_to_exitcode(status), pressed)
            print(text.decode("utf-8", "replace"))
            """
        let output = try Foreign.run("python3", ["-c", script, key, store, Program.url.path, environment])
        let end = output.firstIndex(of: "\n") ?? output.endIndex
        return (output[..<end], String(output[end...]))
    }

    @Test(arguments: ["q", "\\x03", "TERM"])
    func `it draws again and again, and leaves the terminal as it was`(_ key: String) throws {
        let (outcome, text) = try watch(key: key)
        #expect(outcome == "0 True", "\(text)")
        #expect(text.contains("\u{1B}[?1049h") && text.contains("No worker answers"))
        #expect(text.contains("samples/chat-events.jsonl"))
        #expect(text.contains("\u{1B}[1;33m"))
        let end = text.trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(end.hasSuffix("\u{1B}[?25h\u{1B}[?1049l"), "\(end.suffix(100).debugDescription)")
    }

    @Test func `it has no colours where NO_COLOR is set`() throws {
        let (outcome, text) = try watch(key: "q", environment: "NO_COLOR=1")
        #expect(outcome == "0 True")
        #expect(text.contains("No worker answers") && !text.contains("\u{1B}[1;"))
    }

    @Test func `without a terminal the status is shown once`() throws {
        let result = try Program.run(["status", "--watch", "--set", "store.path=\(store)", "--set", "http.port=1"])
        #expect(result.status == 75)
        #expect(result.errors.contains("Standard output is no terminal: the status is shown once"))
        #expect(result.output.hasPrefix("No worker answers; the store was read alone.\n"))
        #expect(!result.output.contains("\u{1B}"))
        #expect(try Program.run(["status", "--watch", "--json"]).status == 64)
    }
}
