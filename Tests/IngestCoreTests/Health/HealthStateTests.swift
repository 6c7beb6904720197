import KafkaClient
import MemoryStorage
import ObjectGraph
import Synchronization
import Testing

@testable import IngestCore

@Suite("HealthState")
struct HealthStateTests {
    private static func ready(at time: Double = 0) -> HealthState {
        var state = HealthState(at: time)
        for event in [HealthEvent.started, .storeOK, .brokerReachable, .groupJoined, .publisherOK, .heartbeat] {
            state.apply(event, at: time)
        }
        return state
    }

    private static func failures(_ checks: [HealthCheck]) -> [String: String] {
        Dictionary(uniqueKeysWithValues: checks.filter { !$0.isOK }.map { ($0.name, $0.reason ?? "") })
    }

    @Test
    func `a new worker is alive and not ready, and says what it is at`() {
        var state = HealthState(at: 0)
        state.apply(.starting(step: "migrating the store"), at: 0)
        #expect(state.liveness(at: 10_000).allSatisfy { $0.isOK })
        #expect(
            Self.failures(state.readiness(at: 0)) == [
                "startup": "migrating the store", "store": "not opened yet", "broker": "not connected yet",
                "group": "not joined yet",
            ])
    }

    @Test
    func `an answer about readiness looks at the store itself`() {
        let monitor = HealthMonitor(now: { 0 })
        for event in [HealthEvent.started, .storeOK] { monitor.report(event) }
        func reason() -> String? { monitor.readiness().first { $0.name == "store" }?.reason }
        #expect(reason() == nil)
        monitor.watchStore { "the store was removed" }
        #expect(reason() == "the store was removed")
    }

    @Test
    func `a join that takes long says how long, and for whose place it may wait`() {
        var rules = HealthRules()
        rules.sessionTimeoutSeconds = 30
        var state = HealthState(rules: rules, at: 0)
        state.apply(.started, at: 5)
        #expect(Self.failures(state.readiness(at: 15))["group"] == "not joined yet")
        #expect(
            Self.failures(state.readiness(at: 17))["group"]
                == "not joined for 12 s; a member that was killed keeps its place until the session timeout, 30 s "
                + "(kafka.session.timeout.ms)")
        state.apply(.groupJoined, at: 18)
        #expect(Self.failures(state.readiness(at: 60))["group"] == nil)
    }

    @Test
    func `a worker that has everything is ready`() {
        #expect(Self.ready().readiness(at: 4).allSatisfy { $0.isOK })
    }

    @Test(arguments: [
        (HealthEvent.storeFailed(reason: "disk full"), HealthEvent.storeOK, "store"),
        (.brokerUnreachable(reason: "refused"), .brokerReachable, "broker"),
        (.groupLost(reason: "left"), .groupJoined, "group"),
        (.publisherFailing(reason: "timed out"), .publisherOK, "publisher"),
        (
            .partitionHalted(TopicPartition("t", 3), reason: "position lost"),
            .partitionReleased(TopicPartition("t", 3)), "partitions"
        ),
        (.starting(step: "again"), .started, "startup"),
    ])
    func `each failure alone makes it not ready at once, never dead, and its repair ready again`(
        event: HealthEvent, repair: HealthEvent, name: String
    ) {
        var state = Self.ready()
        state.apply(event, at: 1)
        #expect(Array(Self.failures(state.readiness(at: 1)).keys) == [name])
        #expect(state.liveness(at: 1).allSatisfy { $0.isOK })
        state.apply(repair, at: 2)
        #expect(state.readiness(at: 2).allSatisfy { $0.isOK })
    }

    @Test
    func `health reports a position in doubt within five seconds, and a halted partition at once`() {
        var state = Self.ready()
        func reason(at time: Double) -> String? { Self.failures(state.readiness(at: time))["partitions"] }
        func wait(at time: Double) {
            state.apply(.partitionWaiting(TopicPartition("t", 3), reason: "no answer"), at: time)
            state.apply(.heartbeat, at: time)
        }
        wait(at: 1)
        #expect(reason(at: 5) == nil)
        // Who waits already does not begin anew.
        wait(at: 5)
        #expect(reason(at: 5.1) == "t/3 waits: no answer")
        state.apply(.partitionReleased(TopicPartition("t", 3)), at: 6)
        #expect(reason(at: 100) == nil)
        wait(at: 101)
        state.apply(.partitionHalted(TopicPartition("t", 3), reason: "position lost"), at: 101)
        #expect(reason(at: 101) == "t/3 halted: position lost")
        #expect(reason(at: 200) == "t/3 halted: position lost")
        state.apply(.partitionReleased(TopicPartition("t", 3)), at: 201)
        #expect(reason(at: 300) == nil)
    }

    @Test
    func `health reports a stalled partition until something comes of it`() {
        var state = Self.ready()
        func reason(at time: Double) -> String? { Self.failures(state.readiness(at: time))["partitions"] }
        state.apply(.partitionSilent(TopicPartition("t", 3), reason: "4 offsets"), at: 1)
        #expect(reason(at: 1) == "t/3 is stalled: 4 offsets")
        // Another doubt about it is another matter.
        state.apply(.partitionHalted(TopicPartition("t", 3), reason: "position lost"), at: 2)
        #expect(reason(at: 2) == "t/3 halted: position lost")
        state.apply(.partitionReleased(TopicPartition("t", 3)), at: 3)
        #expect(reason(at: 3) == "t/3 is stalled: 4 offsets")
        state.apply(.partitionHeard(TopicPartition("t", 3)), at: 4)
        #expect(reason(at: 4) == nil)
    }

    @Test
    func `health reports each partition whose records cannot be decoded, in a check of its own`() {
        var state = Self.ready()
        for partition: Int32 in [2, 1] {
            state.apply(.decodingFailed(TopicPartition("t", partition), reason: "no schema"), at: 1)
        }
        #expect(Self.failures(state.readiness(at: 1)) == ["decoding": "t/1 waits: no schema; t/2 waits: no schema"])
        state.apply(.partitionHalted(TopicPartition("t", 1), reason: "position lost"), at: 1)
        #expect(state.partitionFaults(at: 1).map(\.state) == [.halted, .waiting])
        state.apply(.partitionReleased(TopicPartition("t", 1)), at: 2)
        state.apply(.decodingOK(TopicPartition("t", 1)), at: 2)
        #expect(state.partitionFaults(at: 2).map(\.partition) == [TopicPartition("t", 2)])
        state.apply(.decodingOK(TopicPartition("t", 2)), at: 3)
        #expect(state.readiness(at: 3).allSatisfy { $0.isOK && $0.name != "decoding" })
    }

    @Test
    func `silence of the loop: first not ready, then not alive`() {
        var state = Self.ready()
        #expect(state.readiness(at: 5).allSatisfy { $0.isOK })
        #expect(Self.failures(state.readiness(at: 5.1)) == ["loop": "no heartbeat for 5 seconds"])
        #expect(state.liveness(at: 30).allSatisfy { $0.isOK })
        #expect(Self.failures(state.liveness(at: 31)) == ["loop": "no heartbeat for 31 seconds"])
        state.apply(.heartbeat, at: 32)
        #expect(state.readiness(at: 33).allSatisfy { $0.isOK })
        #expect(state.liveness(at: 33).allSatisfy { $0.isOK })
    }

    @Test
    func `partitions that were taken back and not given again fail after a while, and none at all is an answer`() {
        var state = Self.ready()
        state.apply(.heartbeat, at: 10)
        state.apply(.groupWaiting(reason: "waiting"), at: 10)
        #expect(state.readiness(at: 13).allSatisfy { $0.isOK })
        state.apply(.groupWaiting(reason: "waiting"), at: 13)
        #expect(Self.failures(state.readiness(at: 14.1)) == ["group": "waiting"])
        state.apply(.groupJoined, at: 14.2)
        #expect(state.readiness(at: 14.3).allSatisfy { $0.isOK })
    }

    @Test
    func `a delivery that does not end fails before its wait is over, and the next step has its own time`() {
        var rules = HealthRules()
        rules.needsDeadLetters = true
        var state = HealthState(rules: rules, at: 0)
        for event in [HealthEvent.started, .storeOK, .brokerReachable, .groupJoined] { state.apply(event, at: 0) }
        for event in [HealthEvent.publisherDelivering, .deadLettersDelivering] { state.apply(event, at: 0) }
        #expect(state.readiness(at: 4).allSatisfy { $0.isOK })
        #expect(Set(Self.failures(state.readiness(at: 4.5)).keys) == ["publisher", "deadLetters"])
        state.apply(.publisherDelivering, at: 4.5)
        state.apply(.deadLettersOK, at: 4.5)
        #expect(state.readiness(at: 4.9).allSatisfy { $0.isOK })
        state.apply(.publisherFailing(reason: "refused"), at: 4.9)
        state.apply(.publisherDelivering, at: 4.9)
        #expect(Self.failures(state.readiness(at: 4.9)) == ["publisher": "refused"])
    }

    @Test
    func `a heartbeat that comes late from another thread does not turn time back`() {
        var state = Self.ready(at: 10)
        state.apply(.heartbeat, at: 3)
        #expect(state.readiness(at: 12).allSatisfy { $0.isOK })
    }

    @Test
    func `work that proceeds in the store keeps the worker alive`() throws {
        let clock = ClockBox()
        let health = HealthMonitor { clock.now }
        let store = Store.inMemoryTables(model: try TestModels.chat())
        let writer = try WriterContext(store: store, options: WorkerConfiguration().writerOptions(health))
        health.report(.started)
        clock.advance(by: 31)
        #expect(Self.failures(health.liveness()) == ["loop": "no heartbeat for 31 seconds"])
        let chat = try #require(store.model.entity(named: "Chat"))
        let operation = ObjectOperation(.upsert, entity: chat.index, identity: .text("c"))
        try writer.apply(WriterContext.Chunk(events: [ChangeSet(operation)])).check()
        #expect(health.liveness().allSatisfy { $0.isOK })
    }

    @Test
    func `a draining worker is alive and not ready`() {
        var state = Self.ready()
        state.apply(.draining, at: 1)
        #expect(Self.failures(state.readiness(at: 1)) == ["shutdown": "draining"])
        #expect(state.liveness(at: 1).allSatisfy { $0.isOK })
    }

    @Test
    func `every halted partition is named, in order, up to a bound`() {
        var state = Self.ready()
        for partition: Int32 in (0..<7).reversed() {
            state.apply(.partitionHalted(TopicPartition("t", partition), reason: "r"), at: 1)
        }
        #expect(
            Self.failures(state.readiness(at: 1))["partitions"]
                == "t/0 halted: r; t/1 halted: r; t/2 halted: r; t/3 halted: r; t/4 halted: r; and 2 more")
    }

    @Test
    func `dead letters that cannot be delivered count where they have a topic`() {
        var rules = HealthRules()
        rules.needsDeadLetters = true
        var state = HealthState(rules: rules, at: 0)
        state.apply(.deadLettersFailing(reason: "no topic"), at: 0)
        #expect(Self.failures(state.readiness(at: 0))["deadLetters"] == "no topic")
        state.apply(.deadLettersOK, at: 0)
        #expect(Self.failures(state.readiness(at: 0))["deadLetters"] == nil)
        // A delivery that is slow, and never fails, reaches the limit too.
        state.apply(.deadLettersFull(reason: "10 wait"), at: 0)
        #expect(Self.failures(state.readiness(at: 0))["deadLetterOutbox"] == "10 wait")
        state.apply(.deadLettersHaveRoom, at: 0)
        #expect(Self.failures(state.readiness(at: 0))["deadLetterOutbox"] == nil)
    }

    @Test
    func `health reports the cause of the worker's end`() {
        var state = Self.ready()
        #expect(!state.readiness(at: 0).contains { $0.name == "halted" })
        state.apply(.halted(reason: "a bad record"), at: 0)
        state.apply(.storeOK, at: 0)
        #expect(Self.failures(state.readiness(at: 0)) == ["halted": "a bad record"])
    }

    @Test
    func `a replay needs neither broker nor publisher`() {
        var rules = HealthRules()
        rules.needsBroker = false
        rules.needsPublisher = false
        var state = HealthState(rules: rules, at: 0)
        state.apply(.started, at: 0)
        state.apply(.storeOK, at: 0)
        #expect(state.readiness(at: 0).map(\.name) == ["startup", "store", "loop", "shutdown"])
        #expect(state.readiness(at: 0).allSatisfy { $0.isOK })
    }

    @Test
    func `the monitor uses its clock`() {
        let clock = ClockBox()
        let monitor = HealthMonitor(now: { clock.now })
        monitor.report(.started)
        clock.advance(by: 29)
        #expect(monitor.liveness().allSatisfy { $0.isOK })
        #expect(monitor.readiness().contains { $0.name == "loop" && !$0.isOK })
        clock.advance(by: 2)
        #expect(!monitor.liveness().allSatisfy { $0.isOK })
        #expect(MonotonicClock.seconds() >= 0)
    }

    // MARK: Work on the store

    @Test
    func `a migration is alive, and not ready until it ends`() {
        var rules = HealthRules()
        rules.work = .migration
        var state = HealthState(rules: rules, at: 0)
        #expect(state.readiness(at: 0) == [HealthCheck("migration", failure: "beginning (0 s so far)")])
        state.apply(.working(ProgressMeter.Step("copying", count: 0, noun: "row", share: 0)), at: 10)
        state.apply(.working(ProgressMeter.Step("copying", count: 43, noun: "row", share: 0.43)), at: 53)
        #expect(state.readiness(at: 53) == [HealthCheck("migration", failure: "copying, 43 %, 57 s left")])
        #expect(state.work(at: 53) == StoreWork(kind: .migration, phrase: "copying, 43 %, 57 s left", share: 0.43))
        state.apply(.working(ProgressMeter.Step("making indexes and derived values")), at: 100)
        #expect(state.work(at: 175)?.phrase == "making indexes and derived values (1 min 15 s so far)")
        #expect(state.work(at: 175)?.share == nil)
        #expect(state.liveness(at: 10_000).allSatisfy { $0.isOK })
    }

    @Test
    func `a rebuild fails a check of its own beside those of the worker`() {
        var rules = HealthRules()
        rules.work = .rebuild
        var state = HealthState(rules: rules, at: 0)
        for event in [HealthEvent.started, .storeOK, .brokerReachable, .groupJoined, .publisherOK, .heartbeat] {
            state.apply(event, at: 0)
        }
        state.apply(.working(ProgressMeter.Step("reading", count: 0, noun: "record", share: 0)), at: 0)
        state.apply(.working(ProgressMeter.Step("reading", count: 10, noun: "record", share: 0.25)), at: 4)
        #expect(Self.failures(state.readiness(at: 4)) == ["rebuild": "reading, 25 %, 12 s left"])
        #expect(HealthState(at: 0).work(at: 0) == nil)
    }
}

private final class ClockBox: Sendable {
    private let time = Mutex(0.0)
    var now: Double { time.withLock { $0 } }
    func advance(by seconds: Double) { time.withLock { $0 += seconds } }
}
