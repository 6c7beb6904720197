import IngestCore
import KafkaClient
import Logging

/// The part of a simulated process that is a member of the group, and has a worker for each partition: the program's own
/// member and its decisions.
final class SimulatedSupervisor {
    /// The loops of the supervisor.
    enum Loop: CaseIterable { case member, probe }

    private unowned let process: SimulatedProcess
    private let health: HealthMonitor
    private let probe: BrokerProbe
    private let member: PartitionMember<SimulatedWorker>
    private var due: [Loop: NextStep] = [:]

    init(_ process: SimulatedProcess) {
        self.process = process
        let world = process.world
        let logger = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
        let clock = process.clock
        let outages = OutageLog(logger: logger, now: clock.seconds)
        let directory = TopicDirectory()
        let cluster = SimulatedCluster(process: process)
        var rules = HealthRules()
        (rules.needsPublisher, rules.needsDeadLetters) = (false, false)
        health = HealthMonitor(rules: rules, now: clock.seconds)
        health.report(.storeOK)
        probe = BrokerProbe(
            topics: cluster, health: health, metrics: world.metrics, logger: logger, outages: outages,
            directory: directory, clock: clock)
        member = PartitionMember(
            leadTopic: SimulatedBroker.input, configuration: { [configuration = world.configuration] in configuration },
            sources: cluster, health: health, logger: logger, outages: outages, directory: directory, clock: clock
        ) { [unowned process, unowned world] partition, commit in
            SimulatedWorker(
                process, world.stores[Int(partition)],
                MemberSources(base: SimulatedCluster(process: process), commit: commit))
        }
    }

    private var world: World { process.world }

    func start() throws {
        try member.join()
        for loop in Loop.allCases { due[loop] = .at(world.seconds) }
    }

    /// Lets all workers end, and leaves the group.
    func stop() {
        due[.member] = nil
        member.leave()
    }

    func forEachDueLoop(withNews: Bool, _ each: (Loop) -> Void) {
        for loop in Loop.allCases {
            guard let next = due[loop] else { continue }
            if next.seconds <= world.seconds || next.comesWithNews && withNews { each(loop) }
        }
    }

    func step(_ loop: Loop) {
        // While a turn waits for workers, no other begins.
        due[loop] = nil
        switch loop {
        case .probe: due[.probe] = probe.step()
        case .member:
            do { due[.member] = try member.step() } catch {
                if process.isAlive { world.violate("I6", "\(process.name) is no member any more: \(error)") }
            }
        }
    }

    /// The partitions that have a worker, or wait for one.
    var partitions: [Int32] { member.partitions }

    /// The checks of readiness that fail.
    var failures: [String] {
        member.readiness().compactMap { check in check.reason.map { "\(check.name): \($0)" } }
    }
}
