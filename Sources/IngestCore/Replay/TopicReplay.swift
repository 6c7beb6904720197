import Foundation
import GraphCore
import KafkaClient
import Logging
import RecordDecoding

/// Reads a topic into a store, up to the end that it has at the start: as the worker does, without group and commits.
///
/// The store keeps how far each partition is, in the same commit as the effects. So the next run goes on where a killed
/// run ended, and repeating a finished run changes nothing.
package final class TopicReplay {
    /// How far a replay is.
    package struct Progress: Sendable {
        /// The topic's name.
        package let topic: String
        /// The number of records of this run.
        package let records: Int
        /// The number of offsets passed in this run.
        package let passed: Int64
        /// The number of offsets to pass in this run.
        package let total: Int64
    }

    /// The outcome of one partition.
    package struct PartitionResult: Sendable, Equatable {
        /// The partition.
        package let partition: TopicPartition
        /// Where this run began.
        package let from: Int64
        /// The offset that reading was to end before.
        package let to: Int64
        /// The records of this run.
        package internal(set) var records: Int
    }

    private struct Reading {
        let span: PartitionSpan
        var progress: PartitionProgress
        var passed: Int64 = 0
        var records = 0
        /// Whether records are to come.
        var isOpen: Bool
        /// Whether its log may be another since a connection was lost.
        var isUncompared = false
    }

    private let pipeline: IngestPipeline
    private let configuration: WorkerConfiguration
    private let logger: Logger
    private let isStopping: () -> Bool
    private let now: () -> Double = MonotonicClock.seconds
    private var readings: [TopicPartition: Reading] = [:]
    /// The first record that cannot be read.
    private var damage: TopicReplayError?
    /// The last reported reason why a partition gives nothing.
    private var waitReason: String?
    /// Called a few times a second.
    package var onProgress: (Progress) -> Void = { _ in }

    /// How long a broker that gives nothing is waited for.
    private static let silenceSeconds = 60.0

    /// Makes a replay that feeds a pipeline.
    ///
    /// - Parameters:
    ///   - pipeline: where records go.
    ///   - configuration: the client, the topics with their routes, and the partitions that are wanted.
    ///   - logger: where the client's reports go.
    ///   - isStopping: asked between batches; true ends the replay after a last commit.
    package init(
        pipeline: IngestPipeline, configuration: WorkerConfiguration, logger: Logger,
        isStopping: @escaping () -> Bool = { false }
    ) {
        self.pipeline = pipeline
        self.configuration = configuration
        self.logger = logger
        self.isStopping = isStopping
    }

    /// Replays a topic; `kafka.partitions` limits it to these partitions.
    ///
    /// - Throws: ``TopicReplayError``, ``PartitionError``, ``RouteError``, `KafkaError`, `StoreError`,
    ///   ``IngestPipeline/Halt``.
    package func replay(_ request: TopicReplayRequest) throws -> [PartitionResult] {
        guard let topic = configuration.topics.first(where: { $0.name == request.topic }) else {
            throw TopicReplayError.unconfigured(request.topic)
        }
        let store = pipeline.writer.store
        let decoder = try configuration.decoder(
            of: topic, model: store.model, registry: configuration.makeSchemaRegistry())
        try configuration.checkPartitions(of: store)
        let settings = try configuration.kafka.consumerConfiguration(logger: logger)
        let positions = try store.read { try $0.positions() }
        func stored(_ topic: String) -> [Int32: SourcePosition] {
            Dictionary(positions.filter { $0.topic == topic }.map { ($0.partition, $0) }) { first, _ in first }
        }
        let known = stored(request.topic)
        try begin(try spans(request, known: known, marks: stored(request.markTopic)), request, known: known)
        let consumer = try Consumer(withoutGroup: settings)
        defer { try? consumer.close(timeoutMilliseconds: 5000) }
        try consumer.assign(adding: readings.filter(\.value.isOpen).mapValues { $0.progress.start })
        try read(consumer, decoder, request)
        try pipeline.finish()
        onProgress(progress(request))
        return readings.values.map {
            PartitionResult(
                partition: $0.span.partition, from: $0.span.start, to: $0.span.end, records: $0.records)
        }.sorted { $0.partition < $1.partition }
    }

    // MARK: What to read

    /// - Parameters:
    ///   - known: the store's positions in the topic, by partition.
    ///   - marks: what the store noted of requests before, by partition.
    private func spans(
        _ request: TopicReplayRequest, known: [Int32: SourcePosition], marks: [Int32: SourcePosition]
    ) throws -> [PartitionSpan] {
        let admin = try Admin(configuration: configuration.kafka.clientConfiguration(logger: logger))
        let partitions = try wantedPartitions(request, admin)
        var starts = try startOffsets(request, partitions, admin)
        let watermarks = Dictionary(uniqueKeysWithValues: try partitions.map { ($0, try admin.watermarks($0)) })
        if case .offset(let offset) = request.start, watermarks.values.allSatisfy({ $0.high < offset }) {
            throw TopicReplayError(
                .missing,
                "Offset \(offset) is beyond the end of \(request.topic), at \(watermarks.values.map(\.high).max() ?? 0)",
                remedy: "Correct --from-offset")
        }
        return try partitions.map { partition in
            let position = known[partition.partition]
            let next = position?.nextOffset
            if request.start == .stored { starts[partition] = next }
            let mark = marks[partition.partition]
            return try PartitionSpan(
                partition, asked: starts[partition], end: request.end,
                broker: watermarks[partition] ?? Watermarks(low: 0, high: 0), known: next,
                last: position.flatMap { LastRecord($0) }?.offset,
                isResumption: mark != nil && mark?.detail == request.mark)
        }
    }

    private func wantedPartitions(_ request: TopicReplayRequest, _ admin: Admin) throws -> [TopicPartition] {
        guard let found = try admin.metadata().topics[request.topic], !found.isEmpty else {
            throw TopicReplayError(
                .missing, "The broker has no topic \(request.topic)", remedy: "Make it, or correct the name")
        }
        let selection = configuration.selection(of: request.topic)
        let numbers = found.map(\.number)
        if let absent = selection.named?.first(where: { !numbers.contains($0) }) {
            throw TopicReplayError(
                .missing, "The topic \(request.topic) has no partition \(absent)",
                remedy: "Correct kafka.partitions")
        }
        return numbers.filter { selection.contains($0) }.map { TopicPartition(request.topic, $0) }.sorted()
    }

    /// Returns the offset of each partition that the request's start means; none where that is the oldest record.
    private func startOffsets(
        _ request: TopicReplayRequest, _ partitions: [TopicPartition], _ admin: Admin
    ) throws -> [TopicPartition: Int64] {
        switch request.start {
        case .earliest, .stored: return [:]
        case .offset(let offset): return Dictionary(uniqueKeysWithValues: partitions.map { ($0, offset) })
        case .time(let time):
            // A record's time is in milliseconds: the first that is not before the asked one.
            let milliseconds = (time + 999) / 1000
            let found = try admin.offsets(
                atTimestampsMilliseconds: Dictionary(uniqueKeysWithValues: partitions.map { ($0, milliseconds) }))
            return try Dictionary(
                uniqueKeysWithValues: partitions.map { ($0, try found[$0] ?? admin.watermarks($0).high) })
        }
    }

    /// Begins to read the spans, and notes in the store that this replay has begun.
    private func begin(
        _ spans: [PartitionSpan], _ request: TopicReplayRequest, known: [Int32: SourcePosition]
    ) throws {
        let noted = try note(spans, request, known: known)
        readings = [:]
        for span in spans {
            let partition = span.partition.partition
            let stored = known[partition] ?? noted[partition]
            pipeline.begin(topic: request.topic, partition: partition, at: stored?.nextOffset)
            let begin =
                span.looksBack
                ? stored : SourcePosition(topic: request.topic, partition: partition, nextOffset: span.start)
            readings[span.partition] = Reading(
                span: span, progress: PartitionProgress(begin), isOpen: span.start < span.end)
        }
    }

    /// Saves the marks and the positions at which reading begins. A worker that goes on with the store begins there
    /// too, even where a partition has nothing to read.
    ///
    /// - Returns: the positions that the store did not have, by partition.
    private func note(
        _ spans: [PartitionSpan], _ request: TopicReplayRequest, known: [Int32: SourcePosition]
    ) throws -> [Int32: SourcePosition] {
        var marks: [SourcePosition] = []
        var starts: [Int32: SourcePosition] = [:]
        for span in spans {
            let partition = span.partition.partition
            if let mark = request.mark {
                marks.append(
                    SourcePosition(
                        topic: request.markTopic, partition: partition, nextOffset: span.asked, detail: mark))
            }
            if span.start > 0, known[partition] == nil {
                starts[partition] = SourcePosition(
                    topic: request.topic, partition: partition, nextOffset: span.start)
            }
        }
        if marks.isEmpty, starts.isEmpty { return starts }
        _ = try pipeline.writer.apply(WriterContext.Chunk(events: [], positions: marks + starts.values))
        try pipeline.writer.commit()
        return starts
    }

    // MARK: Reading

    private var open: Set<TopicPartition> { Set(readings.filter(\.value.isOpen).keys) }

    private func read(_ consumer: Consumer, _ decoder: EventDecoder, _ request: TopicReplayRequest) throws {
        var reports = Recurrence(everySeconds: 0.1)
        var heard = now()
        while readings.values.contains(where: \.isOpen), !isStopping() {
            let batch = try consumer.poll(maxRecords: configuration.chunk.maxOperations, timeoutMilliseconds: 100)
            let before = open
            for event in batch.errors { endBeforeDamage(event) }
            if batch.errors.contains(where: { $0.error.code == .connectionLost }) {
                for partition in open { readings[partition]?.isUncompared = true }
            }
            try take(batch, decoder, consumer)
            if let damage { throw damage }
            for event in batch.errors { try handle(event, consumer) }
            let ended = before.subtracting(open).sorted()
            try consumer.pause(ended)
            try pipeline.tick(hasBacklog: true)
            if !batch.isEmpty || !ended.isEmpty { heard = now() }
            if now() - heard > Self.silenceSeconds {
                throw KafkaError(
                    .timedOut,
                    "the broker has given nothing for \(Int(Self.silenceSeconds)) seconds"
                        + (waitReason.map { " (\($0))" } ?? "") + "; run it again")
            }
            if reports.isDue(at: now()) { onProgress(progress(request)) }
        }
    }

    private func take(_ batch: RecordBatch, _ decoder: EventDecoder, _ consumer: Consumer) throws {
        var refetched: Set<TopicPartition> = []
        var ahead = RecordsAhead()
        for (index, record) in batch.enumerated() where !refetched.contains(record.topicPartition) {
            if decoder.runsPrograms {
                ahead.give(at: index, of: batch.count) {
                    decoder.expect(ConsumerWorker.source(batch[$0], batch[$0].topicPartition))
                }
            }
            if readings[record.topicPartition]?.isUncompared == true {
                refetched.insert(record.topicPartition)
                try compareAgain(record.topicPartition, consumer)
            } else {
                try take(record, decoder)
            }
        }
    }

    /// Goes back to the last record that the store took: what answers after a lost connection may have another log.
    private func compareAgain(_ partition: TopicPartition, _ consumer: Consumer) throws {
        readings[partition]?.isUncompared = false
        try pipeline.finish()
        let stored = try pipeline.writer.store.read { try $0.positions() }
            .first { $0.topic == partition.topic && $0.partition == partition.partition }
        guard var reading = readings[partition] else { return }
        // Where nothing was read yet, the record before may be gone for age, which was looked at when reading began.
        if let stored, reading.records > 0 || reading.span.looksBack { reading.progress = PartitionProgress(stored) }
        readings[partition] = reading
        pipeline.begin(topic: partition.topic, partition: partition.partition, at: stored?.nextOffset)
        try consumer.seek(partition, to: reading.progress.start)
    }

    private func take(_ record: ConsumedRecord, _ decoder: EventDecoder) throws {
        let partition = record.topicPartition
        guard var reading = readings[partition], reading.isOpen else { return }
        defer { readings[partition] = reading }
        if record.offset >= reading.span.end {
            reading.isOpen = false
            return
        }
        let source = ConsumerWorker.source(record, partition)
        switch reading.progress.received(offset: record.offset, fingerprint: RecordFingerprint(source)) {
        case .apply: break
        case .skip: return
        case .lost(let reason):
            throw TopicReplayError(
                .gone,
                "\(partition): \(reason). The topic was made again",
                remedy: "Name \(WorkerConfiguration.anotherStore)")
        }
        reading.records += 1
        reading.passed = record.offset + 1 - reading.span.start
        reading.isOpen = record.offset + 1 < reading.span.end
        try pipeline.add(source, nextOffset: record.offset + 1) {
            record throws(DecodeError) in try decoder.decode(record)
        }
    }

    /// Ends a partition before records that cannot be read: the client goes on behind them, which would lose them.
    private func endBeforeDamage(_ event: ConsumerEvent) {
        guard case .damaged(let reason, _)? = ReadFailure(event), let partition = event.topicPartition,
            let reading = readings[partition], reading.isOpen
        else { return }
        let offset = event.offset ?? 0
        if offset >= reading.span.end { return }
        readings[partition]?.progress.halt(before: offset)
        if damage != nil { return }
        damage = TopicReplayError(
            .unreadable,
            "\(partition): \(reason). Nothing was passed over",
            remedy:
                "Repair the partition on the broker, as from another replica, and run it again. Or end before it with --to-offset, or begin behind "
                + "it with --from-offset, into \(WorkerConfiguration.anotherStore)")
    }

    private func handle(_ event: ConsumerEvent, _ consumer: Consumer) throws {
        if event.error.code == .connectionLost { return }
        if let partition = event.topicPartition {
            if event.error.code == .partitionEnd {
                // Another log may end here too.
                if readings[partition]?.isUncompared == true { return try compareAgain(partition, consumer) }
                // Offsets behind the last record may be markers of transactions, or compacted away.
                readings[partition]?.isOpen = false
                return
            }
            if ConsumerWorker.lostPositions.contains(event.error.code) {
                throw TopicReplayError(
                    .gone,
                    "The broker does not have \(partition) from offset "
                        + "\(readings[partition]?.progress.start ?? 0) on any more",
                    remedy:
                        "Begin again, into \(WorkerConfiguration.anotherStore), or go on with --from-offset stored where only "
                        + "older records are gone"
                )
            }
        }
        if event.error.isFatal { throw event.error }
        if case .waits(let reason, let remedy)? = ReadFailure(event), let partition = event.topicPartition {
            waitReason = "\(partition): \(reason); \(remedy)"
        }
        logger.warning("the consumer reports", metadata: ["reason": "\(event.error)"])
    }

    private func progress(_ request: TopicReplayRequest) -> Progress {
        let total = readings.values.reduce(0) { $0 + $1.span.count }
        let passed = readings.values.reduce(0) { $0 + ($1.isOpen ? $1.passed : $1.span.count) }
        return Progress(
            topic: request.topic, records: readings.values.reduce(0) { $0 + $1.records }, passed: passed, total: total)
    }
}
