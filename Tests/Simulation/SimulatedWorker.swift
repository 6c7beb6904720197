import GraphCore
import IngestCore
import KafkaClient
import Logging
import MemoryStorage

/// One whole worker in a simulated process: the program's own loops, and the seams around them.
final class SimulatedWorker: @unchecked Sendable {
    /// The loops of a worker; the last one opens the store and ends the worker, where a supervisor asks for that.
    enum Loop: Int, CaseIterable { case worker, notifications, deadLetters, probe, life }

    unowned let process: SimulatedProcess
    let store: SimulatedStore
    private let sources: any RecordSources
    /// When the store first refused the worker in the present outage.
    private(set) var refusedAtSeconds: Double?
    /// The transactions that waited to be notified when the worker started. A killed worker had notified some of them,
    /// and not saved its cursor.
    private(set) var waitingCountAtStart = 0
    /// The number of the worker's writer among all of the store; nil before it has claimed the store.
    private var writerNumber: Int?
    private var parts: Parts?
    private var due: [NextStep?] = Array(repeating: nil, count: Loop.allCases.count)
    /// The supervisor's callbacks, and its request to stop.
    private var onOpen: () -> Void = {}
    private var onEnd: ((any Error)?) -> Void = { _ in }
    private(set) var stopAskedAtSeconds: Double?
    private(set) var hasEnded = false

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

    init(_ process: SimulatedProcess, _ store: SimulatedStore, _ sources: any RecordSources) {
        self.process = process
        self.store = store
        self.sources = sources
    }

    private var world: World { process.world }

    /// The worker's name in reports.
    var name: String { store.partition.map { "\(process.name), store \($0)" } ?? process.name }

    private func note(_ text: @autoclosure () -> String) { world.note("\(name)  \(text())") }

    // MARK: Start and end

    private func storeCall(_ storeCall: MemoryCall) throws(StoreError) {
        if storeCall == .committed { store.capture() }
        do throws(KafkaError) { try process.call(.store) } catch {
            throw StoreError(.unavailable, "The process has ended", remedy: "None")
        }
        if storeCall == .committed, isFenced {
            world.violate("I7", "\(name) writes though another has taken the store over")
        }
        if !store.isRefusing { refusedAtSeconds = nil }
        if storeCall != .committed, store.isRefusing { refusedAtSeconds = refusedAtSeconds ?? world.seconds }
        try store.fail(storeCall)
    }

    /// Opens the store, and begins to read.
    func start() throws {
        parts = try makeParts()
        try parts?.worker.start()
        waitingCountAtStart = waitingCount
    }

    /// Makes all loops due.
    func goRound() { for loop in Loop.allCases where loop != .life { due[loop.rawValue] = .at(world.seconds) } }

    private func makeParts() throws -> Parts {
        let configuration = store.configuration
        let logger = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
        let clock = process.clock
        let storage = MemoryStorage(store.place) { [unowned self] call throws(StoreError) in try storeCall(call) }
        let opened = Store(storage, model: world.model)
        var rules = HealthRules()
        rules.needsDeadLetters = true
        rules.choosesPartitions = configuration.kafka.partitions != nil
        let health = HealthMonitor(rules: rules, now: clock.seconds)
        let metrics = world.metrics
        try configuration.checkPartitions(of: opened)
        var options = WriterContext.Options()
        options.author = "simulation"
        options.leaseTTLSeconds = Double(configuration.lease.ttlSeconds)
        options.setDeletionThreshold = world.setDeletionThreshold
        options.now = clock.microseconds
        let writer = try WriterContext(store: opened, options: options)
        writerNumber = store.nextWriter()
        health.report(.storeOK)
        let isAlone = configuration.store.writers == .one
        let cluster = SimulatedCluster(process: process)
        let sink: any RecordSink =
            configuration.notifications.transactional
            ? SimulatedTransactionalSink(process, store.output)
            : SimulatedSink(process, store.output)
        let notifications = try Outbox.notifications(
            store: opened, sink: sink,
            configuration: configuration.notifications, metrics: metrics, health: health, logger: logger,
            isActive: isAlone, clock: clock)
        let deadLetters = try Outbox.deadLetters(
            store: opened, sink: SimulatedSink(process, store.failed), topic: store.failed.topic,
            configuration: configuration, metrics: metrics, health: health, logger: logger, isActive: isAlone,
            clock: clock)
        try configuration.putCursor(of: notifications, writer)
        let directory = TopicDirectory()
        let outages = OutageLog(logger: logger, now: clock.seconds)
        let probe = BrokerProbe(
            topics: cluster, health: health, metrics: metrics, logger: logger, outages: outages, directory: directory,
            clock: clock)
        let worker = try ConsumerWorker(
            configuration: configuration, writer: writer, sources: sources, metrics: metrics, health: health,
            logger: logger, outages: outages, notifications: notifications, deadLetters: deadLetters,
            directory: directory, clock: clock)
        let desk = try ControlDesk(
            configuration: configuration, store: opened, logger: logger, clock: clock, runBeside: { $0() })
        worker.control = desk
        worker.pipeline.makeSaver = { [unowned self] in SimulatedSaver(process) }
        return Parts(
            store: opened, storage: storage, worker: worker, notifications: notifications, sink: sink,
            deadLetters: deadLetters, probe: probe, health: health, desk: desk)
    }

    /// Ends the worker as a kill of its process does: it tells nobody.
    func drop() {
        parts?.storage.rollback()
        parts = nil
        hasEnded = true
        (onOpen, onEnd) = ({}, { _ in })
    }

