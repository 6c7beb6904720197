import KafkaClient

/// Is one line of a health report.
package struct HealthCheck: Sendable, Equatable {
    /// The check's name.
    package let name: String
    /// Whether it passed.
    package let isOK: Bool
    /// Why it failed, or nil.
    package let reason: String?

    /// The check without its reason, for those who need not know it.
    package var withoutReason: HealthCheck { isOK ? self : HealthCheck(name, failure: "the reason is withheld") }

    /// Creates a check: one with a reason has failed.
    package init(_ name: String, failure reason: String? = nil) {
        self.name = name
        self.isOK = reason == nil
        self.reason = reason
    }
}

/// Lists the conditions on which the health of a worker depends.
package struct HealthRules: Sendable, Equatable {
    /// The seconds after which the broker gives a silent member's place away.
    package var sessionTimeoutSeconds = 45
    /// Whether the worker consumes from Kafka.
    package var needsBroker = true
    /// Whether the worker joins no group and reads the partitions that the configuration names.
    package var choosesPartitions = false
    /// The work on the store that has to end before the worker is ready; nil where there is none.
    package var work: StoreWork.Kind?
    /// Whether the worker sends notifications.
    package var needsPublisher = true
    /// Whether the worker sends dead letters to a topic.
    package var needsDeadLetters = false

    /// Creates the rules for a worker that consumes and notifies.
    package init() {}
}

