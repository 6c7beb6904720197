import KafkaClient
import ObjectGraph
import Synchronization

/// Carries the right to replace a store from the old worker to the one that has built the new store.
///
/// Called on the worker's thread; ``isTaken`` and ``retiring`` from others after it has ended.
final class RebuildTakeover: @unchecked Sendable {
    /// What became of an attempt.
    enum Outcome: Equatable {
        case taken
        /// The old store cannot be replaced yet, and why.
        case waiting(String)
    }

    /// The old store's identity.
    let identity: String
    /// The old store with its lease, once it is taken.
    private(set) var retiring: RetiringStore?
    /// Called once, when the lease is taken.
    var onTaken: () -> Void = {}
    /// The reason that was logged last.
    var toldReason: String?
    private let swap: StoreSwap
    private let model: ObjectModel
    private let notifications: NotificationConfiguration
    private let deadLetterTopic: String?
    private let taken = Atomic<Bool>(false)
    private var ends: [TopicPartition: Int64] = [:]
    private var aheadBefore: [TopicPartition: Int64] = [:]

    init(identity: String, configuration: WorkerConfiguration, model: ObjectModel) {
        self.identity = identity
        self.model = model
        swap = StoreSwap(path: configuration.store.path)
        notifications = configuration.notifications
        deadLetterTopic = configuration.deadLetters.topic
    }

    /// Whether the old store's lease is taken, and everything in its file.
    var isTaken: Bool { taken.load(ordering: .acquiring) }

    // MARK: Catching up

    /// Takes an event that tells of a partition's end, and says whether it was one.
    ///
    /// Behind the last record there may be offsets without any: markers of transactions, and what compaction took.
    func take(_ event: ConsumerEvent) -> Bool {
        guard event.error.code == .partitionEnd, let partition = event.topicPartition else { return false }
        if let offset = event.offset { ends[partition] = offset }
        return true
    }

    /// Returns up to where a partition was read.
    func reached(_ partition: TopicPartition, next: Int64?) -> Int64 { max(next ?? 0, ends[partition] ?? 0) }

    // MARK: Taking over

    /// Tries to take the old store, when everything up to `reached` is committed in the new one.
    ///
    /// - Throws: `StoreError`, where waiting does not help.
    func attempt(reached: [TopicPartition: Int64]) throws(StoreError) -> Outcome {
        if isTaken { return .taken }
        let old: RetiringStore
        if let retiring { old = retiring } else { old = try RetiringStore(path: swap.path, model: model) }
        retiring = old
        let positions: [SourcePosition]
        do throws(StoreError) { positions = try old.takeLease() } catch {
            guard error.code == .leased || error.code == .busy else { throw error }
            return .waiting("caught up, and waiting for the old store: \(error.message). Stop that worker")
        }
        if let reason = ahead(positions, reached) {
            old.releaseLease()
            return .waiting(reason)
        }
        guard try old.carryLogOver() else {
            old.releaseLease()
            return .waiting(
                "caught up, and waiting for a reader of the old store, whose open transaction keeps its log")
        }
        taken.store(true, ordering: .releasing)
        onTaken()
        return .taken
    }

    /// The old worker may have read on since the end was looked at. Where it still is ahead after another look, the log
    /// has lost its end, and there is nothing to wait for.
    private func ahead(_ positions: [SourcePosition], _ reached: [TopicPartition: Int64]) -> String? {
        var ahead: [TopicPartition: Int64] = [:]
        for position in positions {
            let partition = TopicPartition(position.topic, position.partition)
            if let mine = reached[partition], position.nextOffset > mine { ahead[partition] = position.nextOffset }
        }
        defer { aheadBefore = ahead }
        guard let first = ahead.min(by: { $0.key < $1.key }), ahead != aheadBefore else { return nil }
        return "not finished: the old store is at offset \(first.value) of \(first.key.topic)/\(first.key.partition)"
    }

    /// Notes in the new store that what it was built of has been told: only what comes is.
    func finish(_ writer: WriterContext) throws {
        let (token, letter) = try writer.store.read { (try $0.lastToken(), try $0.lastDeadLetterID()) }
        if notifications.topic != nil { try writer.putCursors([notifications.cursorName: token]) }
        if let topic = deadLetterTopic { try writer.putSentDeadLetter(letter, topic: topic) }
        try writer.commit()
    }

    /// Gives the old store back, where it is not replaced after all.
    func abandon() {
        retiring?.releaseLease()
        try? retiring?.close()
        retiring = nil
    }
}

extension ConsumerWorker {
    /// Looks whether everything there is was read, and then tries to take the old store.
    func consider(_ takeover: RebuildTakeover, _ consumer: Consumer) throws {
        if takeover.isTaken { return }
        if let reason = try whatIsLeft(takeover, consumer) { return tell(reason, takeover) }
        try pipeline.finish()
        let reached = Dictionary(
            uniqueKeysWithValues: progress.map { ($0.key, takeover.reached($0.key, next: $0.value.next)) })
        switch try takeover.attempt(reached: reached) {
        case .taken: tell("finished: the store is being put in its place", takeover)
        case .waiting(let reason): tell(reason, takeover)
        }
    }

    /// Returns what is not read yet, or nil at a moment when nothing is: the broker itself is asked for that.
    private func whatIsLeft(_ takeover: RebuildTakeover, _ consumer: Consumer) throws -> String? {
        guard let plan, plan.generation > 0 else { return "not finished: the topics' partitions are not known yet" }
        if !missing.isEmpty || progress.values.contains(where: { $0.isHalted }) {
            return "not finished: a topic or partition is missing or halted, see the check 'partitions'"
        }
        var behind: Int64 = 0
        var unknown = 0
        for (partition, progress) in progress {
            if let marks = try? consumer.watermarks(partition), marks.high >= 0 {
                behind += max(0, marks.high - takeover.reached(partition, next: progress.next))
            } else {
                unknown += 1
            }
        }
        if behind > 0 { return "not finished: \(behind) records behind" }
        if unknown > 0 { return "not finished: \(unknown) partitions have not answered yet" }
        for (partition, progress) in progress {
            do {
                let high = try consumer.queryWatermarks(partition, timeoutMilliseconds: 2000).high
                let left = high - takeover.reached(partition, next: progress.next)
                if left > 0 { return "not finished: \(left) records behind" }
            } catch let error as KafkaError where !error.isFatal {
                return "not finished: the broker does not say where \(partition.topic) ends"
            }
        }
        return nil
    }

    private func tell(_ reason: String, _ takeover: RebuildTakeover) {
        health.report(.rebuilding(reason: reason))
        // Numbers that only grow smaller are for health and metrics.
        let kind = reason.filter { !$0.isNumber }
        if takeover.toldReason == kind { return }
        takeover.toldReason = kind
        logger.info("rebuild", metadata: ["state": "\(reason)"])
    }
}
