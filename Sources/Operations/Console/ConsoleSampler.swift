import GraphCore
import IngestCore
import ServiceLifecycle
import Synchronization

/// Takes a sample of the worker's figures every two seconds, as long as the worker runs. Beside that, it has the dead
/// letters counted.
final class ConsoleSampler: Service {
    private let metrics: WorkerMetrics
    private let count: (@Sendable () async -> Void)?
    private let samples = Mutex(WorkerSamples())

    /// - Parameter count: counts dead letters; it may take long, and ends once its task is cancelled.
    init(_ metrics: WorkerMetrics, count: (@Sendable () async -> Void)? = nil) {
        self.metrics = metrics
        self.count = count
    }

    func run() async throws {
        try? await cancelWhenGracefulShutdown { [self] in
            async let counting: Void = repeatedly { [count] in await count?() }
            try await repeatedly { [self] in
                let sample = metrics.sample(at: WriterContext.systemTime())
                samples.withLock { $0.append(sample) }
                metrics.registry.publish()
            }
            try await counting
        }
    }

    /// Calls a function at each interval, until the task is cancelled.
    private func repeatedly(_ body: @escaping @Sendable () async -> Void) async throws {
        while true {
            await body()
            try await Task.sleep(for: .seconds(WorkerSamples.intervalSeconds))
        }
    }

    /// The records a second of the last seconds, or nil before there are two samples.
    var recordsPerSecond: Double? { samples.withLock { $0.recordsPerSecond } }

    /// The samples after a time in microseconds, as JSON.
    func json(after time: Int64) -> String { samples.withLock { $0 }.json(after: time) }
}

extension WorkerMetrics {
    /// The records between the store's positions and the partitions' ends, or nil where an end is not known.
    var lag: Int? {
        let partitions = consumerLag.sorted.map(\.series.value)
        return partitions.isEmpty || partitions.contains { $0.isNaN } ? nil : Int(partitions.reduce(0, +))
    }

    /// The age of the oldest record that the store lacks, at most, in seconds; nil where it is not known of a partition.
    var lagSeconds: Double? {
        let partitions = consumerLagSeconds.sorted.map(\.series.value)
        return partitions.contains { $0.isNaN } ? nil : partitions.max()
    }

    /// The dead letters since the start.
    var deadLetterCount: Int { deadLetters.sorted.reduce(0) { $0 + $1.series.value } }

    /// The share of dead letters among the records since the start; nil before the first record.
    var deadLetterShare: Double? {
        records.value > 0 ? Double(deadLetterCount) / Double(records.value) : nil
    }

    func sample(at time: Int64) -> WorkerSamples.Sample {
        let (commitCounts, commitSeconds) = commitDuration.snapshot
        let (chunkCounts, operations) = chunkOperations.snapshot
        return WorkerSamples.Sample(
            time: time, records: records.value, commits: commitCounts.last ?? 0, commitSeconds: commitSeconds,
            operations: Int(operations), chunks: chunkCounts.last ?? 0, lag: lag, lagSeconds: lagSeconds,
            memoryBytes: ProcessMetrics.residentMemoryBytes ?? 0, storeBytes: Int(storeBytes.value),
            logBytes: Int(walBytes.value))
    }
}
