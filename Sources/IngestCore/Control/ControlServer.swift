import Foundation
import GraphModel
import Logging
import Synchronization

/// Listens on a socket beside the store, takes requests to the desk, and writes their answers. Its one thread never
/// waits for a client, nor for the worker.
package final class ControlServer: @unchecked Sendable {
    private struct Client {
        let socket: ControlSocket
        var exchange: ControlExchange
        var ticket: ControlTicket?
        var sendsNothingMore = false
        var isClosed = false
    }

    /// For how long the last answers may be on their way at the end.
    private static let graceSeconds = 5.0

    private let path: String
    private let identity: (device: UInt, number: UInt)
    private let listener: ControlSocket
    private let desk: ControlDesk
    private let logger: Logger
    private let limits: ControlLimits
    /// A byte in it ends a wait.
    private let waker = Pipe()
    private let stopRequested = Atomic<Bool>(false)
    private let isClosed = Atomic<Bool>(false)
    // The thread of ``run()`` only.
    private var clients: [Client] = []
    private let now = MonotonicClock.seconds

    /// Listens; nobody is answered before ``run()``.
    ///
    /// - Parameters:
    ///   - path: where; see `WorkerConfiguration.controlPath`. The caller has the store's lease.
    ///   - desk: where requests go.
    ///   - logger: reports refusals.
    ///   - limits: how many clients there may be, and how long each may take.
    /// - Throws: ``ControlError``.
    package init(
        path: String, desk: ControlDesk, logger: Logger, limits: ControlLimits = ControlLimits()
    ) throws(ControlError) {
        self.path = path
        self.limits = limits
        self.desk = desk
        self.logger = logger
        listener = try ControlSocket.listen(at: path)
        identity = Self.identity(path)
        for end in [waker.fileHandleForReading, waker.fileHandleForWriting] {
            _ = fcntl(end.fileDescriptor, F_SETFL, O_NONBLOCK)
            _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
        }
    }

    /// Stops listening, and takes the socket away unless another one stands there. Called once ``run()`` has ended.
    package func close() {
        if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
        if Self.identity(path) == identity { unlink(path) }
        listener.close()
    }

    /// Asks ``run()`` to end when the answers that are under way are taken.
    package func requestStop() {
        stopRequested.store(true, ordering: .releasing)
        wake()
    }

    /// Serves until it is asked to stop. Blocks its thread.
    package func run() {
        var end: Double?
        while true {
            let isStopping = stopRequested.load(ordering: .acquiring)
            if isStopping {
                // A later client waits for the lease; earlier clients get their answers.
                close()
                if end == nil { end = now() + Self.graceSeconds }
                for index in clients.indices where clients[index].exchange.isReading { drop(&clients[index]) }
                clients.removeAll { $0.isClosed }
                if clients.isEmpty || now() > end ?? 0 { break }
            }
            let events = wait(listens: !isStopping)
            if !isStopping { acceptAll() }
            for index in clients.indices { serve(&clients[index], events[clients[index].socket.descriptor] ?? 0) }
            clients.removeAll { $0.isClosed }
        }
        for index in clients.indices { drop(&clients[index]) }
        clients = []
        close()
    }

    private func wake() {
        var byte: UInt8 = 0
        // A pipe that is full wakes as well.
        _ = Glibc.write(waker.fileHandleForWriting.fileDescriptor, &byte, 1)
    }

    /// Waits for something to do, and returns the events of the clients' descriptors.
    private func wait(listens: Bool) -> [Int32: Int16] {
        let waking = waker.fileHandleForReading.fileDescriptor
        var polled = [pollfd(fd: waking, events: Int16(POLLIN), revents: 0)]
        if listens { polled.append(pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)) }
        for client in clients {
            var events: Int16 = client.sendsNothingMore ? 0 : Int16(POLLIN)
            if !client.exchange.output.isEmpty { events |= Int16(POLLOUT) }
            polled.append(pollfd(fd: client.socket.descriptor, events: events, revents: 0))
        }
        let deadline = clients.map(\.exchange.deadline).min() ?? .infinity
        let seconds = min(1, max(0, deadline - now()))
        poll(&polled, nfds_t(polled.count), Int32((seconds * 1000).rounded(.up)))
        var bytes = [UInt8](repeating: 0, count: 256)
        while Glibc.read(waking, &bytes, bytes.count) > 0 {}
        return Dictionary(polled.map { ($0.fd, $0.revents) }, uniquingKeysWith: { first, _ in first })
    }

    // MARK: Clients

    private func acceptAll() {
        while let socket = listener.accept() {
            guard let peer = socket.peer, peer.mayAsk(workerOf: geteuid()) else {
                logger.warning(
                    "a process of another user asked the worker",
                    metadata: ["user": "\(socket.peer.map { "\($0.user)" } ?? "unknown")"])
                refuse(
                    socket,
                    ControlError(
                        .forbidden, "The worker answers its own user and root only",
                        remedy: "Run the command as the worker's user, or as root"))
                continue
            }
            guard clients.count < limits.clients else {
                let error = ControlError(
                    .busy, "\(limits.clients) requests are under way or waiting already",
                    remedy: "Run the command again when they are done")
                refuse(socket, error)
                continue
            }
            clients.append(Client(socket: socket, exchange: ControlExchange(limits, at: now())))
        }
    }

    /// Answers a client that is not admitted; so little always fits into its socket.
    private func refuse(_ socket: ControlSocket, _ error: ControlError) {
        _ = socket.write(ControlAnswer.failure(error).line)
        socket.close()
    }

    private func serve(_ client: inout Client, _ events: Int16) {
        if events & Int16(POLLIN) != 0 { read(&client) }
        if !client.isClosed, events & Int16(POLLHUP | POLLERR) != 0 { return drop(&client) }
        if !client.isClosed { act(client.exchange.passed(at: now()), &client) }
        if client.isClosed { return }
        // Output that the client has not taken keeps the ticket's next output back.
        if client.exchange.output.isEmpty, let ticket = client.ticket {
            let (answers, isLast) = ticket.takeAnswers()
            if !answers.isEmpty { client.exchange.answer(answers.flatMap(\.line), isLast: isLast, at: now()) }
        }
        if client.exchange.output.isEmpty { return }
        act(client.exchange.wrote(client.socket.write(client.exchange.output), at: now()), &client)
    }

    private func read(_ client: inout Client) {
        switch client.socket.read() {
        case .bytes(let bytes): act(client.exchange.received(bytes, at: now()), &client)
        case .nothing: break
        case .end:
            client.sendsNothingMore = true
            act(client.exchange.ended(), &client)
        }
    }

    private func act(_ action: ControlExchange.Action, _ client: inout Client) {
        switch action {
        case .wait: break
        case .submit(let line): submit(line, &client)
        case .close: drop(&client)
        case .refuse(let error):
            client.exchange.answer(ControlAnswer.failure(error).line, isLast: true, at: now())
        case .reassure: client.exchange.answer(ControlAnswer.waiting.line, isLast: false, at: now())
        }
    }

    private func submit(_ line: [UInt8], _ client: inout Client) {
        do {
            guard let peer = client.socket.peer else { return drop(&client) }
            let ticket = ControlTicket(try ControlEnvelope(line: line), from: peer.actor) { [weak self] in
                self?.wake()
            }
            client.ticket = ticket
            desk.submit(ticket)
        } catch {
            act(.refuse(ControlError(error)), &client)
        }
    }

    private func drop(_ client: inout Client) {
        client.ticket?.abandon()
        client.socket.close()
        client.isClosed = true
    }

    private static func identity(_ path: String) -> (device: UInt, number: UInt) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return (0, 0) }
        return (UInt(status.st_dev), UInt(status.st_ino))
    }
}
