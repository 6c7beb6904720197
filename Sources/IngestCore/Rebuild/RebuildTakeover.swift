import GraphCore
import KafkaClient
import RecordDecoding
import Synchronization

/// Carries the right to replace a store from the old worker to the one that has built the new store.
///
/// Called on the worker's thread; ``isTaken`` and ``retiring`` from others after it has ended.
package final class RebuildTakeover: @unchecked Sendable {
    /// The outcome of an attempt.
    enum Outcome: Equatable {
        case taken
        /// The old store cannot be replaced yet, and why.
        case waiting(String)
    }

    /// The old store's identity.
    package var identity: String { old.identity }
    /// The mark of the settings with which the new store is built.
    package let contentMark: String
    /// The old store, once it was looked at; taken where ``isTaken`` says so.
    package private(set) var retiring: (any RetiringPlace)?
    /// Called once, when the lease is taken.
    package var onTaken: () -> Void = {}
    /// How far the new store is.
    var meter: ProgressMeter
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

    package init(
        old: StoreDescription, places: any RebuildPlaces, configuration: WorkerConfiguration, model: ObjectModel,
        allowsPartial: Bool, clock: WorkerClock = .system
    ) {
        meter = ProgressMeter(.lines, at: clock.seconds())
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
    package var isTaken: Bool { taken.load(ordering: .acquiring) }

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
    package func finish(_ writer: WriterContext) throws {
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
    package func abandon() {
        retiring?.giveBack()
        retiring = nil
    }
}
