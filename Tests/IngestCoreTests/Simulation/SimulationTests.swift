import Foundation
import IngestCore
import KafkaClient
import ObjectGraph
import Testing

@testable import Simulation

/// The simulation of whole workers; `make simulate` lives through thousands.
@Suite struct SimulationTests {
    @Test(arguments: [Life.Kind.workers, .stores])
    func `a few lives end clean, and an equal seed gives an equal life`(kind: Life.Kind) throws {
        let model = try SimulatedModel.chat()
        let first = UInt64.random(in: 0...UInt64(UInt32.max))
        for seed in first..<first + 5 {
            let life = Life(seed: seed, model: model, kind: kind)
            let outcome = life.run(life.actions, keepsTimeline: true)
            #expect(outcome.violation == nil, "\(life.report() ?? "")")
            #expect(outcome.recordCount > 0 && outcome.stepCount > 0)
            #expect(life.run(life.actions, keepsTimeline: true).timeline == outcome.timeline, "seed \(seed)")
        }
    }

    @Test func `a night goes on behind its last whole line`() throws {
        let path = NSTemporaryDirectory() + "/night-\(UUID().uuidString).txt"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var night = Night(path: path)
        #expect(night.nextSeed == nil)
        try night.add(Tally(lives: 500, steps: 9, records: 7, seconds: 1.5), from: 40, isFailed: false)
        try night.add(Tally(lives: 3, steps: 2, records: 1, seconds: 0.5), from: 540, isFailed: true)
        try (String(contentsOfFile: path, encoding: .utf8) + "lived 543 500 1 1").write(
            toFile: path, atomically: true, encoding: .utf8)
        let next = Night(path: path)
        #expect(next.nextSeed == 543 && next.failedSeeds == [542])
        #expect(next.tally == Tally(lives: 503, steps: 11, records: 8, seconds: 2))
        #expect(next.tally == night.tally)
    }

    /// A world of one worker with a store for itself, and small chunks.
    private func world(_ change: (inout WorkerConfiguration) -> Void = { _ in }) throws -> World {
        var setup = Setup(seed: 1)
        (setup.partitionCount, setup.processCount) = (1, 1)
        setup.configuration.store.writers = .one
        setup.configuration.chunk.maxOperations = 3
        change(&setup.configuration)
        return World(setup, model: try SimulatedModel.chat(), keepsTimeline: false)
    }

    @Test func `killed at each call that it makes, a worker leaves the oracle's store in its next life`() throws {
        try expectSoundLives(killedEvery: 1) {
            let world = try world()
            world.produce(10, to: 0)
            return world
        }
    }

    /// Kills the first process at one call after the other, each in a world of its own, until it makes no more calls.
    private func expectSoundLives(killedEvery step: Int, _ makeWorld: () throws -> World) throws {
        var call = 0
        var wasKilled = true
        while wasKilled {
            let world = try makeWorld()
            world.processes[0].callsUntilKill = call
            world.pass(seconds: 1)
            wasKilled = world.processes[0].killCount > 0
            Peace(world).come()
            #expect(world.violation == nil, "killed at call \(call): \(world.violation?.description ?? "")")
            call += step
        }
        #expect(call > 30)
    }

    /// A world of processes with a store for each of three partitions, and a topic that each store reads whole.
    private func worldOfStores(_ processCount: Int) throws -> World {
        let setups = (1...).lazy.map { Setup(seed: $0, kind: .stores) }
        var setup = try #require(setups.first { $0.broadcastCount == 1 && $0.configuration.topics.count == 2 })
        (setup.partitionCount, setup.processCount) = (3, processCount)
        return World(setup, model: try SimulatedModel.chat(), keepsTimeline: false)
    }

    @Test func `killed at each call that it makes, a process leaves the oracle's stores in its next life`() throws {
        try expectSoundLives(killedEvery: 7) {
            let world = try worldOfStores(1)
            for partition in world.broker.inputs.indices { world.produce(5, to: partition) }
            return world
        }
    }

