import GraphCore
import IngestCore
import KafkaClient

/// The end of a life: no fault is left, so the workers have to read everything and deliver everything, and the store is
/// what the oracle says.
struct Peace {
    private let world: World

    init(_ world: World) { self.world = world }

    func come() {
        world.note("peace")
        world.isCalm = true
        for store in world.stores { (store.faults, store.refusesUntilSeconds) = ([], 0) }
        world.broker.beSilent(from: 0, until: 0)
        world.broker.refusedDeliveries = 0
        world.broker.lostAcknowledgements = 0
        for process in world.processes {
            process.callsUntilKill = nil
            process.clockOffset = 0
            process.wake()
        }
        // The failure of one store keeps no other from its end.
        if world.stores.count > 1, world.random.number(below: 3) == 0 {
            let failing = world.stores[world.random.number(below: world.stores.count)]
            world.note("\(failing.name) refuses on")
            failing.refusesUntilSeconds = .infinity
            rest(world.stores.filter { $0 !== failing })
            failing.refusesUntilSeconds = 0
        }
        rest(world.stores)
        if world.violation != nil { return }
        for process in world.processes { process.stop() }
        do {
            try check()
        } catch {
            world.violate("I2", "a store cannot be read: \(error)")
        }
    }

    /// Lets the workers of stores come to rest.
    private func rest(_ stores: [SimulatedStore]) {
        // The role of a worker that was killed ends by a calendar, which may have jumped back.
        var undeliveredSeconds = -Double.infinity
        var (reached, end) = (Int64.min, world.seconds)
        while world.violation == nil {
            world.pass(seconds: 0.5)
            if !world.processes.contains(where: \.delivers) { undeliveredSeconds = world.seconds }
            guard let reason = unrest(stores, undeliveredSeconds) else { return }
            let read = stores.flatMap(\.positions.values).reduce(0, +)
            if read > reached { (reached, end) = (read, world.seconds + 300) }
            if world.seconds > end {
                let failures = world.processes.map { "\($0.name) \($0.state) \($0.failures)" }
                return world.violate(
                    "I6",
                    "nothing moves, and \(reason): stored \(stores.map(\.positions)), "
                        + failures.joined(separator: "; "))
            }
        }
    }

    /// Returns the work that the stores still have before them; nil where they are at rest.
    ///
    /// - Parameter undeliveredSeconds: when last no worker delivered.
    private func unrest(_ stores: [SimulatedStore], _ undeliveredSeconds: Double) -> String? {
        let haveRead = stores.allSatisfy { store in
            let stored = store.positions
            return store.inputs.allSatisfy { stored[$0] ?? 0 == world.broker.high($0) || isHalted($0, store) }
        }
        if !haveRead { return "records wait" }
        // A loss is noticed within seconds of the next look, and looked at twice.
        if let lost = world.broker.lostOutputAtSeconds, world.seconds < max(lost, undeliveredSeconds) + 60 {
            return "a loss waits"
        }
        let running = world.processes.filter { $0.state == .running }
        let workers = running.flatMap(\.workers).filter { worker in stores.contains { $0 === worker.store } }
        // A worker from which another has taken the store over learns of it at its next renewal, and ends.
        if workers.contains(where: \.isFenced) { return "a worker is fenced" }
        let areQuiet =
            world.hasStoreForEachPartition ? workers.allSatisfy(\.isQuiet) : world.processes.allSatisfy(\.isQuiet)
        if !areQuiet || !stores.allSatisfy(cursorsAreSaved) { return "deliveries wait" }
        return areRead(stores, workers, running) ? nil : "a store has no ready worker"
    }

    /// Whether workers are ready to go on with stores: one of the workers that share a store, or each store's one, in the
    /// process that has its partition.
    private func areRead(
        _ stores: [SimulatedStore], _ workers: [SimulatedWorker], _ running: [SimulatedProcess]
    ) -> Bool {
        if !world.hasStoreForEachPartition { return running.contains { isReady($0.failures, $0.workers) } }
        if stores.count == world.stores.count {
            guard running.allSatisfy({ isReady($0.failures, $0.workers) }) else { return false }
        }
        return stores.allSatisfy { store in
            let own = workers.filter { $0.store === store }
            guard own.count == 1, own[0].isOpen, isReady(own[0].failures, own) else { return false }
            let owned = world.broker.group.members[own[0].process.number]?.owned ?? []
            return owned.contains { $0.partition == store.partition }
        }
    }

    /// Whether a worker has halted a partition whose position is lost, and says so.
    private func isHalted(_ partition: TopicPartition, _ store: SimulatedStore) -> Bool {
        world.configuration.kafka.onPositionLost == .halt && world.broker.logs[partition]?.firstLoss != nil
            && world.processes.contains { $0.workers.contains { $0.store === store && $0.hasHalted(partition) } }
    }

    /// Whether workers are ready, but for partitions that they have to halt.
    private func isReady(_ failures: [String], _ workers: [SimulatedWorker]) -> Bool {
        failures.allSatisfy { failure in
            failure.hasPrefix("partitions: ")
                && workers.contains { worker in
                    worker.store.inputs.contains { worker.hasHalted($0) && isHalted($0, worker.store) }
                }
        }
    }

    private func cursorsAreSaved(_ store: SimulatedStore) -> Bool {
        let name = store.configuration.notifications.cursorName
        let isSaved = try? store.read { context in
            let (token, sent) = (
                try context.cursors()[name] ?? 0, try context.sentDeadLetter(topic: store.failed.topic)
            )
            return try context.history(after: token, limit: 1, maximumChangeCount: 1).isEmpty
                && context.deadLetters(after: sent, limit: 1, maximumBytes: 1).isEmpty
        }
        return isSaved ?? false
    }

    // MARK: The oracle

    private func check() throws {
        try Oracle.check(world)
        try world.stores.forEach(checkNotifications)
        try world.stores.forEach(checkDeadLetters)
    }

    /// I4: the topic has the notifications of every transaction in order; from any place they go on without a gap.
    private func checkNotifications(_ store: SimulatedStore) throws {
        let builder = NotificationBuilder(
            configuration: store.configuration.notifications, storeIdentity: store.identity, model: world.model)
        let expected = try store.history.flatMap { try builder.notifications(for: $0) }
        let values = expected.map { $0.value ?? "" }
        let purged = try store.read { try $0.purgedToken() }
        let log = world.broker.logs[store.output] ?? SimulatedLog()
        // The worker cannot send a transaction again that a purge took before the broker lost it.
        let check = DeliveryCheck(
            topic: store.output.topic, expected: values, isExact: world.configuration.notifications.transactional
        ) { log.firstLoss == nil || expected[$0].token > purged }
        check.look(at: log, in: world) { $0.value.map { String(decoding: $0, as: UTF8.self) } }
    }

    /// A letter that a retry was done with before its delivery need not be sent.
    private func checkDeadLetters(_ store: SimulatedStore) throws {
        let kept = Set(try store.read { try $0.deadLetters(after: 0, limit: 1_000_000) }.map(\.id))
        let log = world.broker.logs[store.failed] ?? SimulatedLog()
        let check = DeliveryCheck(
            topic: store.failed.topic, expected: store.letters.map { "\(store.identity):\($0.id)" }, isExact: false
        ) { kept.contains(store.letters[$0].id) }
        check.look(at: log, in: world) { record in
            record.headers.last { $0.name == "ingest.deadletter.id" }?.value.map { String(decoding: $0, as: UTF8.self) }
        }
    }
}
