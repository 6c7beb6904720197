import Foundation
import GraphCore
import SQLiteStorage

/// The process at the other end of a socket, as the kernel names it.
struct ControlPeer: Sendable, Equatable {
    let process: Int32
    let user: UInt32

    /// The client's numbers, for the log and the audit.
    var actor: String { "user \(user), process \(process)" }

    /// Whether it may ask a worker of this user: root and the same user may, who could write the store's file anyway.
    func mayAsk(workerOf user: UInt32) -> Bool { self.user == 0 || self.user == user }
}

/// Unix sockets as the control channel needs them; the one place of their C calls.
///
/// Closing is the owner's, once.
struct ControlSocket: Sendable {
    /// The result of a read.
    enum Input: Equatable {
        case bytes([UInt8])
        /// The other end sends nothing more.
        case end
        /// Nothing has come, for now or within the time.
        case nothing
    }

    let descriptor: Int32

    /// The suffix of the socket's path behind the store's.
    /// The longest path in an address, in bytes: one is for the zero at its end.
    private static let maximumPathBytes = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
    private static let backlog: Int32 = 64

    // MARK: Making

    /// Listens at a path with mode 0600, in the place of a socket that was left over.
    ///
    /// - Throws: ``ControlError``.
    static func listen(at path: String) throws(ControlError) -> ControlSocket {
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFSOCK {
            throw unavailable("Something that is no socket stands at \(path)", remedy: "Move it away")
        }
        let socket = try make(isBlocking: false)
        // It has its name when it listens, so that nobody finds one that does not.
        let draft = path + ".new"
        if lstat(draft, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK { unlink(draft) }
        do throws(ControlError) {
            // The mode is set before the socket has a name, so that the umask has no effect on it.
            guard fchmod(socket.descriptor, 0o600) == 0 else { throw failure("set the mode of", path) }
            guard try withAddress(draft, { bind(socket.descriptor, $0, $1) }) == 0 else { throw failure("make", draft) }
            guard Glibc.listen(socket.descriptor, backlog) == 0, rename(draft, path) == 0 else {
                throw failure("listen at", path)
            }
        } catch {
            socket.close()
            unlink(draft)
            throw error
        }
        return socket
    }

    /// Connects to a path, for calls that wait up to the given time; nil where nobody listens.
    ///
    /// - Throws: ``ControlError``.
    static func connect(to path: String, timeoutSeconds: Int) throws(ControlError) -> ControlSocket? {
        let socket = try make(isBlocking: true)
        var limit = timeval(tv_sec: timeoutSeconds, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(socket.descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        do throws(ControlError) {
            if try withAddress(path, { Glibc.connect(socket.descriptor, $0, $1) }) == 0 { return socket }
        } catch {
            socket.close()
            throw error
        }
        let reason = errno
        socket.close()
        switch reason {
        case ENOENT, ECONNREFUSED, ENOTDIR: return nil
        case EACCES, EPERM:
            throw ControlError(
                .forbidden,
                "This user may not ask at the worker's socket \(path): \(String(cString: strerror(reason)))",
                remedy: "Run the command as the worker's user, or as root")
        case EAGAIN:
            throw ControlError(.silent, "The worker does not answer at \(path)", remedy: "See whether it still works")
        default:
            errno = reason
            throw failure("connect to", path)
        }
    }

    private static func make(isBlocking: Bool) throws(ControlError) -> ControlSocket {
        var type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        if !isBlocking { type |= Int32(SOCK_NONBLOCK.rawValue) }
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw failure("make", "a socket") }
        return ControlSocket(descriptor: descriptor)
    }

    /// Calls `body` with the address of a path. One that is too long for an address is named by its folder's descriptor.
    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws(ControlError) -> Int32 {
        if path.utf8.count <= maximumPathBytes { return call(path, body) }
        let url = URL(fileURLWithPath: path)
        let folder = open(url.deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw failure("open the folder of", path) }
        defer { Glibc.close(folder) }
        let short = "/proc/self/fd/\(folder)/\(url.lastPathComponent)"
        guard short.utf8.count <= maximumPathBytes else {
            throw unavailable("The name of \(path) is too long for a socket", remedy: "Give the store a shorter name")
        }
        return call(short, body)
    }

    private static func call(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    private static func failure(_ action: String, _ path: String) -> ControlError {
        unavailable(
            "Could not \(action) \(path): \(String(cString: strerror(errno)))",
            remedy: "Check that the folder may be written and its file system has sockets")
    }

    private static func unavailable(_ message: String, remedy: String) -> ControlError {
        ControlError(.unavailable, message, remedy: remedy)
    }

    // MARK: Using

    /// Accepts a client that waits, or nil where none does.
    func accept() -> ControlSocket? {
        let client = Glibc.accept(descriptor, nil, nil)
        if client < 0 { return nil }
        _ = fcntl(client, F_SETFD, FD_CLOEXEC)
        _ = fcntl(client, F_SETFL, O_NONBLOCK)
        return ControlSocket(descriptor: client)
    }

    /// The process at the other end; nil where the kernel does not tell.
    var peer: ControlPeer? {
        // struct ucred, which the C library's module does not have: process, user, group.
        var credentials: (process: Int32, user: UInt32, group: UInt32) = (0, 0, 0)
        let wanted = socklen_t(MemoryLayout.size(ofValue: credentials))
        var size = wanted
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0, size == wanted else {
            return nil
        }
        return ControlPeer(process: credentials.process, user: credentials.user)
    }

    /// Reads the bytes that have come.
    func read() -> Input {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        var count = recv(descriptor, &buffer, buffer.count, 0)
        while count < 0, errno == EINTR { count = recv(descriptor, &buffer, buffer.count, 0) }
        if count > 0 { return .bytes(Array(buffer[..<count])) }
        return count < 0 && errno == EAGAIN ? .nothing : .end
    }

    /// Writes as many bytes as the other end takes, and returns their number; nil where the other end is gone.
    func write(_ bytes: [UInt8]) -> Int? {
        let count = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        if count >= 0 { return count }
        return [EAGAIN, EINTR].contains(errno) ? 0 : nil
    }

    /// Closes the socket.
    func close() { Glibc.close(descriptor) }
}
