import GraphCore
import IngestCore
import KafkaClient

/// The state of the worker in one sentence, and the things that need a person.
///
/// A pure value: it is made from the checks of `/readyz`, and from two figures. A report of another process has it, too.
package struct WorkerVerdict: Decodable, Sendable, Equatable {
    /// The kinds of state; the raw values are stable.
    package enum State: String, Decodable, Sendable {
        /// Records are read and saved.
        case running
        /// Everything was read.
        case idle
        /// The store is migrated or rebuilt.
        case working
        /// The worker works, and something needs attention.
        case degraded
        /// Nothing is read.
        case stopped
        /// The start is not over.
        case starting
        /// The worker ends.
        case stopping

        /// Reads a state; one that only a newer worker has is worth a look.
        package init(from decoder: any Decoder) throws {
            self = State(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .degraded
        }
    }

    private enum CodingKeys: CodingKey { case state, sentence, attention }

    /// Something that needs a person, with a remedy.
    package struct Attention: Decodable, Sendable, Equatable {
        /// The failed check of `/readyz`, or `purgesHeld` or `deadLettersKept`.
        package let check: String
        /// The thing in a few words.
        package let title: String
        /// The reason that the worker knows.
        package let reason: String
        /// The remedy, and whether the worker goes on by itself.
        package let remedy: String
    }

    /// The figures that a verdict names.
    package struct Figures: Sendable, Equatable {
        /// Records a second, or nil before there are two samples.
        package var recordsPerSecond: Double?
        /// Records between the store's positions and the partitions' ends, or nil where the ends are not known.
        package var lag: Int?
        /// The age of the oldest of these records, at most, in seconds; nil where it is not known.
        package var lagSeconds: Double?
        /// Dead letters in the store.
        package var deadLetters: Int
        /// The share of dead letters among the records since the start, from 0 to 1; nil before the first record.
        package var deadLetterShare: Double?
        /// Whether each assigned partition is at fault.
        package var hasOnlyFaults: Bool
        /// Purges by age that wait for an operator; nil where none do.
        package var heldPurges: HeldPurges?

        package init(
            recordsPerSecond: Double? = nil, lag: Int? = nil, lagSeconds: Double? = nil, deadLetters: Int = 0,
            deadLetterShare: Double? = nil, hasOnlyFaults: Bool = false
        ) {
            self.recordsPerSecond = recordsPerSecond
            self.lag = lag
            self.lagSeconds = lagSeconds
            self.deadLetters = deadLetters
            self.deadLetterShare = deadLetterShare
            self.hasOnlyFaults = hasOnlyFaults
        }

        /// From so many dead letters on a person has to look.
        private static let manyDeadLetters = 100
        /// From this share of the records on a person has to look.
        private static let largeShare = 0.01

        /// Whether the dead letters degrade the verdict.
        var hasTooManyLetters: Bool {
            deadLetters >= Self.manyDeadLetters || deadLetters > 0 && (deadLetterShare ?? 0) >= Self.largeShare
        }

        /// Takes the figures of a worker.
        init(
            _ metrics: WorkerMetrics, faults: [HealthState.PartitionFault], recordsPerSecond: Double?,
            deadLetters: Int = 0
        ) {
            // An assigned partition has a series, also while its lag is not known.
            let assigned = metrics.consumerLag.sorted.map { TopicPartition($0.values[0], Int32($0.values[1]) ?? -1) }
            self.init(
                recordsPerSecond: recordsPerSecond, lag: metrics.lag, lagSeconds: metrics.lagSeconds,
                deadLetters: deadLetters, deadLetterShare: metrics.deadLetterShare,
                hasOnlyFaults: !faults.isEmpty
                    && assigned.allSatisfy { partition in faults.contains { $0.concerns(partition) } })
        }
    }

    /// The state.
    package let state: State
    /// The state in one sentence.
    package let sentence: String
    /// The things that need a person, the gravest first.
    package let attention: [Attention]

    /// The thing that keeps the worker from reading, or nil where it reads; a report does not carry it.
    package var stop: Attention?

    /// Judges the checks of readiness.
    package init(_ checks: [HealthCheck], _ figures: Figures) {
        let failed = checks.filter { !$0.isOK }
        let names = Set(failed.map(\.name))
        attention =
            failed.filter { !Self.passing.contains($0.name) && StoreWork.Kind(check: $0.name) == nil }
            .filter { check in Self.causes[check.name].map { !names.contains($0) } ?? true }
            .map { Self.attention($0, figures) }
            + (figures.heldPurges.map { [Self.held($0)] } ?? []) + Self.kept(figures.deadLetters)
        let cause = attention.first {
            Self.stopping.contains($0.check) || figures.hasOnlyFaults && Self.ofPartitions.contains($0.check)
        }
        if let end = failed.first(where: { $0.name == "shutdown" }) {
            (state, sentence) = (.stopping, "Stopping: \(end.reason ?? "the worker ends").")
        } else if let start = failed.first(where: { $0.name == "startup" }) {
            (state, sentence) = (.starting, "Starting: \(start.reason ?? "not ready yet").")
        } else if let cause {
            (state, sentence) = (.stopped, "Stopped: \(Self.words(of: cause)). \(cause.remedy)")
        } else if let fault = attention.first(where: { $0.check != Self.deadLettersKept || figures.hasTooManyLetters })
        {
            (state, sentence) = (.degraded, "Running, but \(fault.title): \(fault.reason).")
        } else if let work = failed.first(where: { StoreWork.Kind(check: $0.name) != nil }) {
            let title = StoreWork.Kind(check: work.name)?.title ?? work.name
            (state, sentence) = (.working, "\(title): \(work.reason ?? "no progress is known").")
        } else {
            (state, sentence) = Self.healthy(figures)
        }
        stop = state == .stopped ? cause : nil
    }

    /// The checks of the start and the end.
    private static let passing: Set = ["startup", "shutdown"]
    /// A running worker with this rate or more has work to do.
    private static let idleRecordsPerSecond = 0.05
    /// The checks without which nothing is read.
    private static let stopping: Set = [
        "store", "loop", "broker", "group", "assignment", "outbox", "deadLetterOutbox", "halted", withoutWorker,
    ]
    private static let partitions = "partitions"
    /// The checks that name partitions. Where each of these is at fault, nothing is read.
    private static let ofPartitions: Set = [partitions, "decoding"]
    /// The check of a console that serves a store without a worker.
    static let withoutWorker = "worker"
    /// The checks that fail because another one does, and pass again with it.
    private static let causes = [
        "group": "broker", "assignment": "broker", "members": "broker", "publisher": "store", "deadLetters": "store",
    ]
    /// The thing that is no check: dead letters do not keep a worker from being ready.
    static let deadLettersKept = "deadLettersKept"
    /// The checks that fail for many reasons: the sentence names the one.
    private static let manifold: Set = ["store", "decoding", partitions, "halted"]

    private static func words(of cause: Attention) -> String {
        manifold.contains(cause.check) ? "\(cause.title): \(cause.reason)" : cause.title
    }

    private static func healthy(_ figures: Figures) -> (State, String) {
        let rate = figures.recordsPerSecond ?? 0
        guard rate >= idleRecordsPerSecond || (figures.lag ?? 0) > 0 else {
            if figures.lag == 0 { return (.idle, "Running, every record is in the store.") }
            let isKnown = figures.recordsPerSecond != nil
            return (.idle, isKnown ? "Running, nothing came in the last seconds." : "Running, no rate is known yet.")
        }
        let speed = "\(grouped(rate < 10 ? (rate * 10).rounded() / 10 : rate.rounded())) records/s"
        switch figures.lag {
        case nil: return (.running, "Running, \(speed).")
        case 0: return (.running, "Running, \(speed), nothing behind.")
        case let lag?:
            let time = figures.lagSeconds.map { " (\(ProgressMeter.duration($0)))" } ?? ""
            return (.running, "Running, \(speed), \(counted(lag, "record", as: grouped(Double(lag))))\(time) behind.")
        }
    }

    private static func held(_ purges: HeldPurges) -> Attention {
        Attention(
            check: "purgesHeld", title: HeldPurges.title, reason: purges.reason, remedy: "\(HeldPurges.remedy).")
    }

    private static func kept(_ count: Int) -> [Attention] {
        if count == 0 { return [] }
        return [
            Attention(
                check: deadLettersKept,
                title: counted(count, "dead letter", as: grouped(Double(count))),
                reason: "records that could not be applied wait in the store",
                remedy: "Correct the cause, then retry them, or drop them.")
        ]
    }

    private static func attention(_ check: HealthCheck, _ figures: Figures) -> Attention {
        var (title, remedy) = words[check.name] ?? ("\(check.name) fails", "The log has more.")
        if check.name == partitions, figures.hasOnlyFaults { title = "no partition is read" }
        var reason = check.reason ?? "no reason is known"
        if reason.hasSuffix(".") { reason.removeLast() }
        return Attention(check: check.name, title: title, reason: reason, remedy: remedy)
    }

    private static let words: [String: (title: String, remedy: String)] = [
        "store": (
            "the store fails",
            "The worker tries again by itself, and goes on when the cause is gone."
        ),
        "verification": ("the store has problems", "\(StoreError.damageRemedy)."),
        "loop": (
            "the worker's loop is stalled", "If it does not come back within 30 seconds, the process is restarted."
        ),
        "decoding": (
            "records cannot be decoded for now",
            "The worker tries again by itself. Remove the cause that the reason names."
        ),
        "broker": (
            "no broker answers", "The worker connects by itself. Check the brokers, the network and the credentials."
        ),
        "group": (
            "the worker has no place in the consumer group",
            "The worker joins by itself. Another kafka.group.id is safe, for the store has the positions; so is "
                + "kafka.partitions. Check the rights on the group."
        ),
        "members": (
            "another member of the group reads partitions of this store",
            "End the other worker. Or choose the partitions of each with kafka.partitions, or let them share a store in "
                + "PostgreSQL."
        ),
        "assignment": (
            "configured partitions are missing", "Make the topics, or correct kafka.partitions."
        ),
        partitions: (
            "some partitions are not read",
            "Each has its reason in the table of partitions. Make a missing topic. For a lost position, restart once "
                + "with kafka.onPositionLost=earliest or latest."
        ),
        "publisher": (
            "notifications are not delivered",
            "The worker tries again by itself. Check the topic of notifications and its rights."
        ),
        "outbox": (
            "too many notifications wait", "Reading goes on by itself as soon as notifications are delivered."
        ),
        "output": (
            "the broker lost records that were sent",
            "The worker sends them again by itself, and readers pass over repeats. Find out why the topic was made again, "
                + "or lost its end."
        ),
        "deadLetters": (
            "dead letters are not delivered to their topic",
            "The worker tries again by itself. Check the topic of dead letters and its rights."
        ),
        "deadLetterOutbox": (
            "too many dead letters wait for their topic",
            "Reading goes on by itself as soon as half of them are sent. Check the topic of dead letters and its "
                + "rights."
        ),
        withoutWorker: (
            "no worker runs", "The console shows the store as it is. 'ingest-worker run' reads topics into it."
        ),
        "halted": (
            "the worker ends", "Correct the cause that the reason names, then start the worker again."
        ),
    ]
}

extension WorkerVerdict: JSONWritable {
    /// The verdict as a JSON object.
    package var json: String {
        let things = attention.map {
            JSONObject(["check": $0.check, "title": $0.title, "reason": $0.reason, "remedy": $0.remedy])
        }
        return JSONObject(["state": state.rawValue, "sentence": sentence, "attention": things]).json
    }
}
