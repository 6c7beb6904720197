import GraphCore
import KafkaClient
import Logging
import Synchronization

/// Writes the lines about outages of the parts that the worker needs, as ``Outage`` decides. Safe from any thread.
package final class OutageLog: Sendable {
    /// Is a part whose outages have lines.
    enum Part: Hashable, Sendable, CaseIterable {
        case broker, store, decoding, notifications, deadLetters
    }

    private struct State {
        var outages: [Part: Outage] = [:]
        /// Lines that have no end, by their text without numbers.
        var repeats: [String: Outage] = [:]
        var connections = BrokenConnections()
    }

    private let logger: Logger
    private let now: @Sendable () -> Double
    private let state = Mutex(State())
    /// Whether a part is out: without an outage, a success costs no lock.
    private let hasOutages = Atomic<Bool>(false)
    /// More texts than that are not told apart.
    private static let maximumRepeats = 256

    /// Makes a log of outages.
    ///
    /// - Parameters:
    ///   - logger: takes the lines.
    ///   - now: the clock: monotonic seconds from any origin.
    package init(logger: Logger, now: @escaping @Sendable () -> Double = MonotonicClock.seconds) {
        self.logger = logger
        self.now = now
    }

    // MARK: Parts

    /// Notes a failure of a part, which is tried again.
    ///
    /// - Parameter rest: further words behind the error's.
    func failed(_ part: Part, _ error: any Error, rest: String = "", metadata: Logger.Metadata = [:]) {
        state.withLock { state in
            hasOutages.store(true, ordering: .releasing)
            guard let notice = state.outages[part, default: Outage()].failed(at: now()) else { return }
            var metadata = metadata
            metadata["reason"] = "\(error)\(rest)"
            if let error = error as? any CodedError { metadata["code"] = "\(error.stableCode)" }
            write(notice, part.words, metadata)
        }
    }

    /// Notes a success of a part.
    func succeeded(_ part: Part) {
        guard hasOutages.load(ordering: .acquiring) else { return }
        state.withLock { succeeded(part, &$0) }
    }

    private func succeeded(_ part: Part, _ state: inout State) {
        if let notice = state.outages[part]?.succeeded(at: now()) { write(notice, part.words, [:]) }
        if !state.outages.values.contains(where: \.isOpen) { hasOutages.store(false, ordering: .releasing) }
    }

    // MARK: Brokers

    /// The time by the log's clock, at which a question to the brokers begins.
    var time: Double { now() }

    /// Notes a broker's answer to a question.
    func brokerAnswered(askedAt start: Double) {
        state.withLock { state in
            if state.outages[.broker]?.isOpen == true {
                state.connections.forgetNews()
                return succeeded(.broker, &state)
            }
            for notice in state.connections.answered(askedAt: start, at: now()) {
                write(notice.outage, Self.connection, ["broker": "\(notice.broker)", "reason": "\(notice.reason)"])
            }
        }
    }

    /// Notes that no broker answers.
    func brokerFailed(_ error: any Error) {
        state.withLock { $0.connections.forgetNews() }
        failed(.broker, error)
    }

    /// Handles a line of the client's log. A failed connection has a line of its own once a broker has answered.
    /// Before, it belongs to an outage of all brokers.
    func clientSaid(_ level: Logger.Level, _ facility: String, _ text: String) {
        let isOfConnection = Self.facilitiesOfConnections.contains(facility)
        let metadata: Logger.Metadata = ["facility": "\(facility)"]
        guard isOfConnection || level < .info else {
            return repeated(level, "librdkafka: \(text)", metadata)
        }
        logger.log(level: min(level, .debug), "librdkafka: \(text)", metadata: metadata)
        // Brokers close connections that nobody uses, which is no failure.
        guard isOfConnection, level >= .warning else { return }
        let line = ConnectionLogLine(text)
        state.withLock { $0.connections.failed(line.node, reason: line.reason, at: now()) }
    }

    /// Handles an error that the consumer reports, and that concerns no partition.
    package func clientReported(_ error: KafkaError) {
        let metadata: Logger.Metadata = ["reason": "\(error)", "code": "\(error.stableCode)"]
        if error.code.isOfConnection {
            logger.debug("the consumer reports", metadata: metadata)
        } else {
            repeated(.warning, "the consumer reports", metadata)
        }
    }

    private static let facilitiesOfConnections: Set = ["FAIL", "ERROR", "REQTMOUT"]

    // MARK: Lines without an end

    /// Writes a line that may come with each attempt: at most one a minute, with the number of times.
    package func repeated(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata) {
        let key = "\(message) \(metadata["reason"].map { "\($0)" } ?? "")".filter { !$0.isNumber }
        state.withLock { state in
            if state.repeats.count >= Self.maximumRepeats, state.repeats[key] == nil { state.repeats = [:] }
            guard let notice = state.repeats[key, default: Outage()].failed(at: now()) else { return }
            var metadata = metadata
            if case .lasts(_, let failures) = notice { metadata["times"] = .stringConvertible(failures) }
            logger.log(level: level, "\(message)", metadata: metadata)
        }
    }

    // MARK: Words

    fileprivate struct Words {
        let began: String
        let lasts: String
        let ended: String
    }

    private static let connection = Words(
        began: "a broker cannot be reached, others answer", lasts: "a broker still cannot be reached, others answer",
        ended: "no connection to the broker has failed for a minute")

    private func write(_ notice: Outage.Notice, _ words: Words, _ metadata: Logger.Metadata) {
        switch notice {
        case .began: logger.error("\(words.began)", metadata: metadata)
        case .lasts(let seconds, let failures):
            logger.error("\(words.lasts)", metadata: metadata.merging(Self.length(seconds, failures)) { $1 })
        case .ended(let seconds, let failures):
            logger.info("\(words.ended)", metadata: metadata.merging(Self.length(seconds, failures)) { $1 })
        }
    }

    private static func length(_ seconds: Int, _ failures: Int) -> Logger.Metadata {
        ["seconds": .stringConvertible(seconds), "failures": .stringConvertible(failures)]
    }
}

extension OutageLog.Part {
    fileprivate var words: OutageLog.Words {
        switch self {
        case .broker:
            OutageLog.Words(
                began: "no broker answers, trying again", lasts: "still no broker answers",
                ended: "a broker answers again")
        case .store:
            OutageLog.Words(
                began: "the store refused, trying again", lasts: "the store still refuses",
                ended: "the store takes writes again")
        case .decoding:
            OutageLog.Words(
                began: "a record cannot be decoded for now, its partition waits",
                lasts: "a record still cannot be decoded, its partition waits", ended: "records are decoded again")
        case .notifications:
            OutageLog.Words(
                began: "notifications are not delivered, trying again", lasts: "notifications are still not delivered",
                ended: "notifications are delivered again")
        case .deadLetters:
            OutageLog.Words(
                began: "dead letters are not delivered, trying again", lasts: "dead letters are still not delivered",
                ended: "dead letters are delivered again")
        }
    }
}
