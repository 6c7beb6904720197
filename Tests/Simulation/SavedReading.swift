import GraphCore
import IngestCore
import KafkaClient

/// What the workers have saved of one input: the records, and the log that each came from.
struct SavedReading {
    /// Records of one log that were saved.
    struct Part {
        let generation: Int
        let offsets: Range<Int64>
    }

    private(set) var parts: [Part] = []
    /// Whether a jump was saved together with records of the log before, whose number nobody tells.
    private(set) var isUnclear = false
    /// The furthest offset of all saved positions.
    private(set) var furthest: Int64 = 0
    /// The last position that was saved.
    private var position: SourcePosition?
    /// The log to which the position belongs.
    private var generation = 0

    /// Follows a position that was saved.
    ///
    /// - Returns: what must not have been saved; nil where everything is as it has to be.
    mutating func take(
        _ new: SourcePosition, _ log: SimulatedLog, _ policy: KafkaSettings.OnPositionLost
    ) -> String? {
        let old = position
        if let old, old.nextOffset == new.nextOffset, old.detail == new.detail {
            // A second jump may lead back to where the first one led, saved with the records between them.
            if Last(new) == nil, log.generation > generation { noteJump(from: new.nextOffset, log) }
            return nil
        }
        position = new
        furthest = max(furthest, new.nextOffset)
        let start = old?.nextOffset ?? 0
        guard let last = Last(new) else {
            // An end without a record before it, or a jump.
            defer { generation = log.generation }
            if old != nil || log.generation > 0 { noteJump(from: start, log) }
            if old == nil { return nil }
            if policy == .halt { return "moved from \(start) to \(new.nextOffset), though a lost position halts" }
            return log.generation == 0 ? "moved from \(start) to \(new.nextOffset), though nothing was lost" : nil
        }
        // An end behind the last record.
        if last.offset < start, new.nextOffset >= start { return nil }
        if last.offset < start { return "went back from \(start) to \(new.nextOffset)" }
        guard let source = (generation...log.generation).last(where: { last.isIn(log, $0, new) }) else {
            return "has at \(last.offset) a record that no log had"
        }
        isUnclear = isUnclear || passes(log, to: source)
        defer { generation = source }
        parts.append(Part(generation: source, offsets: start..<new.nextOffset))
        // Behind a jump there is no record to compare. Where the other log has none at that offset, or has it no more, the
        // comparison proves nothing.
        guard let compared = old.flatMap(Last.init)?.offset, compared >= log.low,
            log.record(at: compared, of: source) != nil
        else { return nil }
        let common = log.commonEnd(generation, source)
        let passed = common < start ? (common..<start).first { log.record(at: $0, of: source) != nil } : nil
        return passed.map { "went on at \(start) of another log, and passed its record \($0)" }
    }
}

extension SavedReading {
    /// Notes a jump, which may be saved with records of the logs before.
    private mutating func noteJump(from start: Int64, _ log: SimulatedLog) {
        isUnclear =
            isUnclear || log.hasRecords(from: start, of: generation) || passes(log, to: log.generation)
    }

    /// Whether there were logs with records between the position's and a later one: a save may hold their records, too.
    private func passes(_ log: SimulatedLog, to later: Int) -> Bool {
        (generation..<later).dropFirst().contains { log.hasRecords(from: 0, of: $0) }
    }
}

/// The last record before a position, as the position tells it.
private struct Last {
    let offset: Int64
    private let fingerprint: RecordFingerprint

    init?(_ position: SourcePosition) {
        let parts = position.detail?.split(separator: "@") ?? []
        guard let text = parts.first, let fingerprint = RecordFingerprint(String(text)) else { return nil }
        offset = parts.count == 2 ? Int64(parts[1]) ?? 0 : position.nextOffset - 1
        self.fingerprint = fingerprint
    }

    /// Whether the record stands in the log of a generation.
    func isIn(_ log: SimulatedLog, _ generation: Int, _ position: SourcePosition) -> Bool {
        guard let record = log.record(at: offset, of: generation) else { return false }
        let batch = RecordBatch([(record, offset)])
        let partition = TopicPartition(position.topic, position.partition)
        return batch.contains { RecordFingerprint(ConsumerWorker.source($0, partition)) == fingerprint }
    }
}
