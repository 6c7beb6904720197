import Synchronization

/// Measures how long records take from their timestamps to their notifications, and the parts of that way.
///
/// Each transaction counts once, by the record of its first event. That record has waited longest for the commit, as
/// far as one partition is concerned. Records without a timestamp, such as records of files, have no part before the
/// commit.
package final class LatencyMetrics: Sendable {
    /// A transaction that waits for its notification.
    private struct Waiting {
        let token: Int64
        let recordTime: Int64
    }

    /// Up to a day: a worker that catches up is far behind.
    private static let bounds: [Double] = [
        0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 21_600, 86_400,
    ]
    /// The transactions that are remembered; of more, the oldest are forgotten and not measured.
    private static let capacity = 8192

    package let read = Histogram(
        "ingest_record_to_read_seconds", "Time from a record's timestamp until the worker has read it.",
        bounds: LatencyMetrics.bounds)
    package let commit = Histogram(
        "ingest_read_to_commit_seconds", "Time from reading a record until its commit.", bounds: LatencyMetrics.bounds)
    /// The history states the save's time, so that the worker can measure the saves of others.
    package let notification = Histogram(
        "ingest_commit_to_notification_seconds", "Time from a commit until its notification is delivered.",
        bounds: LatencyMetrics.bounds)
    package let whole = Histogram(
        "ingest_record_to_notification_seconds",
        "Time from a record's timestamp until its notification is delivered.", bounds: LatencyMetrics.bounds)
    private let waiting = Mutex<[Waiting]>([])

    func register(in registry: MetricsRegistry) {
        for histogram in [read, commit, notification, whole] { registry.add(histogram) }
    }

    /// Notes a commit. Times are in microseconds since 1970 UTC.
    ///
    /// - Parameters:
    ///   - recordTime: the timestamp of the record of the first event, or nil.
    ///   - readTime: when that record was read.
    ///   - token: the transaction that the commit made; nil where nothing changed.
    ///   - time: the present time.
    package func committed(recordTime: Int64?, readTime: Int64, token: Int64?, at time: Int64) {
        commit.observe(Self.seconds(readTime, time))
        guard let recordTime else { return }
        read.observe(Self.seconds(recordTime, readTime))
        guard let token else { return }
        waiting.withLock { waiting in
            if waiting.count >= Self.capacity { waiting.removeFirst(Self.capacity / 2) }
            waiting.append(Waiting(token: token, recordTime: recordTime))
        }
    }

    /// Notes the delivery of transactions, with the time of each save. Times are in microseconds since 1970 UTC.
    ///
    /// - Parameters:
    ///   - transactions: the tokens and times of the delivered transactions, by token.
    ///   - time: the present time.
    package func notified(_ transactions: [(token: Int64, time: Int64)], at time: Int64) {
        guard let first = transactions.first, let last = transactions.last else { return }
        for transaction in transactions { notification.observe(Self.seconds(transaction.time, time)) }
        let done = waiting.withLock { waiting in
            let done = waiting.prefix { $0.token <= last.token }
            waiting.removeFirst(done.count)
            return done
        }
        // Another worker of the store has delivered the earlier ones.
        for entry in done where entry.token >= first.token { whole.observe(Self.seconds(entry.recordTime, time)) }
    }

    /// A producer's clock may be ahead: a histogram's sum must not go down.
    private static func seconds(_ start: Int64, _ end: Int64) -> Double {
        max(0, (Double(end) - Double(start)) / 1_000_000)
    }
}
