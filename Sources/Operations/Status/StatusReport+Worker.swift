import GraphCore
import IngestCore
import KafkaClient

/// The figures of the store that `/status` shows.
struct StoreFigures: Sendable {
    var positions: [SourcePosition] = []
    var token: Int64 = 0
    var deadLetters = 0
    /// The dead letters by code, where they are few enough to be counted for each answer.
    var deadLettersByCode: [(value: String, number: Double)]?
    /// Purges by age that wait for an operator; nil where none do.
    var heldPurges: HeldPurges?
}

extension StoreFigures {
    /// Reads the figures of a snapshot.
    ///
    /// - Throws: `StoreError`.
    init(_ context: ReadContext) throws {
        (positions, token, deadLetters) = (
            try context.positions(), try context.lastToken(), try context.deadLetterCount()
        )
        heldPurges = try HeldPurges(context)
        if deadLetters <= Self.countedTogether {
            deadLettersByCode = DeadLetterCensus.byCode(try context.deadLetterGroups().map { ($0.code, $0.count) })
        }
    }

    /// The most dead letters whose codes an answer counts by itself.
    private static let countedTogether = 10_000
}

extension StatusReport {
    /// Makes the report of a worker at one moment, the answer to `/status`.
    init(
        _ configuration: WorkerConfiguration, model: String, startedAt: Int64, _ figures: StoreFigures,
        metrics: WorkerMetrics, checks: [HealthCheck], faults: [HealthState.PartitionFault] = [],
        work: StoreWork? = nil, recordsPerSecond: Double? = nil, notifiedToken: Int64? = nil
    ) {
        var known = WorkerVerdict.Figures(
            metrics, faults: faults, recordsPerSecond: recordsPerSecond, deadLetters: figures.deadLetters)
        known.heldPurges = figures.heldPurges
        let verdict = WorkerVerdict(checks, known)
        version = ProgramVersion.text
        self.startedAt = Timestamp.text(startedAt)
        ready = checks.allSatisfy(\.isOK)
        (self.verdict, self.work) = (verdict, work)
        failures = checks.filter { !$0.isOK }.map { Failure(check: $0.name, reason: $0.reason ?? "") }
        self.checks = Dictionary(checks.map { ($0.name, $0.isOK) }) { first, _ in first }
        store = StoreState(
            path: configuration.storePlace, location: configuration.storeLocation, model: model,
            bytes: Int(metrics.storeBytes.value), walBytes: Int(metrics.walBytes.value))
        history = HistoryState(token: figures.token, notified: notifiedToken)
        counts = Counts(
            records: metrics.records.value, stale: metrics.stale.value, placeholders: metrics.placeholders.value,
            chunks: metrics.chunks.value, commits: metrics.commits.value, notifications: metrics.notifications.value)
        deadLetters = figures.deadLetters
        deadLettersByCode = Self.deadLettersByCode(figures, metrics)
        positions = Self.positions(figures.positions, metrics, faults, stop: verdict.stop)
    }

    /// The dead letters by code. The last census serves only where its counts add up to the present number.
    private static func deadLettersByCode(_ figures: StoreFigures, _ metrics: WorkerMetrics) -> [String: Int] {
        var codes = figures.deadLettersByCode ?? []
        if figures.deadLettersByCode == nil {
            let kept = metrics.deadLettersKept.all
            if kept.reduce(0, { $0 + Int($1.number) }) == figures.deadLetters { codes = kept }
        }
        return Dictionary(codes.map { ($0.value, Int($0.number)) }) { first, _ in first }
    }

    /// The positions, each with the lag, the state and its reason where these are known. While the whole worker reads
    /// nothing, an assigned partition waits.
    private static func positions(
        _ positions: [SourcePosition], _ metrics: WorkerMetrics, _ faults: [HealthState.PartitionFault],
        stop: WorkerVerdict.Attention?
    ) -> [Position] {
        // An assigned partition has a series, also while its lag is not known.
        let lags = Dictionary(metrics.consumerLag.sorted.map { ($0.values, $0.series.value) }) { first, _ in first }
        let ages = Dictionary(metrics.consumerLagSeconds.sorted.map { ($0.values, $0.series.value) }) { first, _ in
            first
        }
        return positions.map { position in
            let found = lags[[position.topic, "\(position.partition)"]]
            let seconds = ages[[position.topic, "\(position.partition)"]].flatMap { $0.isNaN ? nil : $0 }
            let fault = faults.first { $0.concerns(TopicPartition(position.topic, position.partition)) }
            let isKept = fault == nil && found != nil && stop != nil
            return Position(
                topic: position.topic, partition: position.partition, nextOffset: position.nextOffset,
                lag: found.flatMap { $0.isNaN ? nil : Int64($0) },
                lagSeconds: seconds.map { ($0 * 10).rounded() / 10 },
                state: fault?.state.rawValue ?? (found == nil ? "unassigned" : isKept ? "waiting" : "reading"),
                reason: fault?.reason ?? (isKept ? stop?.title : nil))
        }
    }
}
