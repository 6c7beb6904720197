import GraphCore
import IngestCore
import KafkaClient
import Logging
import MemoryStorage

/// One worker process in a simulated world: the program's own loops, and the seams around them.
final class SimulatedProcess: @unchecked Sendable {
    /// A call that leaves the process.
    enum Call { case poll, client, commitOffsets, deliver, delivered, store }

    /// The loops of a process.
    enum Loop: Int, CaseIterable { case worker, notifications, deadLetters, probe }

    /// The state of the process.
    enum State: Equatable { case stopped, running, stalled }

    unowned let world: World
    let number: Int
    private(set) var state = State.stopped
    /// The calls that the process makes before it is killed; nil where nobody kills it.
    var callsUntilKill: Int?
    private(set) var killCount = 0
    private var isKilled = false
    /// When the supervisor starts the process again.
    private(set) var startsAtSeconds: Double?
    /// Since when the process has been scheduled.
    private(set) var awakeSinceSeconds = 0.0
    /// When the store first refused the process in the present outage.
    private(set) var refusedAtSeconds: Double?
    /// The transactions that waited to be notified when the process started. A killed worker had notified some of them,
    /// and not saved its cursor.
    private(set) var waitingCountAtStart = 0
    /// The number of the process's writer among all of the store; nil before it has claimed the store.
    private var writerNumber: Int?
    /// The distance of the process's calendar from the world's, in microseconds.
    var clockOffset: Int64 = 0
    /// The reason for which the last start failed; the report has it once.
    private var failedStart: String?
    private var parts: Parts?
    private var due: [NextStep?] = Array(repeating: nil, count: Loop.allCases.count)

    private struct Parts {
        let store: Store
        let storage: MemoryStorage
        let worker: ConsumerWorker
        let notifications: Outbox
        let sink: any RecordSink
        let deadLetters: Outbox
        let probe: BrokerProbe
        let health: HealthMonitor
        let desk: ControlDesk
    }

    init(_ world: World, number: Int) {
        self.world = world
        self.number = number
    }

    var clock: WorkerClock {
        WorkerClock(
            seconds: { [unowned world] in world.seconds },
            microseconds: { [unowned world, unowned self] in world.microseconds + clockOffset },
            jitter: { [unowned world] in Double(world.random.number(below: 1000)) / 1000 })
    }

    // MARK: Ends

    private static let gone = KafkaError(.closed, "the process has ended")

    /// Notes a call that leaves the process, and ends the process where the call is the one at which it is killed.
    ///
    /// - Throws: `KafkaError` from the end of the process on, so that nothing leaves it any more.
    func call(_ call: Call) throws(KafkaError) {
        if let count = callsUntilKill {
            callsUntilKill = count - 1
            if count <= 0 {
                isKilled = true
                killCount += 1
                callsUntilKill = nil
                world.note(self, "killed at \(call)")
            }
        }
        if isKilled { throw Self.gone }
    }

    private func storeCall(_ storeCall: MemoryCall) throws(StoreError) {
        if storeCall == .committed { world.capture() }
        do throws(KafkaError) { try call(.store) } catch {
            throw StoreError(.unavailable, "The process has ended", remedy: "None")
        }
        if storeCall == .committed, isFenced {
            world.violate("I7", "worker \(number) writes though another has taken the store over")
        }
        if !world.isStoreRefusing { refusedAtSeconds = nil }
        if storeCall != .committed, world.isStoreRefusing { refusedAtSeconds = refusedAtSeconds ?? world.seconds }
        try world.failStore(storeCall)
    }

    /// Ends the process as a kill does: it tells nobody.
    private func bury() {
        parts?.storage.rollback()
        parts = nil
        state = .stopped
        isKilled = false
        callsUntilKill = nil
        (refusedAtSeconds, writerNumber) = (nil, nil)
        startsAtSeconds = world.seconds + 0.5 + Double(world.random.number(below: 3000)) / 1000
    }

    /// Kills the process between two steps.
    func kill() {
        if state == .stopped { return }
        world.note(self, "killed")
        bury()
    }

    func stall() { if state == .running { state = .stalled } }
    func wake() {
        if state == .stalled { (state, awakeSinceSeconds, refusedAtSeconds) = (.running, world.seconds, nil) }
    }

    // MARK: Start and stop

    func startIfDue() {
        if state == .stopped, world.seconds >= startsAtSeconds ?? 0 { start() }
    }

    private func start() {
        do {
            parts = try makeParts()
            try parts?.worker.start()
            (state, awakeSinceSeconds, waitingCountAtStart) = (.running, world.seconds, waitingCount)
            world.note(self, "starts")
            due = Array(repeating: .at(world.seconds), count: Loop.allCases.count)
        } catch {
            let reason = "does not start: \(error)"
            if reason != failedStart { world.note(self, reason) }
            failedStart = reason
            bury()
        }
    }

