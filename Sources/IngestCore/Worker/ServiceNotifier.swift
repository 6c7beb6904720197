import Foundation
import ServiceLifecycle

/// Tells the service manager that the worker runs, how it is, and that it is alive, where the unit has `Type=notify`.
struct ServiceNotifier: Service {
    private let socket: NoticeSocket
    private let watchdogSeconds: Double?
    private let isAlive: @Sendable () -> Bool
    private let status: @Sendable () -> String

    /// Makes a notifier, or returns nil where no manager listens.
    ///
    /// - Parameter environment: the process's; `NOTIFY_SOCKET` and `WATCHDOG_USEC` are read, as `sd_notify(3)` says.
    init?(
        environment: [String: String], isAlive: @escaping @Sendable () -> Bool,
        status: @escaping @Sendable () -> String
    ) {
        guard let socket = environment["NOTIFY_SOCKET"].flatMap({ NoticeSocket(path: $0) }) else { return nil }
        self.socket = socket
        let isOwn = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Double($0) }
        watchdogSeconds = isOwn ? microseconds.map { $0 / 1_000_000 } : nil
        self.isAlive = isAlive
        self.status = status
    }

    func run() async throws {
        var notices = ServiceNotices(watchdogSeconds: watchdogSeconds)
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            socket.send(
                notices.due(isAlive: isAlive(), status: status(), at: HealthMonitor.monotonicSeconds()))
            let interval = notices.intervalSeconds
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: .seconds(interval)) }
        }
        socket.send([ServiceNotices.stopping])
    }
}

/// The datagram socket at which a service manager takes notices.
struct NoticeSocket: Sendable {
    private let path: [UInt8]

    /// - Parameter path: a path, or with `@` before it a name of Linux's abstract sockets; nil for any other.
    init?(path: String) {
        let bytes = Array(path.utf8)
        guard bytes.count > 1, bytes.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path) else { return nil }
        switch bytes[0] {
        case UInt8(ascii: "/"): self.path = bytes
        case UInt8(ascii: "@"): self.path = [0] + bytes.dropFirst()
        default: return nil
        }
    }

    /// Sends notices as one datagram. A manager that does not take it changes nothing for the worker.
    func send(_ notices: [String]) {
        if notices.isEmpty { return }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        if descriptor < 0 { return }
        defer { Glibc.close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        // The length ends the name: an abstract one may not have bytes of the padding.
        let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
        let text = notices.joined(separator: "\n")
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = sendto(descriptor, text, text.utf8.count, Int32(MSG_NOSIGNAL), pointer, length)
            }
        }
    }
}
