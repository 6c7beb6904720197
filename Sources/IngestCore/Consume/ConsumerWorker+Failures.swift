import GraphCore
import KafkaClient

/// The worker's reaction where the store refuses.
extension ConsumerWorker {
    /// Whether the store refused, and the pipeline still counts undone work as saved.
    var isStoreRefusing: Bool { partitions.pauses.contains(.store) }

    /// Lets the worker rest a little. It then goes back to the store's positions, and reads the records again.
    func recover(from error: StoreError) {
        refused(error)
        failures.rest = StoreRest(end: clock.seconds() + failures.backoff.failed(jitter: clock.jitter()), error: error)
    }

    /// Polls while the store is not to be tried: a member that does not poll loses its partitions to others, which cannot
    /// save either. A record that comes is read again with the rest. The lag is reported on, and requests are refused.
    ///
    /// - Throws: `KafkaError` where the client cannot go on.
    func stayMember(_ rest: StoreRest, _ source: any RecordSource) throws -> NextStep {
        let batch = try source.poll(maxRecords: 1, timeoutMilliseconds: 0)
        for event in batch.errors { try handle(event) }
        if refusesRequests(after: rest.error) { control?.refuse(because: rest.error) }
        let time = clock.seconds()
        if schedule.reports.isDue(at: time) {
            reading.directory?.watch(partitions.present)
            report(source)
        }
        return .at(min(time + 1, rest.end))
    }

    /// Whether requests cannot wait for the store. Another writer gets in the way once, and is gone at the next try.
    private func refusesRequests(after error: StoreError) -> Bool {
        switch error.code {
        case .full: true
        case .busy, .disconnected: failures.backoff.failureCount > 1
        default: false
        }
    }

    /// Reports that the store answers, and lets control requests wait for a step again.
    func storeAnswers() {
        health.report(.storeOK)
        control?.refuse(because: nil)
    }

    /// Forgets the work that the store refused; every partition then goes back to the store's position.
    ///
    /// A worker that rests does so afterwards: until then it drops the records that come.
    func discardIfRefused() throws {
        if !isStoreRefusing || failures.rest != nil { return }
        try pipeline.discard()
        // Another worker may have claimed some meanwhile. If they are its own by now, the group says so soon.
        try reading.claim(partitions.states.keys.sorted())
        partitions.goOn(without: .store)
    }

    /// Forgets the open work where the store's disk failed: leaving the group would save it.
    func dropWork(after error: any Error) {
        guard let error = error as? StoreError, error.isDiskFailure else { return }
        try? pipeline.discard()
    }

    /// Saves the open work. Where the store refuses for now, drops it: the worker reads it again from the store's
    /// positions.
    func saveOrDrop() throws { try attempt { try pipeline.finish() } }

    /// Does a rebalance's work on the store; where the store refuses for now, the loop recovers afterwards.
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
        metrics.noteError(at: clock.microseconds())
        outages.failed(.store, error)
        partitions.pause(for: .store)
    }
}
