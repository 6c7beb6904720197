import Foundation
import Synchronization

/// The process that runs a jq program: libjq ends its process where memory runs out, and knows no limit of time.
///
/// Frames are described in `CJq.h`. Used by one thread.
package final class ProgramProcess {
    /// The command by which the program becomes that process.
    package static let command = "run-jq"

    private static let executable = Mutex("")

    /// Runs programs in a process of the running executable, which takes ``command``.
    package static func useThisProgram() { use(executable: "/proc/self/exe") }

    /// Runs programs that are compiled from now on by another executable; for tests.
    static func use(executable path: String) { executable.withLock { $0 = path } }

    /// The answer to a frame.
    enum Answer: Equatable {
        case frame(mark: UInt8, [UInt8])
        case ended(ProgramRun.End)
        case silent
    }

    /// Why a process could not be started.
    struct StartFailure: Error {
        let reason: String
    }

    private let limits: LimitConfiguration
    private var process: pid_t = 0
    private var socket: Int32 = -1
    /// The bytes that were received last; the range is not taken yet. Head and content of an answer come at once.
    private var inbox = [UInt8](repeating: 0, count: 1 << 16)
    private var unread = 0..<0

    private let path: String

    /// Makes the object that starts processes later.
    ///
    /// - Parameter path: the executable, or nil for this process's own, or the worker's beside it.
    init(_ limits: LimitConfiguration, path: String? = nil) {
        self.limits = limits
        self.path = path ?? Self.executablePath
    }

    deinit { stop() }

    /// Whether there is a process, as far as is known.
    var isRunning: Bool { socket >= 0 }

    /// The process's number; for tests.
    var processID: Int32? { isRunning ? process : nil }

    /// The wait beyond the processor time, for a process that the system lets wait.
    private static let patienceSeconds = 8

    // MARK: Start and end

    /// Starts a process in the place of an earlier one.
    func start() throws(StartFailure) {
        stop()
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw StartFailure(reason: Self.words(errno))
        }
        var wait = timeval(tv_sec: limits.maxProgramMilliseconds / 1000 + Self.patienceSeconds, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(ends[0], SOL_SOCKET, option, &wait, socklen_t(MemoryLayout<timeval>.size))
        }
        let code = spawn(with: ends[1])
        close(ends[1])
        guard code == 0 else {
            close(ends[0])
            throw StartFailure(reason: Self.words(code))
        }
        socket = ends[0]
    }

    /// Ends the process.
    func stop() {
        guard isRunning else { return }
        kill(process, SIGKILL)
        _ = reap()
    }

    private func spawn(with input: Int32) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, input, STDOUT_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        // Signals that a terminal sends to the worker are for the worker alone.
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
        let arguments = [
            path, Self.command, "\(limits.maxProgramMegabytes << 20)", "\(limits.maxProgramMilliseconds)",
            "\(limits.maxRecordBytes)",
        ]
        // Nothing of the worker's surroundings reaches it but where its libraries are.
        let environment = getenv("LD_LIBRARY_PATH").map { ["LD_LIBRARY_PATH=" + String(cString: $0)] } ?? []
        var texts = arguments.map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { for text in texts + variables { free(text) } }
        return posix_spawn(&process, path, &actions, &attributes, &texts, &variables)
    }

    /// The executable: this process's own, or the worker's beside it.
    private static var executablePath: String {
        let path = executable.withLock { $0 }
        if !path.isEmpty { return path }
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return own.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
            + "/ingest-worker"
    }

    private static func words(_ code: Int32) -> String { String(cString: strerror(code)) }

    /// Waits for the process, which has ended or was killed, and returns the reason that it gives.
    private func reap() -> ProgramRun.End {
        close(socket)
        (socket, unread) = (-1, 0..<0)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        guard status & 0x7F == 0 else { return .other }
        return switch status >> 8 & 0xFF {
        case 94: .memory
        case 95: .time
        default: .other
        }
    }

    // MARK: Frames

    /// Sends a frame, and waits for its answer; a process that ended is gone then, and so is one that kept silent.
    func exchange(_ frame: [UInt8]) -> Answer { send(frame: frame) ?? answer() }

    /// Sends a frame; the process answers frames in their order.
    ///
    /// - Returns: nil, or how the process ended, or that it takes nothing; it is gone then.
    func send(frame: [UInt8]) -> Answer? {
        let length = UInt32(frame.count)
        return send((0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) } + frame) ? nil : given(errno)
    }

    /// Waits for the next answer; a process that ended is gone then, and so is one that kept silent.
    func answer() -> Answer {
        guard let head = receive(4) else { return given(errno) }
        let count = head.reversed().reduce(0) { $0 << 8 | Int($1) }
        // The outputs may pass their limit by the last of them, which memory bounds.
        guard (1...Int(Int32.max)).contains(count), let content = receive(count) else { return given(errno) }
        return .frame(mark: content[0], Array(content[1...]))
    }

    private func given(_ code: Int32) -> Answer {
        guard code == EAGAIN || code == EWOULDBLOCK else { return .ended(reap()) }
        stop()
        return .silent
    }

    private func send(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var sent = 0
            while sent < buffer.count {
                let rest = UnsafeRawBufferPointer(rebasing: buffer[sent...])
                let count = Foundation.send(socket, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
                if count < 0, errno == EINTR { continue }
                if count < 0 { return false }
                sent += count
            }
            return true
        }
    }

    /// Receives so many bytes; nil with an error number, which is 0 at the stream's end.
    private func receive(_ wanted: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < wanted {
            if unread.isEmpty {
                let count = inbox.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
                if count < 0, errno == EINTR { continue }
                if count == 0 { errno = 0 }
                if count <= 0 { return nil }
                unread = 0..<count
            }
            let part = unread.prefix(wanted - bytes.count)
            bytes += inbox[part]
            unread = part.upperBound..<unread.upperBound
        }
        return bytes
    }
}