    @Test func `a partition that moves has one open store, and each store all of the broadcast topic`() throws {
        let world = try worldOfStores(2)
        for partition in world.broker.inputs.indices { world.produce(20, to: partition) }
        world.isCalm = true
        world.pass(seconds: 2)
        let open = { world.processes.map { $0.workers.filter(\.isOpen).compactMap(\.store.partition).sorted() } }
        #expect(open() == [[0, 2], [1]])
        world.processes[1].stop()
        world.pass(seconds: 0.4)
        #expect(open() == [[0, 1, 2], []])
        let end = world.broker.high(TopicPartition(SimulatedBroker.broadcast, 0))
        #expect(world.stores.allSatisfy { $0.positions[TopicPartition(SimulatedBroker.broadcast, 0)] == end })
        Peace(world).come()
        #expect(world.violation == nil)
    }

    @Test func `a request is served between two rounds`() throws {
        let world = try world()
        world.produce(60, to: 0)
        world.pass(seconds: 1)
        let letters = try world.stores[0].read { try $0.deadLetterCount() }
        #expect(letters > 0)
        let ticket = try #require(world.processes[0].workers[0].submit(.dropDeadLetters(DeadLetterSelection())))
        world.pass(seconds: 1)
        guard case .result(.dropped(letters))? = ticket.takeAnswers().answers.last else {
            return #expect(Bool(false), "no answer")
        }
        #expect(try world.stores[0].read { try $0.deadLetterCount() } == 0)
    }

    @Test func `history goes at its age by the clock that is handed in`() throws {
        let world = try world { $0.history.purgeEveryMinutes = 1 }
        world.produce(20, to: 0)
        world.pass(seconds: 1)
        let last = try world.stores[0].read { try $0.lastToken() }
        #expect(try last > 0 && world.stores[0].read { try $0.purgedToken() } == 0)
        for _ in 0..<8 {
            world.jump(seconds: 86_400)
            world.produce(1, to: 0)
            world.pass(seconds: 61)
        }
        #expect(try world.stores[0].read { try $0.purgedToken() } >= last)
    }

    /// Lets the members act until none has a task, and returns the tasks in order.
    private func settle(_ group: inout SimulatedGroup, _ owned: inout [Int: Set<TopicPartition>]) -> [String] {
        var told: [String] = []
        for _ in 0..<10 {
            for id in owned.keys.sorted() {
                switch group.nextTask(of: id, owned: (owned[id] ?? []).sorted(), at: 0) {
                case .revoke(let gone):
                    owned[id]?.subtract(gone)
                    told.append("\(id) gives up \(gone.count)")
                case .take(let new):
                    owned[id]?.formUnion(new)
                    told.append("\(id) takes \(new.count)")
                case .lose:
                    owned[id] = []
                    told.append("\(id) loses all")
                case nil: break
                }
            }
        }
        return told
    }

    @Test(arguments: [false, true]) func `a group gives each partition to one member`(isCooperative: Bool) {
        let partitions = (0..<4).map { TopicPartition("t", $0) }
        var group = SimulatedGroup(partitions: partitions, isCooperative: isCooperative)
        var owned: [Int: Set<TopicPartition>] = [0: []]
        group.join(0, at: 0)
        #expect(settle(&group, &owned) == ["0 takes 4"])
        owned[1] = []
        group.join(1, at: 0)
        let told = settle(&group, &owned)
        #expect(told.contains(isCooperative ? "0 gives up 2" : "0 gives up 4"))
        #expect(owned.values.map(\.count) == [2, 2])
        #expect(Set(owned.values.flatMap { $0 }) == Set(partitions))
        #expect(group.isSettled)
        // A silent member's place is given away, and the member learns of it when it comes back.
        group.hear(0, at: 20)
        group.expire(at: 20)
        let former = owned[1] ?? []
        owned[1] = nil
        _ = settle(&group, &owned)
        #expect(owned[0]?.count == 4)
        owned[1] = former
        #expect(settle(&group, &owned).contains("1 loses all"))
        #expect(owned.values.map(\.count) == [2, 2])
    }
}
