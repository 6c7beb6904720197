import GraphModel
import IngestCore
import Logging
import ServiceLifecycle

/// Makes the fields of the line about the worker's last minute.
struct WorkerSummary: Sendable {
    /// Counts since the start.
    struct Counts: Sendable, Equatable {
        var records = 0
        var deadLetters = 0
    }

    private var counts = Counts()
    private var time: Double

    /// Begins to count.
    ///
    /// - Parameter time: monotonic seconds.
    init(at time: Double) { self.time = time }

    /// Makes the fields of a line about the time since the last one.
    ///
    /// - Parameters:
    ///   - counts: the counts at present.
    ///   - checks: the checks of readiness.
    ///   - figures: the figures at present; the rate in them does not count.
    ///   - time: monotonic seconds.
    mutating func fields(
        _ counts: Counts, _ checks: [HealthCheck], _ figures: WorkerVerdict.Figures, at time: Double
    ) -> Logger.Metadata {
        let records = counts.records - self.counts.records
        var figures = figures
        figures.recordsPerSecond = time > self.time ? Double(records) / (time - self.time) : nil
        let verdict = WorkerVerdict(checks, figures)
        var fields: Logger.Metadata = [
            "state": "\(verdict.state.rawValue)",
            "records": .stringConvertible(records),
            "deadLetters": .stringConvertible(counts.deadLetters - self.counts.deadLetters),
            "recordsTotal": .stringConvertible(counts.records),
            "deadLettersTotal": .stringConvertible(counts.deadLetters),
        ]
        if let lag = figures.lag { fields["lag"] = .stringConvertible(lag) }
        if let seconds = figures.lagSeconds { fields["lagSeconds"] = .stringConvertible(Int(seconds.rounded(.up))) }
        if !verdict.attention.isEmpty { fields["attention"] = .array(verdict.attention.map { "\($0.check)" }) }
        (self.counts, self.time) = (counts, time)
        return fields
    }
}

extension WorkerSummary.Counts {
    /// Reads the counts of a worker.
    init(_ metrics: WorkerMetrics) { self.init(records: metrics.records.value, deadLetters: metrics.deadLetterCount) }
}

/// Writes a summary of the worker into the log, at each interval as long as the worker runs.
struct SummaryService: Service {
    private let metrics: WorkerMetrics
    private let health: HealthMonitor
    private let logger: Logger
    private let everySeconds: Int

    /// Returns nil where the configuration wants no summaries.
    init?(_ configuration: LogConfiguration, _ metrics: WorkerMetrics, _ health: HealthMonitor, _ logger: Logger) {
        if configuration.summarySeconds == 0 { return nil }
        everySeconds = configuration.summarySeconds
        (self.metrics, self.health, self.logger) = (metrics, health, logger)
    }

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            var summary = WorkerSummary(at: MonotonicClock.seconds())
            while true {
                try await Task.sleep(for: .seconds(everySeconds))
                let figures = WorkerVerdict.Figures(metrics, faults: health.partitionFaults(), recordsPerSecond: nil)
                let fields = summary.fields(
                    WorkerSummary.Counts(metrics), health.readiness(), figures, at: MonotonicClock.seconds())
                logger.info("summary", metadata: fields)
            }
        }
    }
}
