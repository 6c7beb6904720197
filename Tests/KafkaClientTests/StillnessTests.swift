import Foundation
import TestSupport
import Testing

/// The waits of tests end by what moves, not by the clock.
@Suite struct StillnessTests {
    @Test func `a process below that would run moves, and a stopped one does not`() throws {
        let shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments = ["-c", "(while :; do :; done) & echo $!; wait"]
        let output = Pipe()
        shell.standardOutput = output
        try shell.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let child = try #require(Int32(line.trimmingCharacters(in: .whitespacesAndNewlines)))
        defer {
            // The shell has SIGCHLD blocked, as this process has, and so would not see the loop's end.
            for process in [child, shell.processIdentifier] { kill(process, SIGKILL) }
            shell.waitUntilExit()
        }
        try wait(for: "the loop") { Stillness.somethingMoves(in: shell.processIdentifier) }
        kill(child, SIGSTOP)
        try wait(for: "the stop") { !Stillness.somethingMoves(in: shell.processIdentifier) }
        kill(child, SIGCONT)
        try wait(for: "the loop again") { Stillness.somethingMoves(in: shell.processIdentifier) }
    }
}
