import KafkaClient
import ObjectGraph

/// The worker's reports beside its health.
extension ConsumerWorker {
    /// Sets the metrics that are looked at rather than counted.
    func report(_ consumer: Consumer) {
        let ends = directory?.ends
        for (partition, state) in partitions.states {
            // The client's knowledge is as old as its last fetch: it counts only while the broker tells the end too.
            let fetched = (try? consumer.watermarks(partition))?.high ?? -1
            let end = ends.map { $0[partition].map { max($0, fetched) } } ?? (fetched < 0 ? nil : fetched)
            // A partition that never had a record lacks none, and has no position.
            let position = state.lagStart(storeRefuses: backoff.failureCount > 0) ?? (end == 0 ? 0 : nil)
            let measure = position.flatMap { position in
                end.flatMap { lags[partition]?.measure(from: position, to: $0, at: WriterContext.systemTime()) }
            }
            metrics.setLag(measure, of: partition)
        }
        let size = store.size
        metrics.setSize(size)
        if let logBytes = size?.logBytes, logGrowth.isWorthTelling(bytes: logBytes) {
            logger.warning(
                "a reader keeps the store's write-ahead log from being used again; end its transaction",
                metadata: ["bytes": .stringConvertible(logBytes)])
        }
    }
}
