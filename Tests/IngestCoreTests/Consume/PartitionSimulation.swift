import KafkaClient
import ObjectGraph
import TestSupport

@testable import IngestCore

/// A worker's partitions with everything around them, in memory: logs, the client, the pipeline, the store, health.
///
/// The driver is that of ``ConsumerWorker`` without I/O. What the simulation knows of the logs is its own: it judges each
/// applied record by it, and not by the states.
final class PartitionSimulation {
    /// A bug that is planted in the driver, to show that the simulation notices.
    enum Defect: CaseIterable {
        /// A lost connection is not told to the states.
        case ignoresLostConnections
        /// The broker is told what was read, not what is saved.
        case commitsAppliedOffsets
        /// Health is not told of partitions that are not read.
        case forgetsReports
        /// After a refusal of the store the client is not sent back.
        case staysAfterRefusal
        /// What a rebalance takes is still applied.
        case appliesAfterRevocation

        /// The invariants that it breaks, the first of which the simulation may notice.
        var invariants: Set<String> {
            switch self {
            case .commitsAppliedOffsets: ["I1"]
            case .forgetsReports: ["I6"]
            case .ignoresLostConnections, .staysAfterRefusal, .appliesAfterRevocation: ["I1", "I6"]
            }
        }
    }

    /// Something that must not happen, with the number of the invariant in ARCHITECTURE.md.
    struct Violation: Error, CustomStringConvertible {
        let invariant: String
        let description: String
    }

    /// The store refused.
    struct Refusal: Error {}

    /// One log of one partition.
    struct Log {
        enum Entry: Equatable {
            case record(Int)
            /// An offset without a record, as of a transaction's end.
            case marker
            case damaged(Int)
        }

        let number: Int
        var low: Int64 = 0
        var entries: [Entry] = []
        var end: Int64 { Int64(entries.count) }

        /// Whether records stand or stood in a range.
        func hasRecords(_ range: Range<Int64>) -> Bool {
            range.clamped(to: 0..<end).contains { entries[Int($0)] != .marker }
        }
    }

    /// How far a partition was applied, and of which log the last record was; nil after an operator's jump.
    struct Reached {
        var next: Int64
        var last: (log: Int, payload: Int, offset: Int64)?
    }

    /// The faults that are under way.
    struct Faults {
        var isStoreRefusing = false
        var isOutboxFull = false
        var areDeadLettersFull = false
        var isBrokerSilent = false
        var isTopicGone = false
        var refusedSeeks = 0
        var areRebalancesInPolls = false
        var forbidden: Set<TopicPartition> = []
    }

    /// The client as librdkafka behaves.
    struct Client {
        var position: [TopicPartition: Int64] = [:]
        var paused: Set<TopicPartition> = []
        /// Nothing is fetched until the next seek: after an offset out of range, or because the client forgot.
        var stopped: Set<TopicPartition> = []
        var hasLostConnection = false
        /// Partitions in which the client has met damage.
        var damaged: Set<TopicPartition> = []
    }

    static let places = (0..<3).map { TopicPartition("t", Int32($0)) }

    let policy: KafkaSettings.OnPositionLost
    let defect: Defect?
    var random: SeededRandom
    var faults = Faults()
    var client = Client()
    var logs: [TopicPartition: Log] = [:]
    /// What the store has committed, and what the open chunk has besides.
    var stored: [TopicPartition: Reached] = [:]
    var open: [TopicPartition: Reached] = [:]
    var partitions: AssignedPartitions
    var health: HealthState
    var time = 0.0
    var appliedCount = 0
    /// Since when a partition has been where it is, though it is behind and health says that all is well.
    var stuck: [TopicPartition: (since: Double, next: Int64)] = [:]
    private var logCount = 0
    private var payloadCount = 0
    private(set) var topicGeneration = 0

    init(seed: UInt64, policy: KafkaSettings.OnPositionLost, defect: Defect? = nil) {
        random = SeededRandom(seed: seed)
        self.policy = policy
        self.defect = defect
        partitions = AssignedPartitions(topics: ["t"], policy: policy)
        health = HealthState(at: 0)
        faults.areRebalancesInPolls = true
        for place in Self.places {
            logs[place] = newLog()
            append(random.number(below: 8), to: place)
        }
        start()
    }

    /// Starts a worker on the store as it is.
    func start() {
        partitions = AssignedPartitions(topics: ["t"], policy: policy)
        health = HealthState(at: time)
        for event: HealthEvent in [.started, .storeOK, .groupJoined, .brokerReachable, .publisherOK] {
            health.apply(event, at: time)
        }
        client = Client()
        open = [:]
        stuck = [:]
    }

    // MARK: Logs

