import KafkaClient
import ObjectGraph
import Synchronization

/// Carries the right to replace a store from the old worker to the one that has built the new store.
///
/// Called on the worker's thread; ``isTaken`` and ``retiring`` from others after it has ended.
final class RebuildTakeover: @unchecked Sendable {
    /// The outcome of an attempt.
    enum Outcome: Equatable {
        case taken
        /// The old store cannot be replaced yet, and why.
        case waiting(String)
    }

    /// The old store's identity.
    var identity: String { old.identity }
    /// The mark of the settings with which the new store is built.
    let contentMark: String
    /// The old store, once it was looked at; taken where ``isTaken`` says so.
    private(set) var retiring: (any RetiringPlace)?
    /// Called once, when the lease is taken.
    var onTaken: () -> Void = {}
    /// How far the new store is.
    var meter = ProgressMeter(.lines, at: HealthMonitor.monotonicSeconds())
    /// The step that was logged last.
    var toldStep: String?
    private let old: StoreDescription
    private let allowsPartial: Bool
    /// The last record that the old store took of each partition, when the rebuild began.
    private let lastTaken: [TopicPartition: LastRecord]
    private let places: any RebuildPlaces
    private let model: ObjectModel
    private let notifications: NotificationConfiguration
    private let deadLetterTopic: String?
    private let taken = Atomic<Bool>(false)
    private var aheadBefore: [TopicPartition: Int64] = [:]

    init(
        old: StoreDescription, places: any RebuildPlaces, configuration: WorkerConfiguration, model: ObjectModel,
        allowsPartial: Bool
    ) {
        self.old = old
        self.places = places
        self.model = model
        self.allowsPartial = allowsPartial
        contentMark = configuration.contentMark
        var lastTaken: [TopicPartition: LastRecord] = [:]
        for position in old.positions {
            lastTaken[TopicPartition(position.topic, position.partition)] = LastRecord(position)
        }
        self.lastTaken = lastTaken
        notifications = configuration.notifications
        deadLetterTopic = configuration.deadLetters.topic
    }

    /// Whether the old store's lease is taken, and everything in its file.
    var isTaken: Bool { taken.load(ordering: .acquiring) }

    // MARK: Catching up

    /// Compares a record that is read again with the one that the old store took last at its place.
    ///
    /// - Throws: ``RebuildError``, where the topic was deleted and created again.
    func check(_ record: SourceRecord, _ partition: TopicPartition, offset: Int64) throws(RebuildError) {
        guard !allowsPartial, let last = lastTaken[partition], last.offset == offset,
            last.fingerprint != RecordFingerprint(record)
        else { return }
        throw RebuildError(
            code: .partial,
            message:
                "The record at offset \(offset) of \(partition) is not the one that "
                + "the store at \(places.old) took last: the topic was made again",
            remedy: "With --allow-partial the rebuilt store has what is there now")
    }

    // MARK: Taking over

    /// Tries to take the old store, when everything up to `reached` is committed in the new one.
    ///
    /// - Throws: `StoreError` and ``RebuildError``, where waiting does not help.
    func attempt(reached: [TopicPartition: Int64]) throws -> Outcome {
        if isTaken { return .taken }
        let old = try retiring ?? places.retire(model)
        retiring = old
        let reason = try old.take { found in
            if found.identity != identity { throw places.isExchanged }
            return try ahead(found.positions, reached)
        }
        if let reason { return .waiting(reason) }
        taken.store(true, ordering: .releasing)
        onTaken()
        return .taken
    }

    /// The old worker may have read on since the end was looked at. Where it still is ahead after another look, the log
    /// has lost its end, and there is nothing to wait for.
    private func ahead(
        _ positions: [SourcePosition], _ reached: [TopicPartition: Int64]
    ) throws(RebuildError) -> String? {
        var ahead: [TopicPartition: Int64] = [:]
        for position in positions {
            let partition = TopicPartition(position.topic, position.partition)
            if let mine = reached[partition], position.nextOffset > mine { ahead[partition] = position.nextOffset }
        }
        defer { aheadBefore = ahead }
        guard let first = ahead.min(by: { $0.key < $1.key }) else { return nil }
        if ahead != aheadBefore { return "the old store is at offset \(first.value) of \(first.key)" }
        if allowsPartial { return nil }
        throw RebuildError(
            code: .partial,
            message:
                "The store at \(places.old) is at offset \(first.value) of \(first.key). The topic has nothing beyond offset "
                + "\(reached[first.key] ?? 0): it was made again, or has lost its end",
            remedy: "With --allow-partial the rebuilt store goes without")
    }

