/// Checks invariants in the midst of a life.
struct Bounds {
    private let world: World
    /// A fault that lasts is to be seen within so many seconds.
    private static let noticeSeconds = 5.0

    init(_ world: World) { self.world = world }

    func check() {
        for process in world.processes where process.state == .running {
            checkReadiness(process)
            process.workers.forEach(checkOutbox)
        }
    }

    /// I6: within five seconds of a fault that lasts, readiness says so.
    private func checkReadiness(_ process: SimulatedProcess) {
        let time = world.seconds - Self.noticeSeconds
        if process.awakeSinceSeconds >= time || !process.failures.isEmpty { return }
        if world.isBrokerSilent, world.broker.silentFromSeconds < time {
            world.violate("I6", "\(process.name) is ready, though the broker is silent")
        }
        for worker in process.workers where worker.store.isRefusing && worker.stopAskedAtSeconds == nil {
            if let refused = worker.refusedAtSeconds, refused < time {
                world.violate("I6", "\(worker.name) is ready, though the store refuses")
            }
        }
    }

    /// I5: where too many transactions wait to be notified, no more are made. A round may have begun a few before, and more
    /// may have waited at the start. A worker from which another has taken the store over makes none, and counts those that
    /// the other has delivered.
    private func checkOutbox(_ worker: SimulatedWorker) {
        let limit = worker.store.configuration.notifications.maxOutboxTransactions
        let isWatched =
            world.configuration.store.writers == .one && limit > 0 && world.broker.lostOutputAtSeconds == nil
        let allowed = max(limit + 4, worker.waitingCountAtStart) + worker.store.retryCount * 10
        if isWatched, !worker.isFenced, worker.waitingCount > allowed {
            world.violate("I5", "\(worker.waitingCount) transactions wait, and the limit is \(limit)")
        }
    }
}
