/// The figures of the last minutes, for charts that show something at once.
///
/// It holds the last ``capacity`` samples; older ones go.
package struct WorkerSamples: Sendable {
    /// The worker at one moment; counts are since the start.
    package struct Sample: Sendable, Equatable {
        /// Microseconds since 1970 UTC.
        package var time: Int64
        package var records = 0
        package var commits = 0
        /// The time of all commits together.
        package var commitSeconds = 0.0
        /// The operations of all chunks together.
        package var operations = 0
        package var chunks = 0
        /// Records behind, or nil where it is not known.
        package var lag: Int?
        /// The age of the oldest record behind, at most, in seconds; nil where it is not known.
        package var lagSeconds: Double?
        package var memoryBytes = 0
        package var storeBytes = 0
        package var logBytes = 0
    }

    /// The samples that are kept: ten minutes of one every two seconds.
    static let capacity = 300
    /// The time between two samples.
    static let intervalSeconds = 2.0
    /// The time over which the present rate is measured, in samples.
    private static let rateSamples = 5

    private var samples: [Sample] = []
    /// The place of the oldest sample, once the buffer is full.
    private var start = 0

    package init() {}

    /// Appends a sample, and drops the oldest one where there are too many.
    package mutating func append(_ sample: Sample) {
        if samples.count < Self.capacity {
            samples.append(sample)
        } else {
            samples[start] = sample
            start = (start + 1) % Self.capacity
        }
    }

    /// The samples, the oldest first.
    package var all: [Sample] { Array(samples[start...] + samples[..<start]) }

    /// The records a second of the last seconds, or nil before there are two samples.
    package var recordsPerSecond: Double? {
        let last = all.suffix(Self.rateSamples)
        guard let first = last.first, let end = last.last, end.time > first.time else { return nil }
        return Double(end.records - first.records) * 1_000_000 / Double(end.time - first.time)
    }

    /// The samples after a time as JSON: an array of points, with rates a second between neighbours.
    ///
    /// A point is `[time in ms, records/s, commits/s, seconds a commit, operations a chunk, lag in records, memory, store,
    /// log, lag in seconds]`; a figure that is not known is null.
    package func json(after time: Int64) -> String {
        let all = all
        let points = zip(all, all.dropFirst()).filter { $1.time > time && $1.time > $0.time }.map(Self.point)
        return "{\"intervalSeconds\":\(Int(Self.intervalSeconds)),\"points\":[\(points.joined(separator: ","))]}"
    }

    private static func point(_ before: Sample, _ now: Sample) -> String {
        let seconds = Double(now.time - before.time) / 1_000_000
        func rate(_ count: Int) -> String { rounded(Double(count) / seconds) }
        func share(_ sum: Double, _ count: Int) -> String { count > 0 ? rounded(sum / Double(count)) : "null" }
        let figures = [
            "\(now.time / 1000)", rate(now.records - before.records), rate(now.commits - before.commits),
            share(now.commitSeconds - before.commitSeconds, now.commits - before.commits),
            share(Double(now.operations - before.operations), now.chunks - before.chunks),
            now.lag.map { "\($0)" } ?? "null", "\(now.memoryBytes)", "\(now.storeBytes)", "\(now.logBytes)",
            now.lagSeconds.map(rounded) ?? "null",
        ]
        return "[\(figures.joined(separator: ","))]"
    }

    private static func rounded(_ number: Double) -> String { "\((number * 10_000).rounded() / 10_000)" }
}
