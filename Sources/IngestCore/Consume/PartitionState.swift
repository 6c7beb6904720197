import GraphCore
import KafkaClient

/// Decides everything about the reading of one assigned partition: takes events, returns actions, does no I/O.
///
/// `docs/reference/partition-states.md` has its table. The state keeps two positions: the next offset that the worker wants
/// (applied, in ``progress``) and the one that the store has committed (``stored``).
struct PartitionState: Sendable {
    /// Whether the worker has to read the store's last record again before it applies anything more.
    enum Comparison: Sendable {
        /// The client reads the log that the store's position belongs to, as far as is known.
        case notNeeded
        /// The partition was out of reach: the next record starts the comparison.
        case atNextRecord
        /// The client is not at the store's position: every record is dropped until it is.
        case now
    }

    /// How far the worker has read, and how it knows the log again.
    private(set) var progress: PartitionProgress
    /// Whether the store's last record has to be read again.
    private(set) var comparison = Comparison.notNeeded
    /// Why reading waits.
    private(set) var pauses: PauseReasons
    /// The next offset that the store has committed; nil where it does not know the partition.
    private(set) var stored: Int64?
    /// The last offset sent to the broker; nil at first, for the last commit of another run may not have arrived.
    private var committedOffset: Int64?
    private var isPausedInClient = false
    private var isOutOfRange = false
    private var missing: ReadFault?
    private var halt: ReadFault?
    private var watch: FetchWatch
    private let policy: KafkaSettings.OnPositionLost

    /// Makes the state of an assigned partition.
    ///
    /// - Parameters:
    ///   - position: the store's; nil where it does not know the partition.
    ///   - pauses: the reasons for which all partitions wait.
    ///   - policy: an operator's decision about lost positions.
    ///   - brokerWaitSeconds: how long the broker may keep records back for more of them.
    init(
        assignedAt position: SourcePosition?, pauses: PauseReasons = [],
        policy: KafkaSettings.OnPositionLost = .halt, brokerWaitSeconds: Double = 0.5
    ) {
        progress = PartitionProgress(position)
        stored = position?.nextOffset
        self.pauses = pauses
        self.policy = policy
        watch = FetchWatch(brokerWaitSeconds: brokerWaitSeconds)
    }

    // MARK: The condition

    /// The name of the state: the gravest of its causes.
    var condition: PartitionCondition {
        if let halt { return .halted(halt) }
        if let missing { return .missing(missing) }
        if isOutOfRange { return .outOfRange }
        if !pauses.isEmpty { return .paused(pauses) }
        return comparison != .notNeeded || progress.isUnverified ? .verifying : .reading
    }

    /// Whether reading has ended until an operator decides.
    var isHalted: Bool { halt != nil }
    /// Whether the broker does not have the partition, or does not let it be read.
    var isMissing: Bool { missing != nil }

    /// Whether records can be expected.
    var isRead: Bool {
        switch condition {
        case .reading, .verifying: true
        case .paused, .outOfRange, .missing, .halted: false
        }
    }

    /// The offset up to which the log was read, its end without records included.
    var reached: Int64 { watch.reached(next: progress.next) }

    /// The first offset that the store lacks; nil where it is not known.
    var firstMissing: Int64? { stored ?? progress.first }

    /// The offset from which the lag counts; nil where nothing is known of the partition.
    ///
    /// While the store refuses, the worker reads the same records again, so the lag counts from the store's position.
    /// Otherwise an end that the client has reached counts as read: no record stands before it.
    func lagStart(storeRefuses: Bool) -> Int64? {
        storeRefuses ? firstMissing : progress.next.map { watch.reached(next: $0) }
    }

    /// The end of the log that the store's position may move to, or nil. No record stands between the two.
    ///
    /// The store has all records that the client gave, and the client has come to the end behind them. Where there was no
    /// record, the end tells a later reading what it has missed.
    var endToSave: Int64? {
        let stored = stored ?? 0
        guard condition == .reading, stored >= progress.next ?? 0, reached > stored else { return nil }
        return reached
    }

    /// Whether the partition shows no further record for now: it is not read, or the client has reached its end.
    var isExhausted: Bool {
        switch condition {
        case .halted, .missing, .outOfRange: true
        case .paused: false
        case .reading, .verifying: comparison == .notNeeded && watch.hasReachedEnd
        }
    }

    /// The offset that the worker still has to commit to the broker, or nil.
    var offsetToCommit: Int64? { stored == committedOffset ? nil : stored }

    /// The actions that the worker still has to carry out between polls; an event says when one is done.
    var due: [PartitionAction] {
        var actions: [PartitionAction] = []
        let wantsPause = isHalted || !pauses.isDisjoint(with: .client)
        if wantsPause != isPausedInClient { actions.append(wantsPause ? .pause : .resume) }
        if isHalted || !pauses.isDisjoint(with: .dropping) { return actions }
        // The broker's answer is compared with the store's position, so that comes first.
        if comparison == .now {
            actions.append(.compareLastRecord)
        } else if isOutOfRange {
            actions.append(.askRange)
        }
        return actions
    }

    /// The report that health should have now, silence apart.
    private var report: PartitionReport {
        switch condition {
        case .halted(let fault), .missing(let fault): .halted(fault)
        case .outOfRange: .waiting
        case .reading, .verifying, .paused: .released
        }
    }

    /// The reports that end a partition's earlier reports when it is no longer assigned.
    var farewell: [PartitionAction] {
        (report == .released ? [] : [.report(.released)]) + (watch.isReported ? [.report(.heard)] : [])
    }

    // MARK: Events

