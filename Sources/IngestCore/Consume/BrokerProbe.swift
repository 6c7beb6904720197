import Foundation
import KafkaClient
import Logging
import Synchronization

/// Asks the broker every two seconds whether it is there, and tells the health monitor.
///
/// librdkafka reports that all brokers are gone, but never that they are back.
package final class BrokerProbe: Sendable {
    private let admin: Admin
    private let health: HealthMonitor
    private let metrics: WorkerMetrics
    private let logger: Logger
    private let directory: TopicDirectory?
    private let isAway = Atomic<Bool>(false)
    private let isStopping = Atomic<Bool>(false)
    private let stop = DispatchSemaphore(value: 0)
    private static let intervalSeconds = 2.0
    private static let timeoutMilliseconds = 2000

    /// Makes a probe with a client of its own.
    ///
    /// - Parameter directory: where the topics that the broker has are noted, or nil.
    /// - Throws: `KafkaError` where a property is unknown or refused.
    init(
        configuration: KafkaConfiguration, health: HealthMonitor, metrics: WorkerMetrics, logger: Logger,
        directory: TopicDirectory? = nil
    ) throws {
        self.directory = directory
        self.metrics = metrics
        self.logger = logger
        admin = try Admin(configuration: configuration)
        self.health = health
    }

    /// Probes until it is asked to stop. Blocks its thread.
    package func run() {
        while !isStopping.load(ordering: .acquiring) {
            probe()
            // Not a date: a clock that is set back must not make the wait longer. The wait includes the time for asking
            // for ends, so that the probe notices a silent broker no later.
            let next = DispatchTime.now() + Self.intervalSeconds
            lookForEnds()
            _ = stop.wait(timeout: next)
        }
    }

    /// Asks the loop to end.
    package func requestStop() {
        isStopping.store(true, ordering: .releasing)
        stop.signal()
    }

    private func probe() {
        do {
            let metadata = try admin.metadata(timeoutMilliseconds: Self.timeoutMilliseconds)
            directory?.note(metadata.topics.mapValues { Set($0.map(\.number)) })
            health.report(.brokerReachable)
            // librdkafka logs each failed connection, but no end of an outage.
            if isAway.exchange(false, ordering: .relaxed) { logger.info("a broker answers again") }
        } catch {
            health.report(.brokerUnreachable(reason: "\(error)"))
            if !isAway.exchange(true, ordering: .relaxed) {
                logger.error("no broker answers, trying again", metadata: ["reason": "\(error)"])
            }
            metrics.noteError()
        }
    }

    /// Asks where the partitions end that the worker reads; what is not answered is not known.
    private func lookForEnds() {
        guard let directory, !isStopping.load(ordering: .acquiring) else { return }
        let ends = try? admin.ends(of: directory.watched, timeoutMilliseconds: Self.timeoutMilliseconds)
        directory.note(ends: ends ?? [:])
    }
}
