import GraphCore
import KafkaClient
import Logging
import Synchronization

/// Watches the topic that an outbox fills, and notices records that the broker lost. A topic may be made again, or lose its
/// end by an election of a replica that was behind.
package final class SentTopic: Sendable {
    /// Records that were delivered and are lost.
    struct Loss: Equatable {
        /// The partitions, each with the offset behind the last record that it kept.
        let partitions: [Int32: Int64]
        /// The last entry that all these partitions still hold; nil where one holds none.
        let lastEntry: Int64?
    }

    private struct State: Sendable {
        var marks = SentMarks()
        /// The marks before the records of which only the sink knows whether they are finished; nil where there are none.
        var begun: SentMarks?
        /// Whether the marks are the store's: another worker may have written over lost records before it saved its own.
        var areMarksLoaded = false
        var checks = SentTopic.makeChecks()
        /// The marks and the told ends of the last look that found nothing lost: the same ones need no second look.
        var sound: (marks: SentMarks, ends: [Int32: Int64])?
        /// Since when the broker has told an end before a mark, by the monotonic clock; nil while it tells none.
        var suspectedSince: Double?
    }

    /// The topic's name.
    let topic: String
    private let records: SentRecords
    private let clock: WorkerClock
    private let state = Mutex(State())

    private static let confirmationSeconds = 5.0
    private static func makeChecks() -> Recurrence { Recurrence(everySeconds: 2) }

    /// Makes the watch of a topic. It connects when it first looks.
    ///
    /// - Parameters:
    ///   - client: the properties of a client.
    ///   - consumer: the properties of a consumer.
    /// - Throws: `KafkaError` where a property is unknown or refused.
    package convenience init(topic: String, client: KafkaConfiguration, consumer: KafkaConfiguration) throws {
        // A batch that was aborted has reached nobody.
        let reader = consumer.setting("isolation.level", to: "read_committed")
            .setting("enable.partition.eof", to: "true")
        // An open transaction, this store's or another's, hides the records behind it, and loses none.
        let topics = try Admin(configuration: client, countsOpenTransactions: true)
        self.init(topic: topic, topics: topics, sources: reader)
    }

    /// Makes the watch of a topic.
    ///
    /// - Parameters:
    ///   - topics: asks the broker for the topic's ends, open transactions included.
    ///   - sources: reads what the topic holds, without batches that were aborted.
    package init(
        topic: String, topics: any TopicLister, sources: any RecordSources, clock: WorkerClock = .system
    ) {
        self.topic = topic
        records = SentRecords(topic: topic, topics: topics, sources: sources, clock: clock)
        self.clock = clock
    }

    /// The key under which the store keeps the marks.
    var key: String { "sentOffsets:\(topic)" }

    /// The marks for the store.
    var text: String { state.withLock { "\($0.marks)" } }

    /// The cursor up to which entries are sent again; nil where nothing is.
    var sendsAgainThrough: Int64? { state.withLock { $0.marks.again?.through } }

    /// Goes on with the marks of the store, and returns the cursor behind which entries are sent again; nil where none are.
    func begin(_ text: String?) -> Int64? {
        state.withLock { state in
            state = State()
            state.marks = text.flatMap { SentMarks($0) } ?? SentMarks()
            state.begun = state.marks
            state.areMarksLoaded = true
            return state.marks.again?.reached
        }
    }

    /// Notes that a batch follows. Until it is finished, only the sink may know whether it is.
    func beginBatch() { state.withLock { $0.begun = $0.marks } }

    /// Notes the places of delivered records, on the producer's thread.
    package var onDelivery: @Sendable (TopicPartition, Int64) -> Void {
        { [self] place, offset in
            if place.topic == topic { state.withLock { $0.marks.delivered(place.partition, at: offset) } }
        }
    }

    /// Notes the outbox's cursor, and tells whether all lost entries have now been sent again.
    func reached(_ cursor: Int64) -> Bool {
        state.withLock { $0.marks.reached(cursor) }
    }

    /// Accepts a loss: the outbox sends the entries between two cursors again.
    func sendAgain(_ loss: Loss, from start: Int64, through cursor: Int64) {
        state.withLock {
            $0.marks.accept(loss.partitions, sendingAgain: SentMarks.Again(reached: start, through: cursor))
        }
    }

    /// Ends a look that waits for records, and lets no other begin.
    func prepareToStop() { records.prepareToStop() }

    // MARK: Looking

    /// Asks the broker every two seconds, or where deliveries show a loss. While the broker does not answer nothing is
    /// known to be lost.
    ///
    /// - Parameters:
    ///   - cursor: the last entry that was delivered. A later one before a mark was under way during the loss: the entries
    ///     before it may be lost.
    ///   - entry: returns the number of the outbox's entry that a record carries, or nil.
    ///   - page: reads the store's entries behind a number; nil where none follow.
    /// - Throws: `KafkaError` where something is lost, and the rest cannot be read now.
    func loss(
        through cursor: Int64, entry: SentRecords.Entry, page: (Int64) throws -> SentRecords.Page?
    ) throws -> Loss? {
        let marks = try state.withLock { state throws(KafkaError) -> SentMarks? in
            if records.isStopping {
                // A delivery over lost records would hide the loss from the next worker.
                if state.suspectedSince != nil || state.marks.showsLoss { throw SentRecords.endsUnheard }
                return nil
            }
            let isDue = state.checks.isDue(at: clock.seconds()) || state.suspectedSince != nil
            return (isDue || state.marks.showsLoss) && !state.marks.partitions.isEmpty ? state.marks : nil
        }
        guard let marks else { return nil }
        let lost = try? lost(marks)
        guard let lost, !lost.isEmpty else {
            state.withLock { state in
                state.suspectedSince = nil
                // A delivery before the broker's answer may hide a loss: the next one asks first.
                if lost == nil { state.checks = Self.makeChecks() }
            }
            return nil
        }
        try confirm(marks, at: clock.seconds())
        var last: Int64? = .max
        for (partition, end) in lost.sorted(by: { $0.key < $1.key }) {
            guard let known = last else { break }
            let ordered = marks.orderedEnd(partition, end)
            let kept = try records.lastEntry(partition, before: ordered) { record in
                try entry(record).flatMap { $0 > cursor ? nil : $0 }
            }
            last = kept.map { min($0, known) }
        }
        if let known = last {
            let marked = marks.partitions.map { ($0, lost[$0] ?? marks.mark($0)) }
            let gap = try records.firstGap(
                through: known, ends: Dictionary(uniqueKeysWithValues: marked), entry, page: page)
            last = gap.map { $0 - 1 } ?? last
        }
        return Loss(partitions: lost, lastEntry: last)
    }

    /// Lets the worker look again before it takes a loss for one: a broker may come up without its records, and have them
    /// again soon. Deliveries below the marks leave no doubt.
    ///
    /// - Throws: `KafkaError` while it is to look again.
    private func confirm(_ marks: SentMarks, at time: Double) throws {
        let since = state.withLock { state in
            let since = state.suspectedSince ?? time
            state.suspectedSince = since
            return since
        }
        if marks.showsLoss || time - since >= Self.confirmationSeconds {
            state.withLock { $0.suspectedSince = nil }
            return
        }
        throw KafkaError(.timedOut, "the broker tells an end of \(topic) before records that were delivered")
    }

    private func lost(_ marks: SentMarks) throws -> [Int32: Int64] {
        let partitions = try records.partitions()
        if partitions.isEmpty { return [:] }
        var ends = try records.toldEnds(of: marks.partitions.filter { partitions.contains($0) })
        if state.withLock({ $0.sound?.marks == marks && $0.sound?.ends == ends }) { return [:] }
        let sound = (marks: marks, ends: ends)
        for (partition, told) in ends {
            ends[partition] = try records.end(of: partition, told: told, mark: marks.mark(partition))
        }
        let lost = marks.lost(partitions, ends: ends)
        if lost.isEmpty { state.withLock { $0.sound = sound } }
        return lost
    }

    /// Looks in the topic for the entries that the sink has finished. A worker that was killed has not saved the places of
    /// its last batches. A topic may also lose a batch before its sink has told that it is finished. The entries that stand
    /// behind the marks are watched from then on.
    ///
    /// With marks of the store, it looks for the entry at the cursor, too. A worker that had the marks before may not have
    /// noticed a loss, and may have moved the end behind them again.
    ///
    /// - Parameters:
    ///   - finished: reads the entries that the outbox's cursor has still to reach, in their order.
    ///   - reached: reads the entry at the outbox's cursor; nil where nobody knows whether it has records.
    /// - Returns: the loss of the first entry that is lacking; nil where none is, or nobody can tell.
    /// - Throws: `KafkaError` where the broker does not answer; what the parameters throw.
    func loss(
        of finished: @autoclosure () throws -> [Int64], behind reached: @autoclosure () throws -> Int64?,
        entry: SentRecords.Entry
    ) throws -> Loss? {
        let (begun, areLoaded) = state.withLock { ($0.begun, $0.areMarksLoaded) }
        guard let marks = begun else { return nil }
        let isLookedFor = areLoaded && marks.again == nil && !marks.partitions.isEmpty
        let finished = try finished()
        let entries = (isLookedFor ? try [reached()].compactMap(\.self) : []) + finished
        let loss = entries.isEmpty ? nil : try look(for: entries, behind: finished.first, marks, entry)
        state.withLock { ($0.begun, $0.areMarksLoaded) = (nil, false) }
        return loss
    }

    private func look(
        for entries: [Int64], behind firstUnsaved: Int64?, _ marks: SentMarks,
        _ entry: SentRecords.Entry
    ) throws -> Loss? {
        let partitions = try records.partitions()
        var (lost, isWhole, reachesCursor, isComplete) = (entries.first, false, false, false)
        var places: [Int32: Int64] = [:]
        var kept: [Int32: (entry: Int64, offset: Int64)] = [:]
        for span in SentRecords.spans where lost != nil {
            isWhole = !partitions.isEmpty
            (reachesCursor, isComplete) = (isWhole, isWhole)
            kept = [:]
            var present: Set<Int64> = []
            for partition in partitions.sorted() {
                let mark = marks.mark(partition)
                let range = try records.watermarks(partition)
                let end = try records.end(of: partition, told: range.high, mark: mark)
                let start = max(range.low, end - span)
                isComplete = isComplete && start == 0
                // The marks may have a part of the batch already: its last record counts wherever it stands.
                isWhole = isWhole && (start < mark || start == range.low && start <= mark)
                if start >= end {
                    reachesCursor = reachesCursor && mark == 0
                    continue
                }
                let isRead = try records.read(partition, from: start, before: end) { record in
                    guard let found = try entry(record) else { return }
                    places[partition] = max(places[partition] ?? 0, record.offset)
                    present.insert(found)
                    if found < entries[0] { kept[partition] = (found, record.offset) }
                }
                isWhole = isWhole && isRead
                // A record of an entry before shows that the look begins before the cursor's.
                let isBefore = kept[partition] != nil || start == range.low
                reachesCursor = reachesCursor && (mark == 0 || start < mark && isBefore)
            }
            // A topic without any entry may have lost them to age, unless it still begins with its first record.
            reachesCursor = reachesCursor && (isComplete || !present.isEmpty)
            lost = entries.first { !present.contains($0) }
        }
        let known = state.withLock { $0.marks }
        for (partition, offset) in places where offset >= known.mark(partition) {
            onDelivery(TopicPartition(topic, partition), offset)
        }
        guard let lost, isWhole else { return nil }
        if let first = firstUnsaved, lost >= first { return Loss(partitions: [:], lastEntry: lost - 1) }
        // Where the records before the marks have expired, nobody can tell.
        if !reachesCursor { return nil }
        let ends = try marks.partitions.map { number in
            guard let (last, offset) = kept[number] else { return Int64(0) }
            // A record that was under way during an earlier loss has not all others before it.
            let ordered = marks.orderedEnd(number, offset + 1)
            if ordered > offset { return last }
            return try records.lastEntry(number, before: ordered, entry) ?? 0
        }
        return Loss(partitions: [:], lastEntry: ends.min())
    }
}