    /// Notes in the new store that its notifications and dead letters count as delivered: only later ones are sent.
    func finish(_ writer: WriterContext) throws {
        let (token, letter) = try writer.store.read { (try $0.lastToken(), try $0.lastDeadLetterID()) }
        // A reader that the old store waited for is waited for again: its token is of another store.
        let own = NotificationConfiguration.cursorPrefix
        let readers = old.cursorNames.filter { !$0.hasPrefix(own) }
        try writer.putCursors(Dictionary(uniqueKeysWithValues: readers.map { ($0, 0) }))
        if notifications.topic != nil { try writer.putCursors([notifications.cursorName: token]) }
        if let topic = deadLetterTopic { try writer.putSentDeadLetter(letter, topic: topic) }
        try writer.commit()
    }

    /// Gives the old store back, where it is not replaced after all.
    func abandon() {
        retiring?.giveBack()
        retiring = nil
    }
}

extension ConsumerWorker {
    /// Looks whether everything there is was read, and then tries to take the old store.
    func consider(_ takeover: RebuildTakeover, _ consumer: Consumer) throws {
        if takeover.isTaken { return }
        if let step = try whatIsLeft(takeover, consumer) { return tell(step, takeover) }
        try pipeline.finish()
        switch try takeover.attempt(reached: partitions.states.mapValues(\.reached)) {
        case .taken: tell(ProgressMeter.Step("putting the store in its place"), takeover)
        case .waiting(let reason): tell(ProgressMeter.Step(reason), takeover)
        }
    }

    /// Returns what is not read yet, or nil at a moment when nothing is: the broker itself is asked for that.
    private func whatIsLeft(_ takeover: RebuildTakeover, _ consumer: Consumer) throws -> ProgressMeter.Step? {
        guard let plan, plan.generation > 0 else {
            return ProgressMeter.Step("waiting for the topics' partitions, which are not known yet")
        }
        if partitions.lacksAny {
            return ProgressMeter.Step("a topic or partition is missing or halted, see the check 'partitions'")
        }
        var behind: Int64 = 0
        var unknown = 0
        for (partition, state) in partitions.states {
            if let marks = try? consumer.watermarks(partition), marks.high >= 0 {
                behind += max(0, marks.high - state.reached)
            } else {
                unknown += 1
            }
        }
        if behind > 0 { return reading(behind: behind) }
        if unknown > 0 {
            return ProgressMeter.Step(
                "waiting for the broker, which has not said where \(counted(unknown, "partition")) ends")
        }
        for (partition, state) in partitions.states {
            do {
                let high = try consumer.queryWatermarks(partition, timeoutMilliseconds: 2000).high
                if high > state.reached { return reading(behind: high - state.reached) }
            } catch let error as KafkaError where !error.isFatal {
                return ProgressMeter.Step("waiting for the broker, which does not say where \(partition.topic) ends")
            }
        }
        return nil
    }

    private func reading(behind: Int64) -> ProgressMeter.Step {
        let count = pipeline.summary.records
        return ProgressMeter.Step(
            "reading", count: count, noun: "record", share: Double(count) / Double(Int64(count) + behind))
    }

    /// Tells the health how far the new store is. The log gets each step once, and now and then how fast it goes on.
    private func tell(_ step: ProgressMeter.Step, _ takeover: RebuildTakeover) {
        health.report(.working(step))
        takeover.meter.update(step, at: now())
        if step.share != nil, let line = takeover.meter.line(at: now()) {
            logger.info("rebuild", metadata: ["progress": "\(line)"])
        }
        // Numbers that only grow smaller are for health and metrics.
        let kind = step.name.filter { !$0.isNumber }
        if takeover.toldStep == kind { return }
        takeover.toldStep = kind
        logger.info("rebuild", metadata: ["state": "\(step.name)"])
    }
}