    /// Ends the worker as a signal does: it drains, leaves the group, delivers the rest, and gives the store up.
    ///
    /// - Returns: why it failed; nil where it ended well.
    @discardableResult func stop() -> (any Error)? {
        guard let parts else { return nil }
        do {
            let answers = try parts.worker.drain()
            try parts.worker.leave(brokerAnswers: answers)
            try? parts.deadLetters.drain(untilSeconds: world.seconds + 5)
            try? parts.notifications.drain(untilSeconds: world.seconds + 5)
            parts.sink.close()
            try parts.worker.close()
            return nil
        } catch {
            note("stopped with \(error)")
            return error
        }
    }

    func forgetRefusal() { refusedAtSeconds = nil }

    // MARK: Steps

    /// Calls with the loops whose next step is due, or is due with news.
    func forEachDueLoop(withNews: Bool, _ each: (Loop) -> Void) {
        for loop in Loop.allCases {
            guard let next = due[loop.rawValue] else { continue }
            if next.seconds <= world.seconds || next.comesWithNews && withNews { each(loop) }
        }
    }

    func step(_ loop: Loop) throws {
        if loop == .life { return live() }
        guard let parts else { return }
        due[loop.rawValue] =
            switch loop {
            case .worker: try parts.worker.step()
            case .notifications: try parts.notifications.step()
            case .deadLetters: try parts.deadLetters.step()
            case .probe: parts.probe.step()
            case .life: nil
            }
    }

    /// Ends the worker as the program does where a loop fails: the other loops stop, and the store is given up.
    func end(after error: any Error, _ loop: Loop) {
        note("ends: \(error)")
        world.judge(error, of: name)
        if loop == .worker {
            parts?.worker.giveUp(after: error)
        } else if let worker = parts?.worker {
            if let answers = try? worker.drain() { try? worker.leave(brokerAnswers: answers) }
        }
        try? parts?.worker.close()
        ended(error)
    }

    /// Sends the worker a request, as a command does over the control socket; nobody waits for the answer.
    @discardableResult func submit(_ request: ControlRequest) -> ControlTicket? {
        guard process.state == .running, let desk = parts?.desk else { return nil }
        note("is asked for \(request.name)")
        let ticket = ControlTicket(desk.envelope(request, key: nil), from: "simulation", onAnswer: {})
        desk.submit(ticket)
        return ticket
    }

    // MARK: Questions

    /// Whether another worker has taken the store over from this one.
    var isFenced: Bool {
        guard store.configuration.store.writers == .one, let writerNumber else { return false }
        return writerNumber < store.writerCount
    }

    /// The number of transactions that the worker knows to wait for their notification.
    var waitingCount: Int { parts?.notifications.waiting ?? 0 }

    /// Whether the worker delivers notifications; of many writers, one has the role.
    var delivers: Bool { parts?.notifications.isActive ?? false }

    /// Whether the worker has nothing left to do.
    var isQuiet: Bool {
        guard let parts else { return true }
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

// MARK: - A worker that a supervisor starts and stops

extension SimulatedWorker: PartitionWorking {
    var isOpen: Bool { parts != nil }

    func begin(onOpen: @escaping @Sendable () -> Void, onEnd: @escaping @Sendable ((any Error)?) -> Void) {
        (self.onOpen, self.onEnd) = (onOpen, onEnd)
        process.add(self)
        // To open a store may take long, as after a kill.
        let takesLong = !world.isCalm && world.random.number(below: 20) == 0
        due[Loop.life.rawValue] = .at(world.seconds + world.randomSeconds(upTo: takesLong ? 15 : 0.05))
    }

    func requestStop() {
        if stopAskedAtSeconds != nil { return }
        stopAskedAtSeconds = world.seconds
        // One that opens its store ends when that is open.
        if !isOpen { return }
        // The disk or the broker may hold the threads of the worker up for longer than anybody waits.
        let isStuck = !world.isCalm && world.random.number(below: 20) == 0
        if isStuck {
            note("is stuck")
            due = Array(repeating: nil, count: Loop.allCases.count)
        }
        due[Loop.life.rawValue] = .at(world.seconds + world.randomSeconds(upTo: isStuck ? 40 : 0.1))
    }

    func waitForEnd(seconds: Double) -> Bool {
        let end = world.seconds + seconds
        if !world.isCalm, world.random.number(below: 60) == 0 { process.stallWithinStep() }
        while !hasEnded, process.isAlive || process.state == .stalled, world.violation == nil {
            if world.seconds >= end, process.state != .stalled { return false }
            world.pass(seconds: 0.01)
        }
        return true
    }

    /// Whether the supervisor has waited for the worker's end as long as it waits.
    var isOverdue: Bool {
        let limit = Double(store.configuration.shutdown.drainSeconds + PartitionMember<SimulatedWorker>.graceSeconds)
        return stopAskedAtSeconds.map { world.seconds >= $0 + limit } ?? false
    }

    /// Opens the store, or ends.
    private func live() {
        due[Loop.life.rawValue] = nil
        if !isOpen {
            do {
                try start()
                note("is open")
                onOpen()
                goRound()
            } catch {
                if !process.isAlive { return }
                note("does not open: \(error)")
                if (error as? StoreError)?.code != .leased { world.judge(error, of: name) }
                return ended(error)
            }
        }
        if stopAskedAtSeconds == nil { return }
        note("stops")
        let failure = stop()
        if process.isAlive { ended(failure) }
    }

    private func ended(_ failure: (any Error)?) {
        let tell = onEnd
        process.remove(self)
        drop()
        tell(failure)
    }
}
