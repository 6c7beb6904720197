import Foundation
import KafkaClient
import Logging
import Synchronization

/// Asks the broker every two seconds whether it is there, and tells the health monitor.
///
/// librdkafka reports that all brokers are gone, but never that they are back.
package final class BrokerProbe: Sendable {
    private let topics: any TopicLister
    private let health: HealthMonitor
    private let metrics: WorkerMetrics
    private let logger: Logger
    private let outages: OutageLog
    private let directory: TopicDirectory?
    private let clock: WorkerClock
    private let wasConnected = Atomic<Bool>(false)
    private let isStopping = Atomic<Bool>(false)
    private let stop = DispatchSemaphore(value: 0)
    private static let intervalSeconds = 2.0
    private static let timeoutMilliseconds = 2000
    private static let shownBrokers = 10

    /// Makes a probe.
    ///
    /// - Parameters:
    ///   - topics: asks the broker.
    ///   - outages: writes about outages of the brokers.
    ///   - directory: where the topics that the broker has are noted, or nil.
    package init(
        topics: any TopicLister, health: HealthMonitor, metrics: WorkerMetrics, logger: Logger,
        outages: OutageLog, directory: TopicDirectory? = nil, clock: WorkerClock = .system
    ) {
        self.outages = outages
        self.directory = directory
        self.clock = clock
        self.metrics = metrics
        self.logger = logger
        self.topics = topics
        self.health = health
    }

    /// Probes until it is asked to stop. Blocks its thread.
    package func run() {
        while !isStopping.load(ordering: .acquiring) {
            let next = step()
            // Not a date: a clock that is set back must not make the wait longer.
            _ = stop.wait(timeout: .now() + max(0, next.seconds - clock.seconds()))
        }
    }

    /// Asks the broker once, and returns when to ask again.
    package func step() -> NextStep {
        probe()
        // The wait includes the time for asking for ends, so that the probe notices a silent broker no later.
        let next = clock.seconds() + Self.intervalSeconds
        lookForEnds()
        return .at(next)
    }

    /// Asks the loop to end.
    package func requestStop() {
        isStopping.store(true, ordering: .releasing)
        stop.signal()
    }

    private func probe() {
        let start = outages.time
        do {
            let metadata = try topics.metadata(timeoutMilliseconds: Self.timeoutMilliseconds)
            directory?.note(metadata.partitionNumbers)
            health.report(.brokerReachable)
            // librdkafka logs each failed connection, but no end of an outage.
            outages.brokerAnswered(askedAt: start)
            if !wasConnected.exchange(true, ordering: .relaxed) { tell(of: metadata) }
        } catch {
            health.report(.brokerUnreachable(reason: "\(error)"))
            outages.brokerFailed(error)
            metrics.noteError(at: clock.microseconds())
        }
    }

    /// Says once to which cluster the worker is connected.
    private func tell(of metadata: ClusterMetadata) {
        let brokers = metadata.brokers.sorted { $0.id < $1.id }
        var fields: Logger.Metadata = [
            "brokers": .array(brokers.prefix(Self.shownBrokers).map { "\($0.host):\($0.port)/\($0.id)" }),
            "count": .stringConvertible(brokers.count),
        ]
        if let cluster = metadata.clusterID { fields["cluster"] = "\(cluster)" }
        logger.info("connected to the brokers", metadata: fields)
    }

    /// Asks where the partitions end that the worker reads; what is not answered is not known.
    private func lookForEnds() {
        guard let directory, !isStopping.load(ordering: .acquiring) else { return }
        let ends = try? topics.ends(of: directory.watched, timeoutMilliseconds: Self.timeoutMilliseconds)
        directory.note(ends: ends ?? [:])
    }
}
