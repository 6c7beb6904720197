import GraphCore
import IngestCore
import KafkaClient

/// One process in a simulated world: a worker, or a member of the group with a worker for each partition.
final class SimulatedProcess: @unchecked Sendable {
    /// A call that leaves the process.
    enum Call { case poll, client, commitOffsets, deliver, delivered, store }

    /// A loop of the process.
    enum Loop {
        case worker(SimulatedWorker, SimulatedWorker.Loop)
        case supervisor(SimulatedSupervisor.Loop)
    }

    /// The state of the process.
    enum State: Equatable { case stopped, running, stalled }

    unowned let world: World
    let number: Int
    private(set) var state = State.stopped
    /// The calls that the process makes before it is killed; nil where nobody kills it.
    var callsUntilKill: Int?
    private(set) var killCount = 0
    private var isKilled = false
    /// When the process is started again.
    private(set) var startsAtSeconds: Double?
    /// When a process that is stalled in the midst of a step goes on.
    private var wakesAtSeconds: Double?
    /// Since when the process has been scheduled.
    private(set) var awakeSinceSeconds = 0.0
    /// The distance of the process's calendar from the world's, in microseconds.
    var clockOffset: Int64 = 0
    /// The reason for which the last start failed; the report has it once.
    private var failedStart: String?
    private(set) var workers: [SimulatedWorker] = []
    private(set) var supervisor: SimulatedSupervisor?
    /// The number of steps that are under way: within one that waits, the other loops go on.
    private var depth = 0

    init(_ world: World, number: Int) {
        self.world = world
        self.number = number
    }

    /// The process's name in reports.
    var name: String { world.hasStoreForEachPartition ? "process \(number)" : "worker \(number)" }

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

    /// Whether the process runs, and nobody has killed it in the midst of a step.
    var isAlive: Bool { state == .running && !isKilled }

    /// Ends the process as a kill does: it tells nobody.
    private func bury() {
        for worker in workers { worker.drop() }
        (workers, supervisor) = ([], nil)
        state = .stopped
        isKilled = false
        callsUntilKill = nil
        startsAtSeconds = world.seconds + 0.5 + Double(world.random.number(below: 3000)) / 1000
    }

    /// Kills the process between two steps.
    func kill() {
        if state == .stopped { return }
        world.note(self, "killed")
        bury()
    }

    func stall() { if state == .running { state = .stalled } }

    /// Takes the processor away from the process in the midst of a step.
    func stallWithinStep() {
        world.note(self, "is not scheduled while it waits")
        stall()
        wakesAtSeconds = world.seconds + world.randomSeconds(upTo: 30)
    }

    func wake() {
        if state != .stalled { return }
        (state, awakeSinceSeconds, wakesAtSeconds) = (.running, world.seconds, nil)
        for worker in workers { worker.forgetRefusal() }
    }

    // MARK: Start and stop

    func startIfDue() {
        if let time = wakesAtSeconds, world.seconds >= time { wake() }
        if state == .stopped, depth == 0, world.seconds >= startsAtSeconds ?? 0 { start() }
    }

    private func start() {
        do {
            if world.hasStoreForEachPartition {
                let supervisor = SimulatedSupervisor(self)
                self.supervisor = supervisor
                try supervisor.start()
            } else {
                let worker = SimulatedWorker(self, world.stores[0], SimulatedCluster(process: self))
                workers = [worker]
                try worker.start()
                worker.goRound()
            }
            (state, awakeSinceSeconds) = (.running, world.seconds)
            world.note(self, "starts")
        } catch {
            let reason = "does not start: \(error)"
            if reason != failedStart { world.note(self, reason) }
            failedStart = reason
            bury()
        }
    }

    /// Adds a worker that the supervisor has begun.
    func add(_ worker: SimulatedWorker) {
        if workers.contains(where: { $0.store === worker.store }) {
            world.violate("I7", "\(worker.name) begins beside another worker of the store")
        }
        workers.append(worker)
    }

    /// Takes a worker out that has ended.
    func remove(_ worker: SimulatedWorker) { workers.removeAll { $0 === worker } }

    /// Ends the process as a signal does.
    func stop() {
        guard state == .running else { return }
        world.note(self, "stops")
        depth += 1
        if let supervisor { supervisor.stop() } else { workers.first?.stop() }
        depth -= 1
        bury()
    }

    /// I7: a process that gives partitions up has closed their stores, unless it has waited long enough.
    func checkClosed(_ partitions: [TopicPartition]) {
        guard isAlive, supervisor != nil else { return }
        for worker in workers where !worker.isOverdue {
            guard partitions.contains(where: { $0.partition == worker.store.partition }) else { continue }
            world.violate("I7", "\(worker.name) is not closed, and its partition is given up")
        }
    }

    // MARK: Steps

    /// Calls with the loops whose next step is due, or is due with news.
    func forEachDueLoop(withNews: Bool, _ each: (Loop) -> Void) {
        guard isAlive else { return }
        for worker in workers {
            worker.forEachDueLoop(withNews: withNews) { each(.worker(worker, $0)) }
        }
        supervisor?.forEachDueLoop(withNews: withNews) { each(.supervisor($0)) }
    }

    func step(_ loop: Loop) {
        world.stepCount += 1
        depth += 1
        switch loop {
        case .worker(let worker, let loop): step(worker, loop)
        case .supervisor(let loop): supervisor?.step(loop)
        }
        depth -= 1
        if isKilled, depth == 0 { bury() }
    }

    private func step(_ worker: SimulatedWorker, _ loop: SimulatedWorker.Loop) {
        do { try worker.step(loop) } catch {
            if isKilled { return }
            worker.end(after: error, loop)
            // Without a supervisor the process ends with its worker.
            if supervisor == nil { bury() }
        }
    }

    // MARK: Questions

    /// Whether the process runs, and delivers notifications; of many writers, one has the role.
    var delivers: Bool { state == .running && workers.contains(where: \.delivers) }

    /// Whether the process has nothing left to do.
    var isQuiet: Bool { state == .running ? workers.allSatisfy(\.isQuiet) : state == .stopped }

    /// Whether a worker has halted a partition, and says so.
    func hasHalted(_ partition: TopicPartition) -> Bool { workers.contains { $0.hasHalted(partition) } }

    /// The checks of readiness that fail.
    var failures: [String] { (supervisor?.failures ?? []) + workers.flatMap(\.failures) }
}
