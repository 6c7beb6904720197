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
        let number: Int
        var isBusy = false
        var isLongLived = false
        /// Called once the client has left, while its request is answered.
        var onDeparture: (@Sendable () -> Void)?
        /// Whether the client has closed its side: it waits for no answer any more.
        var hasLeft = false
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var nextNumber = 0
    }

    private let maximum: Int
    private let maximumLongLived: Int
    private let state = Mutex(State())

    init(maximum: Int, maximumLongLived: Int) {
        self.maximum = maximum
        self.maximumLongLived = maximumLongLived
    }

    /// Admits a connection, or returns false when it must be closed.
    func admit(_ channel: any Channel) -> Bool {
        let (isAdmitted, evicted) = state.withLock { state -> (Bool, (any Channel)?) in
            var evicted: (any Channel)?
            if state.entries.count >= maximum {
                let waiting = state.entries.values.filter { !$0.isBusy }
                guard let oldest = waiting.min(by: { $0.number < $1.number }) else { return (false, nil) }
                state.entries[ObjectIdentifier(oldest.channel)] = nil
                evicted = oldest.channel
            }
            state.entries[ObjectIdentifier(channel)] = Entry(channel: channel, number: state.nextNumber)
            state.nextNumber += 1
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

    /// Notes whether a connection's request is being answered.
    func setBusy(_ isBusy: Bool, _ channel: any Channel) {
        state.withLock { state in
            state.entries[ObjectIdentifier(channel)]?.isBusy = isBusy
            if !isBusy { state.entries[ObjectIdentifier(channel)]?.isLongLived = false }
        }
    }

    /// Notes that an answer may take long, or returns false when there are too many of them.
    func beginLongLived(_ channel: any Channel) -> Bool {
        state.withLock { state in
            guard state.entries.values.count(where: { $0.isLongLived }) < maximumLongLived else { return false }
            state.entries[ObjectIdentifier(channel)]?.isLongLived = true
            return true
        }
    }

    /// Closes every connection.
    func closeAll() {
        for channel in state.withLock({ $0.entries.values.map(\.channel) }) { channel.close(promise: nil) }
    }
}