/// Decides whether the worker is alive and ready, from the events that it receives.
///
/// Every time is in seconds of one monotonic clock.
package struct HealthState: Sendable {
    private enum Condition: Sendable {
        case unknown(String)
        case ok
        /// Since a time something is waited for that mostly comes soon.
        case waiting(String, since: Double)
        case failed(String)

        func failure(at time: Double, afterSeconds limit: Double) -> String? {
            switch self {
            case .ok: nil
            case .waiting(let reason, let since): time - since > limit ? reason : nil
            case .unknown(let reason), .failed(let reason): reason
            }
        }

        /// A failure and an earlier wait stay; only a healthy check begins to wait.
        mutating func wait(_ reason: String, since time: Double) {
            if case .ok = self { self = .waiting(reason, since: time) }
        }

        /// As ``wait(_:since:)``, for the next of many steps.
        mutating func waitAnew(_ reason: String, since time: Double) {
            if case .waiting = self { self = .ok }
            wait(reason, since: time)
        }
    }

    private let rules: HealthRules
    private var startingStep: String? = "not started"
    private var startedAt: Double?
    private var lastHeartbeat: Double
    private var store = Condition.unknown("not opened yet")
    private var broker = Condition.unknown("not connected yet")
    private var group = Condition.unknown("not joined yet")
    private var publisher = Condition.ok
    private var outbox = Condition.ok
    private var deadLetters = Condition.ok
    private var deadLetterOutbox = Condition.ok
    private var lostOutput: [String: (reason: String, shownUntil: Double?)] = [:]
    private var work: ProgressMeter
    private var undecoded: [TopicPartition: String] = [:]
    private var storeProblems: String?
    private var elsewhere: String?
    private var haltReason: String?
    private var halted: [TopicPartition: String] = [:]
    private var waiting: [TopicPartition: (reason: String, since: Double)] = [:]
    private var silent: [TopicPartition: String] = [:]
    private var isDraining = false

    /// The silence after which the loop counts as wedged, in seconds: the worker is not alive.
    private static let wedgedAfterSeconds = 30.0
    /// The silence after which the worker is not ready, in seconds.
    private static let staleAfterSeconds = 5.0
    /// The seconds after which a wait is a failure. The worker waits for the partitions of a rebalance, for the end of
    /// a delivery, or for a partition's position.
    private static let waitingSeconds = 4.0
    /// The seconds for which a loss is shown once its records were sent again: somebody has to see it.
    private static let lossSeconds = 60.0
    private static let slowDelivery = "the broker has not confirmed a delivery yet, which is waited for"

    /// Creates the state of a worker that has not started.
    package init(rules: HealthRules = HealthRules(), at time: Double) {
        self.rules = rules
        if rules.choosesPartitions { group = .unknown("the topics' partitions are not known yet") }
        lastHeartbeat = time
        work = ProgressMeter(.lines, at: time)
        work.update(ProgressMeter.Step("beginning"), at: time)
    }

    /// Notes an event in the state of health.
    package mutating func apply(_ event: HealthEvent, at time: Double) {
        switch event {
        case .starting(let step): startingStep = step
        case .started: (startingStep, startedAt, lastHeartbeat) = (nil, time, time)
        case .heartbeat: lastHeartbeat = max(lastHeartbeat, time)
        case .storeOK: store = .ok
        case .storeFailed(let reason): store = .failed(reason)
        case .storeVerified(let problems): storeProblems = problems
        case .decodingOK(let partition): undecoded[partition] = nil
        case .decodingFailed(let partition, let reason): undecoded[partition] = reason
        case .groupJoined: group = .ok
        case .groupWaiting(let reason): group.wait(reason, since: time)
        case .groupLost(let reason): group = .failed(reason)
        case .partitionsElsewhere(let reason): elsewhere = reason
        case .brokerReachable: broker = .ok
        case .brokerUnreachable(let reason): broker = .failed(reason)
        case .publisherOK: publisher = .ok
        case .publisherDelivering: publisher.waitAnew(Self.slowDelivery, since: time)
        case .publisherFailing(let reason): publisher = .failed(reason)
        case .outboxFull(let reason): outbox = .failed(reason)
        case .outboxHasRoom: outbox = .ok
        case .deadLettersOK: deadLetters = .ok
        case .deadLettersDelivering: deadLetters.waitAnew(Self.slowDelivery, since: time)
        case .deadLettersFailing(let reason): deadLetters = .failed(reason)
        case .deadLettersFull(let reason): deadLetterOutbox = .failed(reason)
        case .deadLettersHaveRoom: deadLetterOutbox = .ok
        case .outputLost(let topic, let reason): lostOutput[topic] = (reason, nil)
        case .outputSentAgain(let topic): lostOutput[topic]?.shownUntil = time + Self.lossSeconds
        case .halted(let reason): haltReason = reason
        case .partitionHalted(let partition, let reason): (halted[partition], waiting[partition]) = (reason, nil)
        case .partitionWaiting(let partition, let reason):
            waiting[partition] = (reason, since: waiting[partition]?.since ?? time)
        case .partitionSilent(let partition, let reason): silent[partition] = reason
        case .partitionHeard(let partition): silent[partition] = nil
        case .partitionReleased(let partition): (halted[partition], waiting[partition]) = (nil, nil)
        case .working(let step): work.update(step, at: time)
        case .draining: isDraining = true
        }
    }

    /// Says whether the loop goes round; whether Kafka or the store is up has no part in it.
    ///
    /// Before the start is over there is no loop to be wedged: a long migration does not get the process killed.
    package func liveness(at time: Double) -> [HealthCheck] {
        [HealthCheck("loop", failure: loopFailure(at: time, afterSeconds: Self.wedgedAfterSeconds))]
    }

    /// Says whether the worker does its work now.
    package func readiness(at time: Double) -> [HealthCheck] {
        let work = work(at: time).map { HealthCheck($0.kind.check, failure: $0.phrase) }
        // Nothing else is open yet. Only a worker that rebuilds has more to say.
        if let work, rules.work != .rebuild { return [work] }
        var checks = [
            HealthCheck("startup", failure: startingStep),
            HealthCheck("store", failure: failure(of: store, at: time)),
            HealthCheck("loop", failure: loopFailure(at: time, afterSeconds: Self.staleAfterSeconds)),
        ]
        checks += checksOfInput(at: time)
        if let work { checks.append(work) }
        checks += checksOfOutput(at: time)
        if let storeProblems { checks.append(HealthCheck("verification", failure: storeProblems)) }
        if let reason = Self.reason(of: Self.faults(undecoded.mapValues { (.waiting, $0) })) {
            checks.append(HealthCheck("decoding", failure: reason))
        }
        if let haltReason { checks.append(HealthCheck("halted", failure: haltReason)) }
        checks.append(HealthCheck("shutdown", failure: isDraining ? "draining" : nil))
        return checks
    }

    private func failure(of condition: Condition, at time: Double) -> String? {
        condition.failure(at: time, afterSeconds: Self.waitingSeconds)
    }

    private func checksOfInput(at time: Double) -> [HealthCheck] {
        var checks: [HealthCheck] = []
        if rules.needsBroker {
            checks.append(HealthCheck("broker", failure: failure(of: broker, at: time)))
            checks.append(
                HealthCheck(
                    rules.choosesPartitions ? "assignment" : "group",
                    failure: longJoinReason(at: time) ?? failure(of: group, at: time)))
            checks.append(HealthCheck("partitions", failure: Self.reason(of: Self.faults(unread(at: time)))))
        }
        if let elsewhere { checks.append(HealthCheck("members", failure: elsewhere)) }
        return checks
    }

    private func checksOfOutput(at time: Double) -> [HealthCheck] {
        var checks: [HealthCheck] = []
        if rules.needsPublisher {
            checks.append(HealthCheck("publisher", failure: failure(of: publisher, at: time)))
            checks.append(HealthCheck("outbox", failure: failure(of: outbox, at: time)))
        }
        if rules.needsDeadLetters {
            checks.append(HealthCheck("deadLetters", failure: failure(of: deadLetters, at: time)))
            checks.append(HealthCheck("deadLetterOutbox", failure: failure(of: deadLetterOutbox, at: time)))
        }
        let losses = lostOutput.sorted { $0.key < $1.key }.filter { $0.value.shownUntil.map { time < $0 } ?? true }
        if !losses.isEmpty {
            checks.append(HealthCheck("output", failure: losses.map { $0.value.reason }.joined(separator: "; ")))
        }
        return checks
    }

    /// The work on the store that the worker waits for, and how far it is.
    package func work(at time: Double) -> StoreWork? {
        rules.work.map { StoreWork(kind: $0, phrase: work.phrase(at: time) ?? "beginning", share: work.share) }
    }

    /// The first join takes a few seconds; one that takes longer mostly waits for a member that was killed.
    private static let joiningSeconds = 10.0

    private func longJoinReason(at time: Double) -> String? {
        guard case .unknown = group, !rules.choosesPartitions, let startedAt, time - startedAt > Self.joiningSeconds
        else { return nil }
        return "not joined for \(Int(time - startedAt)) s; a member that was killed keeps its place until the session "
            + "timeout, \(rules.sessionTimeoutSeconds) s (kafka.session.timeout.ms)"
    }

    private func loopFailure(at time: Double, afterSeconds limit: Double) -> String? {
        guard startingStep == nil else { return nil }
        let silence = time - lastHeartbeat
        return silence > limit ? "no heartbeat for \(Int(silence)) seconds" : nil
    }

    private static func reason(of faults: [PartitionFault]) -> String? {
        guard !faults.isEmpty else { return nil }
        let shown = faults.prefix(5).map(\.sentence)
        let more = faults.count > shown.count ? ["and \(faults.count - shown.count) more"] : []
        return (shown + more).joined(separator: "; ")
    }

    /// A partition that is not read, and the reason.
    package struct PartitionFault: Sendable, Equatable {
        /// The kinds of fault, the gravest first; the raw values are stable.
        package enum State: String, Sendable {
            case halted, waiting, stalled

            var words: String {
                switch self {
                case .halted: "halted"
                case .waiting: "waits"
                case .stalled: "is stalled"
                }
            }
        }

        /// The partition; the number -1 stands for the whole topic.
        package let partition: TopicPartition
        /// The kind of fault.
        package let state: State
        /// The reason.
        package var reason: String

        /// Whether a partition is at fault, or its whole topic.
        package func concerns(_ other: TopicPartition) -> Bool {
            partition == other || partition.partition < 0 && partition.topic == other.topic
        }

        fileprivate var sentence: String { "\(partition) \(state.words): \(reason)" }
    }

    /// The partitions that are not read, each with its gravest fault, in the order of topics and numbers.
    package func partitionFaults(at time: Double) -> [PartitionFault] {
        let waiting = undecoded.mapValues { (PartitionFault.State.waiting, $0) }
        return Self.faults(unread(at: time).merging(waiting) { $0.0 == .stalled ? $1 : $0 })
    }

    /// The partitions that the check of partitions names. Another check names the partitions that wait for a decoder.
    private func unread(at time: Double) -> [TopicPartition: (PartitionFault.State, String)] {
        let overdue = waiting.filter { time - $0.value.since > Self.waitingSeconds }
        return halted.mapValues { (PartitionFault.State.halted, $0) }
            .merging(overdue.mapValues { (.waiting, $0.reason) }) { graver, _ in graver }
            .merging(silent.mapValues { (.stalled, $0) }) { graver, _ in graver }
    }

    private static func faults(_ found: [TopicPartition: (PartitionFault.State, String)]) -> [PartitionFault] {
        found.map { PartitionFault(partition: $0, state: $1.0, reason: $1.1) }.sorted { $0.partition < $1.partition }
    }
}
