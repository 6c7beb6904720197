import Foundation
import GraphCore

/// Has a request to a store's writer carried out. The running worker does it, over its socket; where nobody writes the
/// store, this process does. The outcome is the same.
package struct StoreRequests {
    private let configuration: WorkerConfiguration
    private let model: ObjectModel
    /// Called with each line for the person who asks.
    package var onNote: (String) -> Void = { _ in }
    /// Called with each step of a verification or a backup.
    package var onStep: (StoreStep) -> Void = { _ in }
    /// Called with the way that the request goes: to the worker that runs, or to this process.
    package var onWay: (Way) -> Void = { _ in }
    /// Called once where the store's writer comes or goes, and is waited for.
    package var onWait: () -> Void = {}

    /// The process that carries a request out.
    package enum Way: Sendable {
        /// The worker that runs, which listens at this socket.
        case worker(socket: String)
        /// This process, which opened the store at this place.
        case thisProcess(store: String)

        /// One line for the person who asks.
        package var text: String {
            switch self {
            case .worker(let socket): "asked the worker at \(socket)"
            case .thisProcess(let store): "opened the store \(store)"
            }
        }
    }

    /// Makes requests to the writer of the configured store.
    package init(configuration: WorkerConfiguration, model: ObjectModel) {
        self.configuration = configuration
        self.model = model
    }

    /// Carries a request out. Blocks its thread.
    ///
    /// - Parameters:
    ///   - request: what is asked.
    ///   - patienceSeconds: for how long a writer that comes or goes is waited for; one that ends delivers for up to 5
    ///     seconds.
    /// - Throws: ``ControlError`` and `StoreError`; what was committed before a fault stays.
    package func carryOut(_ request: ControlRequest, patienceSeconds: Double = 8) throws -> ControlResult {
        let end = MonotonicClock.seconds() + patienceSeconds
        var hasWaited = false
        while true {
            do {
                let (result, way) =
                    if let result = try ask(request) {
                        (result, Way.worker(socket: configuration.controlPath))
                    } else {
                        (try carryOutHere(request), Way.thisProcess(store: configuration.storePlace))
                    }
                onWay(way)
                return result
            } catch  where Self.isPassing(error) {
                if MonotonicClock.seconds() > end { throw explained(error) }
                if !hasWaited { onWait() }
                hasWaited = true
                Thread.sleep(forTimeInterval: 0.2)
            }
        }
    }

    /// Whether the writer is about to listen or to give the lease up, or has too many clients for now.
    private static func isPassing(_ error: any Error) -> Bool {
        switch error {
        case let error as ControlError:
            [ControlError.Kind.ending.rawValue, ControlError.Kind.busy.rawValue].contains(error.code)
        case let error as StoreError: error.code == .leased
        default: false
        }
    }

    private func explained(_ error: any Error) -> any Error {
        guard let error = error as? StoreError else { return error }
        return ControlError(
            code: error.code.rawValue,
            message:
                "\(error.message), and takes no requests at \(configuration.controlPath)",
            remedy: "Wait until it has ended, or stop it", isRetriable: true)
    }

    /// Asks the worker that runs; nil where this process has to do it.
    private func ask(_ request: ControlRequest) throws -> ControlResult? {
        let path = configuration.controlPath
        guard let probe = try ControlClient(path: path) else { return nil }
        // A request has little time to arrive, so the store is opened before.
        probe.close()
        let store = try configuration.openStoreForReading(model: model)
        let envelope = ControlEnvelope(
            store: try store.identity(), configuration: configuration.decodingMark(model), request: request)
        try store.close()
        guard var client = try ControlClient(path: path) else { throw ControlError.ending }
        defer { client.close() }
        do { return try client.ask(envelope, onNote: onNote, onStep: onStep) } catch let error as ControlError
            where request.onlyReads && Self.leavesReading(error)
        {
            return nil
        }
    }

    /// Whether this process may read the store where the worker does not. The worker is an older one, its disk failed, or
    /// its store takes no writes now.
    private static func leavesReading(_ error: ControlError) -> Bool {
        if let code = StoreError.Code(rawValue: error.code) { return code == .full || code == .busy }
        return [ControlError.Kind.unknown.rawValue, ControlError.Kind.suspect.rawValue].contains(error.code)
    }

    private func carryOutHere(_ request: ControlRequest) throws -> ControlResult {
        if request.onlyReads {
            let reading = ReadingWork(
                request: request, configuration: configuration, model: model, time: WriterContext.systemTime())
            return try reading.run(onStep: onStep, give: onNote)
        }
        guard try configuration.hasStore(model: model) else {
            // To open it would make one, at a mistyped place too.
            throw StoreError(
                .unavailable, "There is no store at \(configuration.storePlace)",
                remedy: "Run or replay first, or correct store.path or store.url")
        }
        let store = try configuration.openStore(model: model)
        let writer = try WriterContext(store: store, options: configuration.writerOptions)
        let result: ControlResult
        do {
            let work = try ControlWork(
                request, actor: ControlPeer(process: getpid(), user: geteuid()).actor, writer: writer,
                configuration: configuration)
            work.onNote = onNote
            result = try work.finish()
        } catch {
            try? writer.close()
            throw error
        }
        try writer.close()
        return result
    }
}
