/// A command that runs on a pseudo-terminal and gets one answer when it asks.
struct PseudoTerminal {
    let status: Int
    let wasAsked: Bool
    let text: String

    init(_ command: [String], answering answer: String) throws {
        let script = """
            import os, pty, sys
            answer, command = sys.argv[1], sys.argv[2:]
            process, terminal = pty.fork()
            if process == 0:
                os.environ["TERM"] = "xterm"
                os.execv(command[0], command)
            text, answered = b"", False
            while True:
                try: part = os.read(terminal, 65536)
                except OSError: break
                if not part: break
                text += part
                if not answered and b"[y/N]" in text:
                    answered = True
                    os.write(terminal, answer.encode() + b"\\n")
            print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), answered, text.decode("utf-8", "replace"))
            """
        let output = try Foreign.run("python3", ["-c", script, answer] + command)
            .split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        status = Int(output[0]) ?? -1
        wasAsked = output[1] == "True"
        text = String(output[2])
    }
}
