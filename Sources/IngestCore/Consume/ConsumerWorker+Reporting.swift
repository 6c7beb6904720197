import KafkaClient

/// The worker's reports beside its health.
extension ConsumerWorker {
    /// Sets the metrics that are looked at rather than counted.
    func report(_ consumer: Consumer) {
        let ends = directory?.ends ?? [:]
        for (partition, state) in partitions.states {
            guard let position = state.progress.next else { continue }
            // The client's knowledge is as old as its last fetch.
            let known = (try? consumer.watermarks(partition))?.high ?? -1
            let end = max(known, ends[partition] ?? -1)
            if end < 0 { continue }
            metrics.consumerLag.with(partition.topic, "\(partition.partition)").set(max(0, end - position))
        }
        guard let size = store.size else { return }
        metrics.storeBytes.set(size.bytes)
        guard let logBytes = size.logBytes else { return }
        metrics.walBytes.set(logBytes)
        if logGrowth.isWorthTelling(bytes: logBytes) {
            logger.warning(
                "a reader keeps the store's write-ahead log from being used again; end its transaction",
                metadata: ["bytes": .stringConvertible(logBytes)])
        }
    }
}
