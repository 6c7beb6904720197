import Foundation
import GraphCore
import Logging
import Synchronization

/// Where requests wait for the one thread that writes the store, and are carried out by it a step at a time.
///
/// ``serve(_:prepare:)`` is its step, and belongs to that thread. This class may claim to be Sendable: its members are either marked as
/// that thread's own or behind a lock.
package final class ControlDesk: @unchecked Sendable {
    private struct State {
        var waiting: [ControlTicket] = []
        var isClosed = false
        /// The mark of the settings that decide how a record is decoded.
        var mark = ""
        /// The outcome of the request that only reads, until the writer has noted it.
        var reading: Result<ControlResult, any Error>?
        var refused = RefusedTokens()
        /// The store's failure, with which requests are refused while the worker tries again.
        var refusal: ControlError?

        /// Whether the oldest request can take a step.
        var hasStep: Bool { waiting.first.map { $0.isAbandoned || $0.hasRoom } ?? false }
    }

    /// Only the worker's thread uses it.
    private var configuration: WorkerConfiguration
    private let storeIdentity: String
    private let logger: Logger
    private let state = Mutex(State())
    /// The work of the first ticket; only the worker's thread uses it.
    private var work: ControlWork?
    /// The request that reads the store on a thread of its own; only the worker's thread uses it.
    private var reader: (ticket: ControlTicket, work: ControlWork)?
    private let model: ObjectModel
    private let clock: WorkerClock
    private let runBeside: (@escaping @Sendable () -> Void) -> Void
    /// Called on the worker's thread with each verification of the store.
    package var onVerified: (VerificationReport) -> Void = { _ in }

    /// Makes a desk for the writer of a store.
    ///
    /// - Parameter runBeside: runs a request that only reads, by default on a thread of its own.
    /// - Throws: `StoreError`.
    package init(
        configuration: WorkerConfiguration, store: Store, logger: Logger,
        clock: WorkerClock = .system,
        runBeside: @escaping (@escaping @Sendable () -> Void) -> Void = ControlDesk.runOnThread
    ) throws {
        self.clock = clock
        self.runBeside = runBeside
        self.configuration = configuration
        self.logger = logger
        model = store.model
        storeIdentity = try store.identity()
        let mark = configuration.decodingMark(store.model)
        state.withLock { $0.mark = mark }
    }

    /// Notes the worker's new configuration. Called on the worker's thread.
    func take(_ configuration: WorkerConfiguration) {
        self.configuration = configuration
        let mark = configuration.decodingMark(model)
        state.withLock { $0.mark = mark }
    }

    /// Queues a request. The desk refuses it at once while the store fails, and after the end of the worker's loop.
    package func submit(_ ticket: ControlTicket) {
        let refusal: ControlError? = state.withLock { state in
            let refusal = state.isClosed ? .ending : state.refusal
            if refusal == nil { state.waiting.append(ticket) }
            return refusal
        }
        ticket.tell(refusal.map { .failure($0) } ?? .waiting)
    }

    /// Refuses waiting and new requests, since the store fails; with nil, lets them wait for a step again. Called on
    /// the worker's thread.
    func refuse(because error: StoreError?) {
        let refusal = error.map { ControlError($0) }
        let waiting = state.withLock { state in
            state.refusal = refusal
            return refusal == nil ? [] : state.waiting
        }
        guard let refusal else { return }
        for ticket in waiting { finish(ticket, .failure(refusal)) }
        // A reading that has ended is answered, though the audit takes no entry now.
        guard let outcome = state.withLock({ $0.reading.take() }), let (ticket, _) = reader else { return }
        reader = nil
        if case .success(.verified(let report)) = outcome { judge(report) }
        switch outcome {
        case .success(let result): finish(ticket, .result(result))
        case .failure(let error): finish(ticket, .failure(ControlError(error)))
        }
    }

    /// Returns a request to this worker, of a client that cannot mean another one.
    package func envelope(_ request: ControlRequest, key: String?) -> ControlEnvelope {
        ControlEnvelope(
            store: storeIdentity, configuration: state.withLock { $0.mark }, request: request, key: key)
    }

    /// Counts a request without the operator's token. The writer notes it in the audit between two chunks.
    package func refused(from address: String) {
        state.withLock { $0.refused.note(address, at: clock.microseconds()) }
    }

    /// Whether a step can be done now.
    var hasWork: Bool {
        let time = clock.seconds()
        return state.withLock { state in
            state.refused.isDue(at: time) || state.reading != nil || state.hasStep
        }
    }

    /// Does a step of the oldest request, with what is open saved before. Called between the worker's own chunks.
    ///
    /// - Parameters:
    ///   - writer: the store's writer.
    ///   - prepare: saves what is open.
    /// - Throws: the error of `prepare`, and `StoreError` where the store itself failed. The desk only answers a fault
    ///   of the request.
    func serve(_ writer: WriterContext, prepare: () throws -> Void) throws {
        try noteRefusals(writer, prepare)
        if let outcome = state.withLock({ $0.reading.take() }) { try finishReading(outcome, prepare) }
        guard state.withLock({ $0.hasStep }), let ticket = state.withLock({ $0.waiting.first }) else { return }
        if ticket.isAbandoned {
            work?.fail(.abandoned)
            return leave(ticket, outcome: "its client went away")
        }
        try answering(ticket, prepare) {
            let work = try work ?? begin(ticket, writer)
            self.work = work
            if ticket.envelope.request.onlyReads, work.earlier == nil { return try read(ticket, work) }
            if let result = try work.step() { finish(ticket, .result(result)) }
        }
    }

    /// Saves the open chunk, then calls `body`. A fault of the request is its answer; a fault of the store is thrown
    /// too.
    private func answering(_ ticket: ControlTicket, _ prepare: () throws -> Void, _ body: () throws -> Void) throws {
        do { try prepare() } catch {
            finish(ticket, .failure(ControlError(error)))
            throw error
        }
        do { try body() } catch {
            finish(ticket, .failure(ControlError(error)))
            if let error = error as? StoreError, Self.endsWorker(error) { throw error }
        }
    }

    /// Saves the audit entry of refused tokens that is due.
    private func noteRefusals(_ writer: WriterContext, _ prepare: () throws -> Void) throws {
        let time = clock.seconds()
        guard !writer.store.needsVerification, let entry = state.withLock({ $0.refused.take(at: time) }) else { return }
        try prepare()
        logger.warning(
            "requests without the operator's token were refused",
            metadata: ["actor": "\(entry.actor)", "requests": "\(entry.request)"])
        _ = try writer.inOneCommit { try writer.put(entry) }
    }

    // MARK: Requests that only read

    /// Begins a request that only reads the store, on a thread of its own.
    private func read(_ ticket: ControlTicket, _ work: ControlWork) throws {
        if reader != nil {
            work.refuse(.busyReading)
            throw ControlError.busyReading
        }
        try work.begin()
        reader = (ticket, work)
        self.work = nil
        state.withLock { $0.waiting.removeAll { $0 === ticket } }
        let reading = ReadingWork(
            request: ticket.envelope.request, configuration: configuration, model: model, time: work.time,
            slices: .ofManySnapshots)
        runBeside { [self] in
            let outcome = Result { try reading.run(onStep: { ticket.tell(.step($0)) }, give: ticket.give) }
            state.withLock { $0.reading = outcome }
        }
    }

    package static func runOnThread(_ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.name = "request"
        thread.stackSize = 4 << 20
        thread.start()
    }

    private func finishReading(_ outcome: Result<ControlResult, any Error>, _ prepare: () throws -> Void) throws {
        guard let (ticket, work) = reader else { return }
        reader = nil
        if case .success(.verified(let report)) = outcome {
            judge(report)
            // A damaged file takes no more writes, not even the audit's: the worker ends.
            if report.isFileDamaged { return finish(ticket, .result(.verified(report))) }
        }
        try answering(ticket, prepare) {
            do {
                let result = try outcome.get()
                try work.finish(result)
                finish(ticket, .result(result))
            } catch {
                work.fail(ControlError(error))
                throw error
            }
        }
    }

    /// Reports the problems that a verification has found.
    private func judge(_ report: VerificationReport) {
        onVerified(report)
        if report.isSound { return }
        let remedy = report.isDamaged ? StoreError.damageRemedy : VerificationReport.ruleRemedy
        logger.log(
            level: report.isDamaged ? .error : .warning, "a verification has found problems in the store",
            metadata: ["problems": .stringConvertible(report.problemCount), "remedy": "\(remedy)"])
    }

    /// Answers the requests that are under way or wait, and later requests at once. Called on the writer's thread at
    /// the end of its loop.
    func close() {
        if work != nil, let ticket = state.withLock({ $0.waiting.first }) { finish(ticket, .failure(.interrupted)) }
        if let (ticket, _) = reader { finish(ticket, .failure(.interrupted)) }
        let waiting = state.withLock { state in
            state.isClosed = true
            return state.waiting
        }
        for ticket in waiting { finish(ticket, .failure(.ending)) }
    }

    private func begin(_ ticket: ControlTicket, _ writer: WriterContext) throws -> ControlWork {
        logger.info("a request", metadata: metadata(ticket))
        let envelope = ticket.envelope
        let work = try ControlWork(
            envelope.request, actor: ticket.actor, key: envelope.key, writer: writer, configuration: configuration)
        work.onNote = { ticket.tell(.note($0)) }
        do { try check(envelope, writer.store) } catch {
            work.fail(error)
            throw error
        }
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
                remedy: StoreError.damageRemedy)
        }
        do throws(StoreError) { try store.checkPlace() } catch {
            throw ControlError(.suspect, error.message, remedy: error.remedy)
        }
        if envelope.request.needsConfiguration, envelope.configuration != state.withLock({ $0.mark }) {
            throw ControlError(
                .configuration,
                "The worker runs with other topics, routes, files, limits or another model than this "
                    + "command was given",
                remedy: "Let the worker take them by SIGHUP or a restart, or give the command those of the worker")
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
        case .result(let result): leave(ticket, outcome: result.logLine)
        case .waiting, .note, .step: break
        }
    }

    private func leave(_ ticket: ControlTicket, outcome: String) {
        let isFirst = state.withLock { state in
            defer { state.waiting.removeAll { $0 === ticket } }
            return state.waiting.first === ticket
        }
        if isFirst { work = nil }
        logger.info("a request has ended", metadata: metadata(ticket).merging(["outcome": "\(outcome)"]) { $1 })
    }

    private func metadata(_ ticket: ControlTicket) -> Logger.Metadata {
        ["request": "\(ticket.envelope.request.name)", "actor": "\(ticket.actor)"]
    }
}