    /// Notes a record, and decides whether the worker applies it.
    ///
    /// - Parameters:
    ///   - fingerprint: the record's; the state asks for it only to compare it.
    ///   - actions: takes the actions that follow; hardly ever are there any.
    mutating func receive(
        offset: Int64, fingerprint: @autoclosure () -> RecordFingerprint, actions: inout [PartitionAction]
    ) -> RecordVerdict {
        if missing != nil { actions += handle(.found) }
        if comparison != .notNeeded || dropsRecords {
            comparison = .now
            return .skip
        }
        switch progress.received(offset: offset, fingerprint: fingerprint()) {
        case .apply: return .apply
        case .skip: return .skip
        case .lost(let reason):
            actions += handle(.otherRecordFound(reason))
            return .skip
        }
    }

    /// Whether records that come are read again later. A partition that is assigned during a pause delivers some before
    /// the client pauses it: applied, they would fill an outbox further with every rebalance.
    private var dropsRecords: Bool {
        !pauses.isDisjoint(with: .dropping) || !pauses.isDisjoint(with: .client) && !isPausedInClient
    }

    /// Handles an event, and returns the actions to carry out at once; ``due`` has the rest.
    mutating func handle(_ event: PartitionEvent) -> [PartitionAction] {
        let before = report
        let actions = change(event)
        return report == before ? actions : [.report(report)] + actions
    }

    private mutating func change(_ event: PartitionEvent) -> [PartitionAction] {
        switch event {
        case .pauseBegan(let reasons): pauses.formUnion(reasons)
        case .pauseEnded(let reasons): goOn(without: reasons)
        case .clientChanged(let isPaused): isPausedInClient = isPaused
        case .positionRead(let position): return goBack(to: position)
        case .seekDone: if comparison == .now { comparison = .notNeeded }
        case .seekRefused(let isRetriable): comparison = isRetriable ? .now : .atNextRecord
        case .saved(let offset):
            stored = offset
            progress.pass(to: offset)
        case .offsetCommitted(let offset): committedOffset = offset
        case .endReached(let offset):
            watch.reachEnd(offset)
            // The client reads from the store's last record. A log that ends before the position has lost it.
            let isAtPosition = comparison != .now && pauses.isDisjoint(with: .dropping)
            if isAtPosition, offset < progress.next ?? 0 { return change(.offsetOutOfRange) }
            // Where no record stands before the end, none comes to be compared.
            if comparison == .atNextRecord, missing == nil { comparison = .now }
        case .connectionLost: doubtLog()
        case .offsetOutOfRange: isOutOfRange = isOutOfRange || !isHalted
        case .otherRecordFound(let reason):
            if policy == .halt { halt(before: 0, .positionLost(reason)) } else { isOutOfRange = !isHalted }
        case .rangeKnown(let marks): return decide(marks)
        case .damaged(let offset, let fault): halt(before: offset, fault)
        case .missing(let fault):
            doubtLog()
            missing = missing ?? fault
        case .found: missing = nil
        case .clock(let time, let end): return look(end, at: time)
        }
        return []
    }

    private mutating func doubtLog() {
        if comparison == .notNeeded { comparison = .atNextRecord }
    }

    private mutating func halt(before offset: Int64, _ fault: ReadFault) {
        if isHalted { return }
        progress.halt(before: offset)
        halt = fault
    }

    /// Brokers close idle connections, and another log may answer on the next one.
    private mutating func goOn(without reasons: PauseReasons) {
        let ended = pauses.intersection(reasons)
        pauses.subtract(reasons)
        let hasDropped = !ended.isDisjoint(with: .dropping)
        if hasDropped || !ended.isEmpty && pauses.isDisjoint(with: .client) { comparison = .now }
    }

    private mutating func goBack(to position: SourcePosition?) -> [PartitionAction] {
        if isHalted { return [] }
        stored = position?.nextOffset
        progress = PartitionProgress(position, first: progress.first)
        // Until the client is there, the worker drops every record.
        comparison = .now
        watch.begin()
        return [.seek(progress.start)]
    }

    private mutating func decide(_ marks: Watermarks) -> [PartitionAction] {
        if !isOutOfRange || isHalted || comparison == .now { return [] }
        isOutOfRange = false
        watch.begin()
        switch progress.outOfRange(low: marks.low, high: marks.high) {
        case .seek(let offset): return [.seek(offset)]
        case .compare:
            comparison = .now
            return []
        case .lost(let reason):
            if policy == .halt {
                halt(before: 0, .positionLost(reason))
                return []
            }
            let jump = PositionJump(from: progress.next ?? 0, policy: policy, marks: marks)
            progress.jump(to: jump.to)
            return [.jump(jump, reason: reason)]
        }
    }

    // MARK: Silence

    /// Whether the partition is behind and has given no sign of life since.
    var isSuspicious: Bool { watch.isSuspicious }

    /// Notes a poll; the caller notes the poll's signs of life after it.
    mutating func polled(isFull: Bool) { watch.polled(isFull: isFull) }

    /// Notes a sign of life.
    mutating func hear() { watch.hear() }

    private mutating func look(_ end: Int64?, at time: Double) -> [PartitionAction] {
        switch watch.update(end: end, next: isRead ? progress.next ?? 0 : nil, at: time) {
        case .tell(let behind): return [.report(.silent(behind: behind))]
        case .over: return [.report(.heard)]
        case .refetch(let behind):
            comparison = .now
            return [.refetch(behind: behind)]
        case nil: return []
        }
    }
}

/// The decision about a record.
enum RecordVerdict: Sendable, Equatable {
    case apply
    case skip
}

extension ReadFault {
    fileprivate static func positionLost(_ reason: String) -> ReadFault {
        ReadFault(reason: reason, remedy: "set kafka.onPositionLost to earliest or latest to go on without them")
    }
}
