import Foundation
import GraphModel
import ServiceLifecycle
import Synchronization

/// Tells the service manager that the process runs, how it is, and that it is alive, where the unit has `Type=notify`.
///
/// A process has one, for one subject after the other: the verification of a store, a rebuild, the worker.
package final class ServiceNotifier: Sendable {
    /// The worker, or the work before it, as the manager sees it.
    struct Subject: Sendable {
        /// Whether the worker runs. Until then the manager is asked for more time.
        var isReady = true
        /// Whether the worker's loop goes round.
        var isAlive: @Sendable () -> Bool
        /// The state in one sentence.
        var status: @Sendable () -> String
    }

    private struct State {
        var notices: ServiceNotices
        var subject: Subject?
    }

    private let socket: NoticeSocket
    private let state: Mutex<State>

    /// Makes a notifier, or returns nil where no manager listens.
    ///
    /// - Parameter environment: the process's; `NOTIFY_SOCKET` and `WATCHDOG_USEC` are read, as `sd_notify(3)` says.
    package init?(environment: [String: String]) {
        guard let socket = environment["NOTIFY_SOCKET"].flatMap({ NoticeSocket(path: $0) }) else { return nil }
        self.socket = socket
        let isOwn = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Double($0) }
        let watchdogSeconds = isOwn ? microseconds.map { $0 / 1_000_000 } : nil
        state = Mutex(State(notices: ServiceNotices(watchdogSeconds: watchdogSeconds)))
    }

    /// Calls `body`, and gives signs of life meanwhile. At its end the manager hears that the process ends.
    package func whileRunning<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        let signs = Task { await giveSigns() }
        defer {
            signs.cancel()
            // Only of a service that runs: a start that fails is no end.
            if state.withLock({ $0.notices.isAnnounced }) { socket.send([ServiceNotices.stopping]) }
        }
        return try await body()
    }

    /// Reports another subject from now on, at once. Without one, as between two workers, the process only lives.
    func tell(of subject: Subject?) {
        state.withLock { $0.subject = subject }
        sendDue()
    }

    private func giveSigns() async {
        let interval = state.withLock { $0.notices.intervalSeconds }
        while !Task.isCancelled {
            sendDue()
            try? await Task.sleep(for: .seconds(interval))
        }
    }

    private func sendDue() {
        state.withLock { state in
            let subject = state.subject
            guard subject != nil || state.notices.isAnnounced else { return }
            let before = state.notices
            let due = state.notices.due(
                isReady: subject?.isReady ?? true, isAlive: subject?.isAlive() ?? true, status: subject?.status(),
                at: MonotonicClock.seconds())
            // They are due again next time.
            if !socket.send(due) { state.notices = before }
        }
    }
}

/// Tells the service manager of a worker from within its group of services, which hears signals by then. Before, a signal
/// would end the process at once.
struct ServiceAnnouncement: Service {
    let notifier: ServiceNotifier
    let subject: ServiceNotifier.Subject

    func run() async throws {
        notifier.tell(of: subject)
        try? await gracefulShutdown()
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

    /// Sends notices as one datagram, and never waits: the worker goes on beside a manager that does not read.
    ///
    /// - Returns: whether the manager has taken them.
    @discardableResult
    func send(_ notices: [String]) -> Bool {
        if notices.isEmpty { return true }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        if descriptor < 0 { return false }
        defer { Glibc.close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        // The length ends the name: an abstract one may not have bytes of the padding.
        let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
        let text = notices.joined(separator: "\n")
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                sendto(descriptor, text, text.utf8.count, flags, pointer, length) >= 0
            }
        }
    }
}
