import Logging
import ObjectGraph
import Synchronization

/// Where requests wait for the one thread that writes the store, and are carried out by it a step at a time.
///
/// ``serve(_:prepare:)`` belongs to that thread. This class may claim to be Sendable: its members are either marked as
/// that thread's own or behind a lock.
final class ControlDesk: @unchecked Sendable {
    private struct State {
        var waiting: [ControlTicket] = []
        var isClosed = false
    }

    private let configuration: WorkerConfiguration
    private let storeIdentity: String
    private let mark: String
    private let logger: Logger
    private let state = Mutex(State())
    /// The work of the first ticket; only the worker's thread uses it.
    private var work: ControlWork?

    /// Makes a desk for the writer of a store.
    ///
    /// - Throws: `StoreError`.
    init(configuration: WorkerConfiguration, store: Store, logger: Logger) throws {
        self.configuration = configuration
        self.logger = logger
        storeIdentity = try store.identity()
        mark = configuration.decodingMark(store.model)
    }

    /// Takes a request; after the end of the worker's loop it is answered at once.
    func submit(_ ticket: ControlTicket) {
        let isTaken = state.withLock { state in
            if !state.isClosed { state.waiting.append(ticket) }
            return !state.isClosed
        }
        ticket.tell(isTaken ? .waiting : .failure(.ending))
    }

    /// Whether a step can be done now.
    var hasWork: Bool {
        state.withLock { state in state.waiting.first.map { $0.isAbandoned || $0.hasRoom } ?? false }
    }

    /// Does a step of the oldest request, with what is open saved before. Called between the worker's own chunks.
    ///
    /// - Parameters:
    ///   - writer: the store's writer.
    ///   - prepare: saves what is open.
    /// - Throws: the error of `prepare`, and `StoreError` where the store itself failed. The desk only answers a fault
    ///   of the request.
    func serve(_ writer: WriterContext, prepare: () throws -> Void) throws {
        guard hasWork, let ticket = state.withLock({ $0.waiting.first }) else { return }
        if ticket.isAbandoned { return leave(ticket, outcome: "its client went away") }
        do { try prepare() } catch {
            finish(ticket, .failure(ControlError(error)))
            throw error
        }
        do {
            let work = try work ?? begin(ticket, writer)
            self.work = work
            if let result = try work.step() { finish(ticket, .result(result)) }
        } catch {
            finish(ticket, .failure(ControlError(error)))
            if let error = error as? StoreError, Self.endsWorker(error) { throw error }
        }
    }

    /// Answers what is under way and what waits, and later requests at once. Called on the writer's thread at the end of
    /// its loop.
    func close() {
        if work != nil, let ticket = state.withLock({ $0.waiting.first }) { finish(ticket, .failure(.interrupted)) }
        let waiting = state.withLock { state in
            state.isClosed = true
            return state.waiting
        }
        for ticket in waiting { finish(ticket, .failure(.ending)) }
    }

    private func begin(_ ticket: ControlTicket, _ writer: WriterContext) throws -> ControlWork {
        logger.info("a request", metadata: metadata(ticket))
        try check(ticket.envelope, writer.store)
        let work = ControlWork(ticket.envelope.request, writer: writer, configuration: configuration)
        work.onNote = { ticket.tell(.note($0)) }
        return work
    }

    private func check(_ envelope: ControlEnvelope, _ store: Store) throws(ControlError) {
        if envelope.store != storeIdentity {
            throw ControlError(
                .otherStore, "The worker writes another store than the one that stands at the path now",
                remedy: "Files were exchanged under it: restart it")
        }
        if store.needsVerification {
            throw ControlError(
                .suspect, "The disk failed under the store: nothing is written before it is verified",
                remedy: "Check the disk, and start the worker again")
        }
        if envelope.request.needsConfiguration, envelope.configuration != mark {
            throw ControlError(
                .configuration,
                "The worker runs with other topics, routes, files, limits or another model than this "
                    + "command was given",
                remedy: "Restart the worker so that it takes them, or give the command those of the worker")
        }
        try checkCursor(envelope.request)
    }

    /// The publisher's cursor is in the worker's memory: what stands in the store follows it.
    private func checkCursor(_ request: ControlRequest) throws(ControlError) {
        let name: String
        switch request {
        case .putCursor(let cursor, _), .removeCursor(let cursor): name = cursor
        default: return
        }
        if configuration.notifications.topic == nil || name != configuration.notifications.cursorName { return }
        throw ControlError(
            .cursorInUse, "The worker itself moves this cursor, with each notification",
            remedy: "Stop the worker to change it")
    }

    /// Whether going on is impossible, for the worker too: it ends as at any other write.
    private static func endsWorker(_ error: StoreError) -> Bool {
        error.isDiskFailure || error.code == .fenced || error.code == .unavailable
    }

    private func finish(_ ticket: ControlTicket, _ answer: ControlAnswer) {
        ticket.tell(answer)
        switch answer {
        case .failure(let error): leave(ticket, outcome: "\(error)")
        case .result(let result): leave(ticket, outcome: result.json)
        case .waiting, .note: break
        }
    }

    private func leave(_ ticket: ControlTicket, outcome: String) {
        work = nil
        state.withLock { $0.waiting.removeAll { $0 === ticket } }
        logger.info("a request has ended", metadata: metadata(ticket).merging(["outcome": "\(outcome)"]) { $1 })
    }

    private func metadata(_ ticket: ControlTicket) -> Logger.Metadata {
        [
            "request": "\(ticket.envelope.request.name)", "user": "\(ticket.peer.user)",
            "process": "\(ticket.peer.process)",
        ]
    }
}