    private func makeParts() throws -> Parts {
        let configuration = world.configuration
        let logger = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
        let clock = clock
        let storage = MemoryStorage(world.place) { [unowned self] call throws(StoreError) in try storeCall(call) }
        let store = Store(storage, model: world.model)
        var rules = HealthRules()
        rules.needsDeadLetters = true
        let health = HealthMonitor(rules: rules, now: clock.seconds)
        let metrics = world.metrics
        var options = WriterContext.Options()
        options.author = "simulation"
        options.leaseTTLSeconds = Double(configuration.lease.ttlSeconds)
        options.setDeletionThreshold = world.setDeletionThreshold
        options.now = clock.microseconds
        let writer = try WriterContext(store: store, options: options)
        writerNumber = world.nextWriter()
        health.report(.storeOK)
        let isAlone = configuration.store.writers == .one
        let cluster = SimulatedCluster(process: self)
        let sink: any RecordSink =
            configuration.notifications.transactional
            ? SimulatedTransactionalSink(self, topic: SimulatedBroker.output)
            : SimulatedSink(self, topic: SimulatedBroker.output)
        let notifications = try Outbox.notifications(
            store: store, sink: sink,
            configuration: configuration.notifications, metrics: metrics, health: health, logger: logger,
            isActive: isAlone, clock: clock)
        let deadLetters = try Outbox.deadLetters(
            store: store, sink: SimulatedSink(self, topic: SimulatedBroker.failed), topic: SimulatedBroker.failed,
            configuration: configuration, metrics: metrics, health: health, logger: logger, isActive: isAlone,
            clock: clock)
        try configuration.putCursor(of: notifications, writer)
        let directory = TopicDirectory()
        let outages = OutageLog(logger: logger, now: clock.seconds)
        let probe = BrokerProbe(
            topics: cluster, health: health, metrics: metrics, logger: logger, outages: outages, directory: directory,
            clock: clock)
        let worker = try ConsumerWorker(
            configuration: configuration, writer: writer, sources: cluster, metrics: metrics, health: health,
            logger: logger, outages: outages, notifications: notifications, deadLetters: deadLetters,
            directory: directory, clock: clock)
        let desk = try ControlDesk(
            configuration: configuration, store: store, logger: logger, clock: clock, runBeside: { $0() })
        worker.control = desk
        worker.pipeline.makeSaver = { [unowned self] in SimulatedSaver(self) }
        return Parts(
            store: store, storage: storage, worker: worker, notifications: notifications, sink: sink,
            deadLetters: deadLetters, probe: probe, health: health, desk: desk)
    }

    /// Ends the process as a signal does: it drains, leaves the group, delivers the rest, and gives the store up.
    func stop() {
        guard state == .running, let parts else { return }
        world.note(self, "stops")
        do {
            let answers = try parts.worker.drain()
            try parts.worker.leave(brokerAnswers: answers)
            try? parts.deadLetters.drain(untilSeconds: world.seconds + 5)
            try? parts.notifications.drain(untilSeconds: world.seconds + 5)
            parts.sink.close()
            try parts.worker.close()
        } catch {
            world.note(self, "stopped with \(error)")
        }
        bury()
    }

    // MARK: Steps

    /// Calls with the loops whose next step is due, or is due with news.
    func forEachDueLoop(withNews: Bool, _ each: (Loop) -> Void) {
        guard state == .running else { return }
        for loop in Loop.allCases {
            guard let next = due[loop.rawValue] else { continue }
            if next.seconds <= world.seconds || next.comesWithNews && withNews { each(loop) }
        }
    }

    func step(_ loop: Loop) {
        guard let parts else { return }
        world.stepCount += 1
        do {
            due[loop.rawValue] =
                switch loop {
                case .worker: try parts.worker.step()
                case .notifications: try parts.notifications.step()
                case .deadLetters: try parts.deadLetters.step()
                case .probe: parts.probe.step()
                }
        } catch {
            if !isKilled { end(after: error, loop) }
        }
        if isKilled { bury() }
    }

    /// Ends the program as it does where a loop fails: the other loops stop, and the store is given up.
    private func end(after error: any Error, _ loop: Loop) {
        world.note(self, "ends: \(error)")
        world.judge(error, of: self)
        if loop == .worker {
            parts?.worker.giveUp(after: error)
        } else if let worker = parts?.worker {
            if let answers = try? worker.drain() { try? worker.leave(brokerAnswers: answers) }
        }
        try? parts?.worker.close()
        bury()
    }

    /// Sends the worker a request, as a command does over the control socket; nobody waits for the answer.
    @discardableResult func submit(_ request: ControlRequest) -> ControlTicket? {
        guard state == .running, let desk = parts?.desk else { return nil }
        world.note(self, "is asked for \(request.name)")
        let ticket = ControlTicket(desk.envelope(request, key: nil), from: "simulation", onAnswer: {})
        desk.submit(ticket)
        return ticket
    }

    // MARK: Questions

    /// Whether another process has taken the store over from this one.
    var isFenced: Bool {
        guard world.configuration.store.writers == .one, let writerNumber else { return false }
        return writerNumber < world.writerCount
    }

    /// The number of transactions that the process knows to wait for their notification.
    var waitingCount: Int { parts?.notifications.waiting ?? 0 }

    /// Whether the process runs, and delivers notifications; of many writers, one has the role.
    var delivers: Bool { state == .running && parts?.notifications.isActive ?? false }

    /// Whether the process has nothing left to do.
    var isQuiet: Bool {
        guard state == .running, let parts else { return state == .stopped }
        return parts.notifications.waiting == 0 && parts.deadLetters.waiting == 0
    }

    /// Whether the worker has halted a partition, and says so.
    func hasHalted(_ partition: TopicPartition) -> Bool {
        parts?.health.partitionFaults().contains { $0.state == .halted && $0.partition == partition } ?? false
    }

    /// The checks of readiness that fail.
    var failures: [String] {
        parts?.health.readiness().compactMap { check in check.reason.map { "\(check.name): \($0)" } } ?? []
    }
}
