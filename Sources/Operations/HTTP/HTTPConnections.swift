import NIOCore
import Synchronization

/// Bounds the open connections, and decides which connection a new one replaces.
///
/// A server that stops accepting at its limit falls silent when slow clients hold all its connections. This one
/// accepts, and closes the connection that has waited longest without a whole request. If there is none, it closes one
/// whose client has not read for a second. Where every connection is being answered, the new one gets a place that is kept for probes.
final class HTTPConnections: Sendable {
    private struct Entry {
        let channel: any Channel
        /// The greater, the later it began to wait for a request.
        var number: Int
        var isBusy = false
        /// Since when the client has not taken its answer, or nil.
        var stalledSince: NIODeadline?
        /// Whether the connection has a place that is kept for probes.
        var isForProbes = false
        /// The bound that its answer counts for, if it may take long.
        var lasting: HTTPRoute.Lasting?
        /// Called once the client has left, while its request is answered.
        var onDeparture: (@Sendable () -> Void)?
        /// Whether the client has closed its side: it waits for no answer any more.
        var hasLeft = false
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        /// Whether the server has listened.
        var isListening = false
        /// Whether the server ends, and admits nobody.
        var isClosed = false
        private var nextNumber = 0

        mutating func takeNumber() -> Int {
            defer { nextNumber += 1 }
            return nextNumber
        }
    }

    private let configuration: HTTPServerConfiguration
    private let state = Mutex(State())

    init(_ configuration: HTTPServerConfiguration) { self.configuration = configuration }

    /// Whether the server has listened.
    var isListening: Bool { state.withLock { $0.isListening } }

    /// Notes that the server listens.
    func noteListening() { state.withLock { $0.isListening = true } }

    /// The kind of a connection's place.
    enum Place {
        case ordinary
        /// It answers one probe.
        case probe
    }

    /// Admits a connection, or returns nil when it must be closed.
    func admit(_ channel: any Channel) -> Place? {
        let (place, evicted) = state.withLock { state -> (Place?, (any Channel)?) in
            if state.isClosed { return (nil, nil) }
            for place in [Place.ordinary, .probe] {
                let isForProbes = place == .probe
                let maximum = isForProbes ? configuration.probeConnections : configuration.maximumConnections
                let others = state.entries.values.filter { $0.isForProbes == isForProbes }
                let evicted = others.count < maximum ? nil : Self.replaceable(others)
                if others.count >= maximum, evicted == nil { continue }
                if let evicted { state.entries[ObjectIdentifier(evicted)] = nil }
                var entry = Entry(channel: channel, number: state.takeNumber())
                entry.isForProbes = isForProbes
                state.entries[ObjectIdentifier(channel)] = entry
                return (place, evicted)
            }
            return (nil, nil)
        }
        evicted?.close(promise: nil)
        return place
    }

    /// Returns the connection that a new one may replace: the one that has waited longest for a request. If there is
    /// none, it is the one that has longest not taken its answer.
    private static func replaceable(_ entries: [Entry]) -> (any Channel)? {
        let waiting = entries.filter { !$0.isBusy }
        if let idlest = waiting.min(by: { $0.number < $1.number }) { return idlest.channel }
        let limit = NIODeadline.now() - .seconds(1)
        let stalled = entries.compactMap { entry in entry.stalledSince.map { (entry.channel, $0) } }
        return stalled.filter { $0.1 < limit }.min { $0.1 < $1.1 }?.0
    }

    /// Notes whether the client takes what is written.
    func noteWritability(_ channel: any Channel) {
        let since: NIODeadline? = channel.isWritable ? nil : .now()
        state.withLock { $0.entries[ObjectIdentifier(channel)]?.stalledSince = since }
    }

    /// Tells whether a connection has a place that is kept for probes.
    func isForProbes(_ channel: any Channel) -> Bool {
        state.withLock { $0.entries[ObjectIdentifier(channel)]?.isForProbes ?? false }
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

    /// Closes every connection, and admits no other.
    func closeAll() {
        let channels = state.withLock { state in
            state.isClosed = true
            return state.entries.values.map(\.channel)
        }
        for channel in channels { channel.close(promise: nil) }
    }
}
