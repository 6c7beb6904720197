import Dispatch
import GraphCore
import Logging
import PostgresStorage
import Synchronization

/// Keeps the views over the stores of all partitions, where each store is a schema of one PostgreSQL database.
///
/// The views are for people and their programs, so no failure to make them ends a worker. They are tried again.
package final class StoreUnion: Sendable {
    private struct State {
        /// A partition whose store is open, where stores may have changed since the views were made.
        var partition: Int32?
        var isMaking = false
        var nextTime = 0.0
        var backoff = Backoff(firstSeconds: 1, maximumSeconds: 300)
        var warning: String?
        var leftOut: [Int32: String] = [:]
    }

    private let views: PostgresUnion
    private let logger: Logger
    private let state = Mutex(State())

    /// - Returns: nil where the stores are files, or in several databases.
    package init?(of configuration: WorkerConfiguration, model: ObjectModel, logger: Logger) {
        guard case .postgres(let url) = configuration.storeKind,
            let views = try? PostgresUnion(
                url: url, mark: StoreConfiguration.partitionMark, model: model,
                options: configuration.postgresOptions)
        else { return nil }
        self.views = views
        self.logger = logger
    }

    /// Notes that the stores may be others than before, and begins to make the views. Does not wait for the server.
    ///
    /// - Parameter partition: a partition whose store is open, and so of the model.
    package func changed(open partition: Int32) {
        state.withLock { $0.partition = partition }
        beginMaking()
    }

    private func beginMaking() {
        let seconds = state.withLock { state -> Double? in
            if state.isMaking || state.partition == nil { return nil }
            state.isMaking = true
            return max(0, state.nextTime - MonotonicClock.seconds())
        }
        guard let seconds else { return }
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [weak self] in
            guard let self else { return }
            if let partition = state.withLock({ $0.partition.take() }) { make(like: partition) }
            state.withLock { $0.isMaking = false }
            beginMaking()
        }
    }

    private func make(like partition: Int32) {
        do throws(StoreError) {
            let outcome = try views.make(like: partition)
            let formerlyLeftOut = state.withLock { state in
                (state.nextTime, state.warning) = (0, nil)
                state.backoff.succeeded()
                defer { state.leftOut = outcome.leftOut }
                return state.leftOut
            }
            if outcome.isNew {
                logger.info(
                    "the views of all stores are made",
                    metadata: ["schema": "\(outcome.schema)", "stores": "\(outcome.partitions.count)"])
            }
            for (partition, reason) in outcome.leftOut.sorted(by: { $0.key < $1.key })
            where formerlyLeftOut[partition] != reason {
                logger.warning(
                    "the views of all stores leave a store out",
                    metadata: ["schema": "\(outcome.schema)", "store": "\(partition)", "reason": "\(reason)"])
            }
        } catch {
            let isKnown = state.withLock { state in
                state.partition = state.partition ?? partition
                state.nextTime = MonotonicClock.seconds() + state.backoff.failed()
                defer { state.warning = "\(error)" }
                return state.warning == "\(error)"
            }
            if !isKnown {
                logger.warning(
                    "the views of all stores are not made, trying again",
                    metadata: ["code": "\(error.code.rawValue)", "reason": "\(error)"])
            }
        }
    }
}