    func newLog() -> Log {
        logCount += 1
        return Log(number: logCount)
    }

    func append(_ count: Int, to place: TopicPartition, withMarkers: Bool = true) {
        for _ in 0..<count {
            payloadCount += 1
            // A log that was made anew has a record at each offset, or a comparison could find none.
            let isOld = (logs[place]?.number ?? 0) <= Self.places.count
            let isMarker = withMarkers && isOld && random.number(below: 8) == 0
            logs[place]?.entries.append(isMarker ? .marker : .record(payloadCount))
        }
    }

    /// The broker's topics as the worker is told them.
    func nextTopics() -> (topics: [String: Set<Int32>], generation: Int) {
        topicGeneration += 1
        return (faults.isTopicGone ? [:] : ["t": Set(Self.places.map(\.partition))], topicGeneration)
    }

    // MARK: The oracle

    /// Takes a record that the worker applies.
    ///
    /// - Throws: ``Violation`` where it is of another log than the store's last, comes twice, or leaves out another.
    func apply(_ payload: Int, at offset: Int64, _ place: TopicPartition) throws {
        guard let log = logs[place] else { return }
        guard client.position[place] != nil else {
            throw Violation(invariant: "I1", description: "\(place) was applied after its revocation")
        }
        if let before = open[place] ?? stored[place] {
            if let last = before.last, last.log != log.number {
                throw Violation(invariant: "I1", description: "\(place) offset \(offset) is of another log")
            }
            if offset < before.next {
                throw Violation(invariant: "I1", description: "\(place) offset \(offset) was applied twice")
            }
            if log.hasRecords(before.next..<offset) {
                throw Violation(invariant: "I1", description: "\(place) skipped records before \(offset)")
            }
        }
        open[place] = Reached(next: offset + 1, last: (log.number, payload, offset))
        appliedCount += 1
    }

    /// Takes an end that the worker saves as its position.
    func pass(to end: Int64, _ place: TopicPartition) throws {
        guard let log = logs[place] else { return }
        let before = stored[place] ?? Reached(next: log.low)
        if before.last.map({ $0.log != log.number }) ?? false || log.hasRecords(before.next..<max(before.next, end)) {
            throw Violation(invariant: "I1", description: "\(place) passes records up to \(end): \(text(of: place))")
        }
        open[place] = Reached(next: end, last: before.last)
    }

    /// Takes an offset that the broker is told.
    func commitToBroker(_ offset: Int64, _ place: TopicPartition) throws {
        if offset > stored[place]?.next ?? 0 {
            throw Violation(invariant: "I1", description: "\(place) commits \(offset), which the store does not have")
        }
    }

    /// Whether records of a partition wait to be applied.
    func isBehind(_ place: TopicPartition) -> Bool {
        guard let log = logs[place] else { return false }
        let next = (open[place] ?? stored[place])?.next ?? log.low
        // Of another log that is as long, or ends before the last record, the client knows with its next record.
        let last = (open[place] ?? stored[place])?.last?.offset ?? next - 1
        if isOfAnotherLog(place), log.end > next || log.end < last { return true }
        return log.hasRecords(next..<max(next, log.end))
    }

    /// What a report of a violation shows of a partition.
    func text(of place: TopicPartition) -> String {
        let (log, state) = (logs[place], partitions[place])
        let reached = open[place] ?? stored[place]
        return """
            \(state.map { "\($0.condition), \($0.comparison), next \($0.progress.next ?? -1)" } ?? "not assigned"), \
            applied to \(reached?.next ?? -1) of log \(reached?.last?.log ?? -1); \
            log \(log?.number ?? -1) has \(log?.low ?? -1) to \(log?.end ?? -1); \
            client at \(client.position[place] ?? -1)\(client.stopped.contains(place) ? ", stopped" : "")
            """
    }

    func isOfAnotherLog(_ place: TopicPartition) -> Bool {
        guard let last = (open[place] ?? stored[place])?.last else { return false }
        return last.log != logs[place]?.number
    }

    var isReady: Bool { health.readiness(at: time).allSatisfy(\.isOK) }

    /// Judges health: a partition that does not advance for long though it could is reported.
    func checkTruth() throws {
        let isReady = isReady
        for place in Self.places {
            guard isReady, client.position[place] != nil, isBehind(place) else {
                stuck[place] = nil
                continue
            }
            let next = (open[place] ?? stored[place])?.next ?? -1
            if stuck[place]?.next != next { stuck[place] = (time, next) }
            if let since = stuck[place]?.since, time - since > 12 {
                throw Violation(
                    invariant: "I6",
                    description: "\(place) is not read, and health says that all is well: \(text(of: place))")
            }
        }
    }
}
