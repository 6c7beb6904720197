import GraphCore
import Logging

/// Purges old history, then tombstones, then the audit, a batch at a time: due by the worker's clock. Ages count from
/// ``TrustedTime``, and ``PurgeGuard`` holds or bounds the purge.
struct RecurringPurge {
    private var purges: Recurrence
    /// When to look at the times of commits, by which purges are held.
    private var looks = Recurrence(everySeconds: 60)
    /// The purge that is under way.
    private(set) var step: PurgeStep?
    /// Whether a purge was due while the one before was under way.
    private var isMissed = false
    /// The time from which the ages of records count; nil before the first look.
    private(set) var trustedTime: TrustedTime?

    init(everyMinutes: Int) { purges = Recurrence(everySeconds: Double(everyMinutes) * 60) }

    /// Does the next batch, where a purge is due or under way.
    mutating func advance(
        _ pipeline: IngestPipeline, _ configuration: WorkerConfiguration, _ clock: WorkerClock,
        _ metrics: WorkerMetrics, _ logger: Logger
    ) throws {
        let (uptime, time) = (clock.seconds(), clock.microseconds())
        let writer = pipeline.writer
        let isDue = purges.isDue(at: uptime)
        if looks.isDue(at: uptime) || isDue, step == nil {
            try pipeline.settle()
            step = try PurgeStep(configuration, writer.store, isDue: isDue || isMissed)
            isMissed = false
            try trust(writer.store, at: uptime, time)
        } else if isDue {
            isMissed = true
        }
        guard var next = step, var trusted = trustedTime else { return }
        try pipeline.settle()
        let former = next.removedCounts
        let hasMore = try next.next(writer, clock: time, uptime: uptime, &trusted, logger)
        (step, trustedTime) = (hasMore ? next : nil, trusted)
        metrics.purgesHeld.set(next.gap == nil ? 0 : 1)
        for (part, count) in next.removedCounts {
            metrics.purged.with(part.rawValue).increment(by: count - (former[part] ?? 0))
        }
    }

    /// Notes the times that the witnesses tell: the commits before this start, then the broker's records.
    private mutating func trust(_ store: Store, at uptime: Double, _ time: Int64) throws {
        var trusted = try trustedTime ?? store.read { try TrustedTime($0, clock: time, uptime: uptime) }
        let records = try store.read { try $0.positions() }
            .compactMap { LastRecord($0)?.fingerprint.timestampMilliseconds }
        if let last = records.max(), last < .max / 1000 { trusted.witness(last * 1000, uptime: uptime) }
        trustedTime = trusted
    }
}
