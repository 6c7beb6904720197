import GraphCore
import IngestCore
import KafkaClient

/// Examinations that compare the store with the broker: positions and clocks.
extension Examiner {
    /// The positions of the configured topics in the store; empty without a store.
    func storedPositions() throws -> [SourcePosition] {
        let model = try model()
        guard !isStoreFaulty, try configuration.hasStore(model: model) else { return [] }
        let store = try configuration.openStoreForReading(model: model)
        defer { try? store.close() }
        let names = Set(configuration.topics.map(\.name))
        return try store.read { try $0.positions() }.filter { names.contains($0.topic) }
    }

    // MARK: Positions

    /// Compares the store's positions with the records that the broker has, as a worker does when it starts.
    func examinePositions() throws -> Examination.Outcome {
        guard let connected else { return Self.unanswered }
        if isStoreFaulty { return .skipped("not compared, since the store cannot be read") }
        let positions = try storedPositions()
        if positions.isEmpty { return .ok("the store has none yet") }
        var log = StoredLog()
        for position in positions {
            let partition = TopicPartition(position.topic, position.partition)
            let known = connected.metadata.topics[position.topic] ?? []
            let marks =
                try known.contains { $0.number == position.partition }
                ? connected.admin.watermarks(partition, timeoutMilliseconds: Self.timeoutMilliseconds) : nil
            log.take(position, marks)
        }
        try compareLastRecords(&log)
        return try log.outcome
    }

    /// Reads the last record that the store took of each partition once more.
    private func compareLastRecords(_ log: inout StoredLog) throws {
        if log.starts.isEmpty { return }
        let consumer = try Consumer(withoutGroup: try configuration.kafka.consumerConfiguration(logger: logger))
        defer { try? consumer.close(timeoutMilliseconds: Self.timeoutMilliseconds) }
        try consumer.assign(adding: log.starts)
        let end = MonotonicClock.seconds() + Double(Self.timeoutMilliseconds) / 1000
        while !log.starts.isEmpty, MonotonicClock.seconds() < end {
            for record in try consumer.poll(maxRecords: 100, timeoutMilliseconds: 100) {
                let source = ConsumerWorker.source(record, record.topicPartition)
                log.take(RecordFingerprint(source), of: record.topicPartition, offset: record.offset)
            }
        }
    }

    // MARK: Clocks

    private static let toleranceMilliseconds: Int64 = 60_000
    private static let dayMicroseconds: Int64 = 86_400_000_000

    /// Compares this machine's clock with the store's last commit and with the timestamps of the broker's records.
    func examineClock() throws -> Examination.Outcome {
        let now = WriterContext.systemTime()
        let commit = try lastCommit()
        let tolerance = Self.toleranceMilliseconds * 1000
        if let commit, commit > now + tolerance {
            throw ExaminationError(
                code: .clock,
                message: "The store's last commit is of \(Timestamp.text(commit)), and this machine's clock says "
                    + Timestamp.text(now),
                remedy: "Set the clock, as with NTP. If it is right now, it was ahead at that commit")
        }
        let seconds = commit.map { Double(now - $0) / 1_000_000 }
        let age = seconds.map { "; the last commit is \(ProgressMeter.duration($0)) old" } ?? ""
        guard connected != nil else { return .skipped("not compared with records, since no broker has answered\(age)") }
        if let place = try recordAfter(now / 1000 + Self.toleranceMilliseconds) {
            return .warning(
                "\(place) has records from more than a minute in the future",
                remedy: "Compare the clocks of this machine, the brokers and the producers: latencies and times are "
                    + "wrong")
        }
        let keptDays = Int64(configuration.history.keepDays)
        if let commit, keptDays > 0, now - commit > keptDays * Self.dayMicroseconds,
            try recordAfter((now - keptDays * Self.dayMicroseconds) / 1000) == nil
        {
            throw ExaminationError(
                code: .clock,
                message: "Neither a commit nor a record is of the last \(counted(Int(keptDays), "day"))"
                    + " (history.keepDays) by this machine's clock, which says \(Timestamp.text(now))\(age)",
                remedy: "If nothing was sent for so long, all is well. Otherwise the clock is ahead: set it before the "
                    + "worker starts, because purges count from it")
        }
        return .ok("no record is from the future\(age)")
    }

    /// When the store's last transaction was committed, in microseconds since 1970 UTC; nil without one.
    private func lastCommit() throws -> Int64? {
        let model = try model()
        guard !isStoreFaulty, try configuration.hasStore(model: model) else { return nil }
        let store = try configuration.openStoreForReading(model: model)
        defer { try? store.close() }
        return try store.read { try $0.stored(try $0.lastToken())?.time }
    }

    /// Returns a partition that has a record of a time or later, in milliseconds since 1970 UTC.
    private func recordAfter(_ milliseconds: Int64) throws -> TopicPartition? {
        guard let connected else { return nil }
        let partitions = configuration.topics.flatMap { topic in
            (connected.metadata.topics[topic.name] ?? []).map { TopicPartition(topic.name, $0.number) }
        }
        let times = Dictionary(partitions.map { ($0, milliseconds) }) { first, _ in first }
        return try connected.admin.offsets(
            atTimestampsMilliseconds: times, timeoutMilliseconds: Self.timeoutMilliseconds
        ).keys.min()
    }
}

/// Judges the store's positions by the records that the broker has.
struct StoredLog {
    private var partitions = 0
    private var behind: Int64 = 0
    private var lost: [(partition: TopicPartition, reason: String)] = []
    private var progress: [TopicPartition: PartitionProgress] = [:]

    /// The partitions whose last record is to be compared, with its offset.
    private(set) var starts: [TopicPartition: Int64] = [:]

    /// Notes a position with the range of offsets that the broker has; nil where it does not have the partition.
    mutating func take(_ position: SourcePosition, _ marks: Watermarks?) {
        let partition = TopicPartition(position.topic, position.partition)
        partitions += 1
        guard let marks else { return lost.append((partition, "the broker does not have the partition any more")) }
        var judged = PartitionProgress(position)
        if case .lost(let reason) = judged.outOfRange(low: marks.low, high: marks.high) {
            return lost.append((partition, reason))
        }
        behind += max(0, marks.high - position.nextOffset)
        guard judged.isUnverified, judged.start < marks.high else { return }
        starts[partition] = judged.start
        progress[partition] = judged
    }

    /// Notes the first record that the broker has from the position on.
    mutating func take(_ fingerprint: RecordFingerprint, of partition: TopicPartition, offset: Int64) {
        guard starts.removeValue(forKey: partition) != nil, var judged = progress[partition] else { return }
        if case .lost(let reason) = judged.received(offset: offset, fingerprint: fingerprint) {
            lost.append((partition, reason))
        }
    }

    /// The judgement.
    var outcome: Examination.Outcome {
        get throws(ExaminationError) {
            guard lost.isEmpty else {
                let ordered = lost.sorted { $0.partition < $1.partition }
                let shown = ordered.prefix(5).map { "\($0.partition): \($0.reason)" }
                let more = lost.count > shown.count ? " and \(lost.count - shown.count) more" : ""
                throw ExaminationError(
                    code: .position, message: "The position is lost of \(shown.joined(separator: "; "))\(more)",
                    remedy: "If a topic was made again, restart once with kafka.onPositionLost=earliest or latest, or "
                        + "build the store again with 'run --rebuild'. Partitions that are gone have to be made again")
            }
            return .ok("\(counted(partitions, "partition")), \(counted(Int(behind), "record")) behind")
        }
    }
}
