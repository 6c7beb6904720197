import Foundation
import KafkaClient
import ObjectGraph

/// The worker's reaction where the store refuses.
extension ConsumerWorker {
    /// Whether the store refused, and the pipeline still counts as saved what the store undid.
    var isStoreRefusing: Bool { partitions.pauses.contains(.store) }

    /// Waits a little; the loop then goes back to what the store has, and reads the records again.
    ///
    /// - Throws: as ``stayMember(_:seconds:)``.
    func recover(from error: StoreError, _ consumer: Consumer) throws {
        health.report(.storeFailed(reason: error.description))
        metrics.noteError()
        let seconds = backoff.failed()
        logger.error(
            "the store refused, trying again",
            metadata: ["code": "\(error.code.rawValue)", "reason": "\(error)", "seconds": .stringConvertible(seconds)])
        partitions.pause(for: .store)
        try stayMember(consumer, seconds: seconds, because: error)
    }

    /// Waits, and polls meanwhile: a member that does not poll loses its partitions to others, which cannot save either. A
    /// record that comes is read again with the rest. The lag is reported on, and requests are refused.
    ///
    /// - Throws: `KafkaError` where the client cannot go on.
    private func stayMember(_ consumer: Consumer, seconds: Double, because error: StoreError) throws {
        let end = now() + seconds
        repeat {
            let batch = try consumer.poll(maxRecords: 1, timeoutMilliseconds: 0)
            for event in batch.errors { try handle(event) }
            if refusesRequests(after: error) { control?.refuse(because: error) }
            if schedule.reports.isDue(at: now()) {
                directory?.watch(partitions.present)
                report(consumer)
            }
            Thread.sleep(forTimeInterval: max(0, min(1, end - now())))
        } while now() < end
    }

    /// Whether requests cannot wait for the store. Another writer gets in the way once, and is gone at the next try.
    private func refusesRequests(after error: StoreError) -> Bool {
        switch error.code {
        case .full: true
        case .busy, .disconnected: backoff.failureCount > 1
        default: false
        }
    }

    /// Takes that the store answers.
    func storeAnswers() {
        health.report(.storeOK)
        control?.refuse(because: nil)
    }

    /// Forgets the work that the store refused; every partition then goes back to the store's position.
    func discardIfRefused() throws {
        if !isStoreRefusing { return }
        try pipeline.discard()
        // Another worker may have claimed some meanwhile. If they are its own by now, the group says so soon.
        try claim(partitions.states.keys.sorted())
        partitions.goOn(without: .store)
    }

    /// Forgets what is open where the store's disk failed: leaving the group would save it.
    func dropWork(after error: any Error) {
        guard let error = error as? StoreError, error.isDiskFailure else { return }
        try? pipeline.discard()
    }

    /// Saves what is open; where the store refuses for now, drops it: it is read again from the store's positions.
    func saveOrDrop() throws { try attempt { try pipeline.finish() } }

    /// Does what a rebalance needs of the store; where that refuses for now, the loop recovers afterwards.
    func attempt(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as StoreError where error.isRetriable {
            refused(error)
        }
    }

    /// The store refused where a rebalance has to be answered: the loop goes to the store's positions afterwards.
    func refused(_ error: StoreError) {
        health.report(.storeFailed(reason: error.description))
        metrics.noteError()
        logger.error("the store refused during a rebalance", metadata: ["reason": "\(error)"])
        partitions.pause(for: .store)
    }
}
