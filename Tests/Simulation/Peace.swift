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
        world.storeFaults = []
        world.broker.beSilent(from: 0, until: 0)
        world.storeRefusesUntilSeconds = 0
        world.broker.refusedDeliveries = 0
        world.broker.lostAcknowledgements = 0
        for process in world.processes {
            process.callsUntilKill = nil
            process.clockOffset = 0
            process.wake()
        }
        rest()
        if world.violation != nil { return }
        for process in world.processes { process.stop() }
        do {
            try check()
        } catch {
            world.violate("I2", "the store cannot be read: \(error)")
        }
    }

    /// Lets the workers come to rest.
    private func rest() {
        // The role of a worker that was killed ends by a calendar, which may have jumped back.
        var undeliveredSeconds = -Double.infinity
        var (reached, end) = (Int64.min, world.seconds)
        while world.violation == nil {
            world.pass(seconds: 0.5)
            if !world.processes.contains(where: \.delivers) { undeliveredSeconds = world.seconds }
            if isAtRest(undeliveredSeconds) { return }
            let read = world.storedPositions.values.reduce(0, +)
            if read > reached { (reached, end) = (read, world.seconds + 300) }
            if world.seconds > end {
                let failures = world.processes.map { "worker \($0.number) \($0.state) \($0.failures)" }
                return world.violate(
                    "I6", "nothing moves: stored \(world.storedPositions), \(failures.joined(separator: "; "))")
            }
        }
    }

    /// Whether nothing is left to do.
    ///
    /// - Parameter undeliveredSeconds: when last no worker delivered.
    private func isAtRest(_ undeliveredSeconds: Double) -> Bool {
        let stored = world.storedPositions
        let hasRead = world.broker.inputs.allSatisfy { partition in
            stored[partition] ?? 0 == world.broker.high(partition) || isHalted(partition)
        }
        // A loss is noticed within seconds of the next look, and looked at twice.
        if let lost = world.broker.lostOutputAtSeconds, world.seconds < max(lost, undeliveredSeconds) + 60 {
            return false
        }
        // A worker from which another has taken the store over learns of it at its next renewal, and ends.
        if world.processes.contains(where: { $0.state == .running && $0.isFenced }) { return false }
        return hasRead && world.processes.allSatisfy(\.isQuiet) && cursorsAreSaved
            && world.processes.contains { $0.state == .running && isReady($0) }
    }

    /// Whether a worker has halted a partition whose position is lost, and says so.
    private func isHalted(_ partition: TopicPartition) -> Bool {
        world.configuration.kafka.onPositionLost == .halt && world.broker.logs[partition]?.firstLoss != nil
            && world.processes.contains { $0.hasHalted(partition) }
    }

    /// Whether a worker is ready, but for partitions that it has to halt.
    private func isReady(_ process: SimulatedProcess) -> Bool {
        process.failures.allSatisfy { failure in
            failure.hasPrefix("partitions: ") && world.broker.inputs.contains { process.hasHalted($0) && isHalted($0) }
        }
    }

    private var cursorsAreSaved: Bool {
        let name = world.configuration.notifications.cursorName
        let isSaved = try? world.read { context in
            let (token, sent) = (
                try context.cursors()[name] ?? 0, try context.sentDeadLetter(topic: SimulatedBroker.failed)
            )
            return try context.history(after: token, limit: 1, maximumChangeCount: 1).isEmpty
                && context.deadLetters(after: sent, limit: 1, maximumBytes: 1).isEmpty
        }
        return isSaved ?? false
    }

    // MARK: The oracle

    private func check() throws {
        try Oracle.check(world)
        try checkNotifications()
        try checkDeadLetters()
    }

    /// I4: the topic has the notifications of every transaction in order; from any place they go on without a gap.
    private func checkNotifications() throws {
        let builder = NotificationBuilder(
            configuration: world.configuration.notifications, storeIdentity: "simulated", model: world.model)
        let expected = try world.history.flatMap { try builder.notifications(for: $0) }
        let values = expected.map { $0.value ?? "" }
        let purged = try world.read { try $0.purgedToken() }
        let log = world.broker.logs[TopicPartition(SimulatedBroker.output, 0)] ?? SimulatedLog()
        // The worker cannot send a transaction again that a purge took before the broker lost it.
        let check = DeliveryCheck(
            topic: SimulatedBroker.output, expected: values, isExact: world.configuration.notifications.transactional
        ) { log.firstLoss == nil || expected[$0].token > purged }
        check.look(at: log, in: world) { $0.value.map { String(decoding: $0, as: UTF8.self) } }
    }

    /// A letter that a retry was done with before its delivery need not be sent.
    private func checkDeadLetters() throws {
        let kept = Set(try world.read { try $0.deadLetters(after: 0, limit: 1_000_000) }.map(\.id))
        let log = world.broker.logs[TopicPartition(SimulatedBroker.failed, 0)] ?? SimulatedLog()
        let check = DeliveryCheck(
            topic: SimulatedBroker.failed, expected: world.letters.map { "simulated:\($0.id)" }, isExact: false
        ) { kept.contains(world.letters[$0].id) }
        check.look(at: log, in: world) { record in
            record.headers.last { $0.name == "ingest.deadletter.id" }?.value.map { String(decoding: $0, as: UTF8.self) }
        }
    }
}
