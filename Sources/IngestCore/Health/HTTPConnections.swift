import NIOCore
import Synchronization

/// Bounds the open connections, and decides which connection a new one replaces.
///
/// A server that stops accepting at its limit falls silent when slow clients hold all its connections. This one
/// accepts, and closes the connection that has waited longest without a whole request. It refuses the new connection
/// only when every connection is being answered.
final class HTTPConnections: Sendable {
    private struct Entry {
        let channel: any Channel
        /// The greater, the later it began to wait for a request.
        var number: Int
        var isBusy = false
        /// The bound that its answer counts for, if it may take long.
        var lasting: HTTPRoute.Lasting?
        /// Called once the client has left, while its request is answered.
        var onDeparture: (@Sendable () -> Void)?
        /// Whether the client has closed its side: it waits for no answer any more.
        var hasLeft = false
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        private var nextNumber = 0

        mutating func takeNumber() -> Int {
            defer { nextNumber += 1 }
            return nextNumber
        }
    }

    private let configuration: HTTPServerConfiguration
    private let state = Mutex(State())

    init(_ configuration: HTTPServerConfiguration) { self.configuration = configuration }

    /// Admits a connection, or returns false when it must be closed.
    func admit(_ channel: any Channel) -> Bool {
        let (isAdmitted, evicted) = state.withLock { state -> (Bool, (any Channel)?) in
            var evicted: (any Channel)?
            if state.entries.count >= configuration.maximumConnections {
                let waiting = state.entries.values.filter { !$0.isBusy }
                guard let idlest = waiting.min(by: { $0.number < $1.number }) else { return (false, nil) }
                state.entries[ObjectIdentifier(idlest.channel)] = nil
                evicted = idlest.channel
            }
            state.entries[ObjectIdentifier(channel)] = Entry(channel: channel, number: state.takeNumber())
            return (true, evicted)
        }
        evicted?.close(promise: nil)
        return isAdmitted
    }

    /// Forgets a closed connection.
    func remove(_ channel: any Channel) {
        state.withLock { $0.entries.removeValue(forKey: ObjectIdentifier(channel)) }?.onDeparture?()
    }

    /// Notes that the client has closed its side of the connection.
    func noteDeparture(_ channel: any Channel) {
        let tell = state.withLock { state in
            state.entries[ObjectIdentifier(channel)]?.hasLeft = true
            return state.entries[ObjectIdentifier(channel)]?.onDeparture
        }
        tell?()
    }

    /// Calls `body`, and cancels it once the client has left.
    func whileClientWaits<Result: Sendable>(
        _ channel: any Channel, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let task = Task { try await body() }
        let hasLeft = state.withLock { state in
            state.entries[ObjectIdentifier(channel)]?.onDeparture = { task.cancel() }
            return state.entries[ObjectIdentifier(channel)]?.hasLeft ?? true
        }
        if hasLeft { task.cancel() }
        defer { state.withLock { $0.entries[ObjectIdentifier(channel)]?.onDeparture = nil } }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Tells whether the client waits for no answer any more.
    func hasLeft(_ channel: any Channel) -> Bool {
        state.withLock { $0.entries[ObjectIdentifier(channel)]?.hasLeft ?? true }
    }

    /// Notes that a connection's request is being answered.
    func beginAnswer(_ channel: any Channel) {
        state.withLock { $0.entries[ObjectIdentifier(channel)]?.isBusy = true }
    }

    /// Notes that a connection waits for its next request.
    func endAnswer(_ channel: any Channel) {
        state.withLock { state in
            let number = state.takeNumber()
            state.entries[ObjectIdentifier(channel)]?.number = number
            state.entries[ObjectIdentifier(channel)]?.isBusy = false
            state.entries[ObjectIdentifier(channel)]?.lasting = nil
        }
    }

    /// Notes that an answer may take long, or returns false when there are too many of its kind.
    func begin(_ lasting: HTTPRoute.Lasting, _ channel: any Channel) -> Bool {
        let maximum =
            switch lasting {
            case .stream: configuration.maximumLongLivedAnswers
            case .read: configuration.maximumReads
            case .administration: configuration.maximumOperatorRequests
            }
        return state.withLock { state in
            guard state.entries.values.count(where: { $0.lasting == lasting }) < maximum else { return false }
            state.entries[ObjectIdentifier(channel)]?.lasting = lasting
            return true
        }
    }

    /// Closes every connection.
    func closeAll() {
        for channel in state.withLock({ $0.entries.values.map(\.channel) }) { channel.close(promise: nil) }
    }
}
