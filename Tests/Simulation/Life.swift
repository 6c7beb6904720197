import GraphCore
import GraphModel
import IngestCore
import MemoryStorage
import TestSupport

/// One life of a few workers: things that happen to them, and then peace, in which they have to come to rest.
package struct Life {
    /// The kinds of lives.
    package enum Kind: Sendable {
        /// One store, which all workers share.
        case workers
        /// A store for each partition; each process runs a worker for each partition that the group gives it.
        case stores
    }

    /// One thing that happens. Each draws from numbers of its own, so that the others stay as they are without it.
    enum Action {
        case produce, pass, passLong, killBetween, killWithin, stop, stall, wake, failStore, failStoreLong, loseCommit,
            refuseDeliveries
        case loseAcknowledgements, silence, jump, skew, age, retry, purge, loseOutput, loseInput
    }

    /// The end of a life.
    package struct Outcome {
        package let violation: Violation?
        package let stepCount: Int
        package let recordCount: Int
        /// A number that two equal lives have in common.
        package let digest: Int
        package let timeline: [String]
    }

    private static let weights: [(Action, Int)] = [
        (.produce, 22), (.pass, 26), (.passLong, 3), (.killBetween, 4), (.killWithin, 10), (.stop, 4), (.stall, 4),
        (.wake, 5), (.failStore, 5), (.failStoreLong, 2), (.loseCommit, 3), (.refuseDeliveries, 4),
        (.loseAcknowledgements, 4),
        (.silence, 2), (.jump, 1), (.skew, 1), (.age, 2), (.retry, 2), (.purge, 2), (.loseOutput, 1), (.loseInput, 2),
    ]

    package let seed: UInt64
    private let model: ObjectModel
    private let setup: Setup

    package init(seed: UInt64, model: ObjectModel, kind: Kind = .workers) {
        self.seed = seed
        self.model = model
        setup = Setup(seed: seed, kind: kind)
    }

    /// The numbers of the things that happen.
    package var actions: [Int] { Array(0..<(40 + Int(seed % 40))) }

    /// Lives through some actions, and then to the rest.
    package func run(_ actions: [Int], keepsTimeline: Bool = false) -> Outcome {
        let world = World(setup, model: model, keepsTimeline: keepsTimeline)
        for action in actions where world.violation == nil {
            world.random = SeededRandom(seed: seed &+ UInt64(action + 1) &* 0x9E37_79B9)
            carryOut(world)
            Bounds(world).check()
            // Now and then the oracle looks in the midst of everything.
            if (seed &+ UInt64(action)) % 40 == 0, world.violation == nil { look(world) }
        }
        world.random = SeededRandom(seed: ~seed)
        if world.violation == nil { Peace(world).come() }
        let records = world.broker.inputs.reduce(0) { $0 + (world.broker.logs[$1]?.records.count ?? 0) }
        return Outcome(
            violation: world.violation, stepCount: world.stepCount, recordCount: records,
            digest: (world.stepCount &* 31 &+ world.transactionCount) &* 31 &+ world.outputCount,
            timeline: world.timeline)
    }

    private func look(_ world: World) {
        world.note("the oracle looks")
        do { try Oracle.check(world) } catch { world.violate("I3", "the store cannot be read: \(error)") }
    }

    private func carryOut(_ world: World) {
        var choice = world.random.number(below: Self.weights.reduce(0) { $0 + $1.1 })
        for (action, weight) in Self.weights {
            choice -= weight
            if choice < 0 { return carryOut(action, world) }
        }
    }

    private func carryOut(_ action: Action, _ world: World) {
        let process = world.processes[world.random.number(below: world.processes.count)]
        let partition = world.random.number(below: world.broker.inputs.count)
        switch action {
        case .produce:
            let count = 1 + world.random.number(below: 170)
            world.note("produces \(count) records to partition \(partition)")
            world.produce(count, to: partition)
        case .pass: world.pass(seconds: Double(1 + world.random.number(below: 400)) / 1000)
        case .passLong: world.pass(seconds: Double(5 + world.random.number(below: 12)))
        case .killBetween: process.kill()
        case .killWithin:
            process.callsUntilKill = world.random.number(below: 60)
            world.pass(seconds: 0.2)
        case .stop: process.stop()
        case .stall:
            world.note(process, "is not scheduled")
            process.stall()
        case .wake:
            world.note("all go on")
            for process in world.processes { process.wake() }
        case .failStore: failStore(world)
        case .failStoreLong: failStoreLong(world)
        case .loseCommit:
            for store in chosenStores(world) {
                store.faults.append(.init(call: .committed, code: .disconnected, count: 1))
            }
        case .refuseDeliveries:
            world.note("the broker refuses deliveries")
            world.broker.refusedDeliveries = 1 + world.random.number(below: 5)
        case .loseAcknowledgements:
            world.note("the broker loses acknowledgements")
            world.broker.lostAcknowledgements = 1 + world.random.number(below: 3)
        case .silence: silence(world)
        case .jump: world.jump(seconds: Double(world.random.number(below: 120) - 60))
        case .skew: process.clockOffset = Int64(world.random.number(below: 4_000_000)) - 2_000_000
        case .age: world.age(partition)
        case .loseOutput: if setup.losesOutputs { world.loseOutput() }
        case .loseInput: if world.losesInputs { world.loseInput(partition) }
        case .retry:
            let worker = chosenWorker(process)
            (worker?.store ?? world.stores[0]).retryCount += 1
            worker?.submit(.retryDeadLetters(DeadLetterSelection()))
        case .purge:
            let worker = chosenWorker(process)
            let last = (worker?.store ?? world.stores[0]).history.last?.token ?? 0
            let token = world.random.number(below: 1 + Int(last))
            worker?.submit(.purgeHistory(HistoryPurge(before: .token(Int64(token)))))
        }
    }

    private func chosenWorker(_ process: SimulatedProcess) -> SimulatedWorker? {
        let workers = process.workers
        return workers.count < 2 ? workers.first : workers[process.world.random.number(below: workers.count)]
    }

    /// All stores, or one of several.
    private func chosenStores(_ world: World) -> [SimulatedStore] {
        if world.stores.count == 1 || world.random.number(below: 3) == 0 { return world.stores }
        return [world.stores[world.random.number(below: world.stores.count)]]
    }

    private func silence(_ world: World) {
        let seconds = Double(1 + world.random.number(below: 14))
        world.note("the broker is silent for \(Int(seconds)) s")
        world.broker.beSilent(from: world.seconds, until: world.seconds + seconds)
    }

    private func failStoreLong(_ world: World) {
        let seconds = Double(1 + world.random.number(below: 14))
        for store in chosenStores(world) {
            world.note("\(store.name) refuses for \(Int(seconds)) s")
            store.refusesUntilSeconds = world.seconds + seconds
        }
    }

    private func failStore(_ world: World) {
        let call: MemoryCall = [.begin, .commit, .read][world.random.number(below: 3)]
        let codes: [StoreError.Code] = call == .commit ? [.full, .disconnected, .busy] : [.busy, .disconnected]
        let code = codes[world.random.number(below: codes.count)]
        let count = 1 + world.random.number(below: 4)
        for store in chosenStores(world) {
            world.note("\(store.name) fails: \(code.rawValue) at \(call)")
            store.faults.append(.init(call: call, code: code, count: count))
        }
    }

    // MARK: Reports

    /// Finds the fewest actions with which a life still fails, and returns its report; nil where it does not fail.
    package func report() -> String? {
        let smallest = Shrinking.smallest(actions) { run($0).violation }
        guard let (steps, violation) = smallest else { return nil }
        let timeline = run(steps, keepsTimeline: true).timeline
        let isEach = setup.configuration.hasStoreForEachPartition
        let shape =
            "\(setup.processCount) \(isEach ? "processes" : "workers"), \(setup.partitionCount) partitions, "
            + "\(setup.broadcastCount) of a broadcast topic, writers \(setup.configuration.store.writers), "
            + "\(setup.isCooperative ? "cooperative" : "eager") rebalances, chunks of \(setup.configuration.chunk.maxOperations)"
        return "seed \(seed): \(violation)\n\(shape); \(steps.count) of \(actions.count) actions\n"
            + timeline.map { "  \($0)\n" }.joined()
    }
}
