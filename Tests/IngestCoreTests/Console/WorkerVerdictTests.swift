import KafkaClient
import Testing

@testable import IngestCore
@testable import Operations

@Suite struct WorkerVerdictTests {
    private static let sound = ["startup", "store", "loop", "broker", "group", "partitions", "shutdown"].map {
        HealthCheck($0)
    }

    private func verdict(
        failing name: String? = nil, _ reason: String = "why", rate: Double? = nil, lag: Int? = nil,
        lagSeconds: Double? = nil, deadLetters: Int = 0, share: Double? = nil, hasOnlyFaults: Bool = false
    ) -> WorkerVerdict {
        let checks = Self.sound.filter { $0.name != name } + (name.map { [HealthCheck($0, failure: reason)] } ?? [])
        return WorkerVerdict(
            checks,
            WorkerVerdict.Figures(
                recordsPerSecond: rate, lag: lag, lagSeconds: lagSeconds, deadLetters: deadLetters,
                deadLetterShare: share, hasOnlyFaults: hasOnlyFaults))
    }

    private static func fault(_ partition: Int32, topic: String = "t") -> HealthState.PartitionFault {
        HealthState.PartitionFault(partition: TopicPartition(topic, partition), state: .halted, reason: "poison")
    }

    @Test func `held purges degrade the verdict, and are named with their counts and remedy`() {
        var figures = WorkerVerdict.Figures(recordsPerSecond: 5, lag: 0)
        figures.heldPurges = HeldPurges(
            gap: PurgeGuard.Gap(from: 0, to: 2_592_000_000_000), due: [.history: 1240, .tombstones: 1])
        let verdict = WorkerVerdict(Self.sound, figures)
        #expect(verdict.state == .degraded)
        #expect(verdict.sentence.hasPrefix("Running, but purges by age are held: between two commits the clock went"))
        #expect(verdict.attention.map(\.check) == ["purgesHeld"])
        #expect(verdict.attention.first?.reason.contains("1240 transactions, 1 tombstone are too old") == true)
        #expect(verdict.attention.first?.remedy.contains("'ingest-worker history confirm'") == true)
    }

    @Test func `a worker that reads says its rate and its lag`() {
        #expect(verdict(rate: 1240.4, lag: 3800).sentence == "Running, 1,240 records/s, 3,800 records behind.")
        #expect(
            verdict(rate: 1240.4, lag: 3800, lagSeconds: 3.2).sentence
                == "Running, 1,240 records/s, 3,800 records (3 s) behind.")
        #expect(
            verdict(rate: 20, lag: 1, lagSeconds: 90).sentence == "Running, 20 records/s, 1 record (1 min 30 s) behind."
        )
        #expect(verdict(rate: 2.34, lag: 0).sentence == "Running, 2.3 records/s, nothing behind.")
        #expect(verdict(rate: 1_234_567).sentence == "Running, 1,234,567 records/s.")
        #expect(verdict(rate: 5).state == .running)
    }

    @Test func `a worker that has read everything is idle`() {
        #expect(verdict(rate: 0, lag: 0).state == .idle)
        #expect(verdict(rate: 0, lag: 0).sentence == "Running, every record is in the store.")
        #expect(verdict().state == .idle)
        #expect(verdict(rate: 0).sentence == "Running, nothing came in the last seconds.")
        #expect(verdict().sentence == "Running, no rate is known yet.")
        #expect(verdict(rate: 0, lag: 1).state == .running)
    }

    @Test(arguments: ["store", "loop", "broker", "group", "outbox", "deadLetterOutbox", "halted"])
    func `a check without which nothing is read stops the worker and has a remedy`(_ name: String) {
        let found = verdict(failing: name, "the disk is full")
        #expect(found.state == .stopped)
        #expect(found.sentence.hasPrefix("Stopped: "))
        #expect(found.attention.first?.reason == "the disk is full")
        #expect(found.attention.map(\.check) == [name])
        #expect(found.attention.first?.remedy.isEmpty == false)
    }

    @Test func `a group that is lost with the broker needs nobody of its own`() {
        let checks = ["broker", "group"].map { HealthCheck($0, failure: "away") }
        let found = WorkerVerdict(checks, WorkerVerdict.Figures())
        #expect(found.attention.map(\.check) == ["broker"])
    }

    @Test func `the sentence names the reason where a check has many, and the title else`() {
        #expect(
            verdict(failing: "store", "the disk is full.").sentence.hasPrefix(
                "Stopped: the store fails: the disk is full. "))
        #expect(verdict(failing: "broker", "host:1 refused").sentence.hasPrefix("Stopped: no broker answers. "))
    }

    @Test(arguments: ["partitions", "members", "publisher", "deadLetters", "decoding", "verification"])
    func `a check beside the reading only degrades`(_ name: String) {
        #expect(verdict(failing: name).state == .degraded)
    }

    @Test func `a work on the store says how far it is and needs nobody`() {
        let rebuild = verdict(failing: "rebuild", "reading, 43 %, 2 min 5 s left", rate: 10)
        #expect(rebuild.state == .working && rebuild.attention.isEmpty && rebuild.stop == nil)
        #expect(rebuild.sentence == "Rebuilding the store: reading, 43 %, 2 min 5 s left.")
        let migration = WorkerVerdict(
            [HealthCheck("migration", failure: "backing up (3 s so far)")], WorkerVerdict.Figures(deadLetters: 1))
        #expect(migration.state == .working && migration.attention.map(\.check) == ["deadLettersKept"])
        #expect(migration.sentence == "Migrating the store: backing up (3 s so far).")
    }

    @Test(arguments: [("broker", "stopped"), ("partitions", "degraded"), ("startup", "starting")])
    func `a fault during a rebuild is graver than the rebuild`(_ name: String, _ state: String) {
        let checks = [name, "rebuild"].map { HealthCheck($0, failure: "why") }
        let found = WorkerVerdict(checks, WorkerVerdict.Figures())
        #expect(found.state.rawValue == state && !found.attention.contains { $0.check == "rebuild" })
    }

    @Test func `the sentence of a degraded worker names the fault`() {
        let found = verdict(failing: "partitions", "t/0 halted: poison", rate: 10)
        #expect(found.state == .degraded)
        #expect(found.sentence == "Running, but some partitions are not read: t/0 halted: poison.")
    }

    @Test func `a worker none of whose partitions is read has stopped`() {
        let found = verdict(failing: "partitions", "t/0 halted: poison", hasOnlyFaults: true)
        #expect(found.state == .stopped)
        #expect(found.sentence.hasPrefix("Stopped: no partition is read: t/0 halted: poison. Each has its reason"))
        #expect(found.attention.map(\.title) == ["no partition is read"])
        #expect(found.stop == found.attention.first)
        #expect(verdict(failing: "decoding", hasOnlyFaults: true).state == .stopped)
        // Another check tells more.
        let checks = ["broker", "partitions"].map { HealthCheck($0, failure: "why") }
        let away = WorkerVerdict(checks, WorkerVerdict.Figures(hasOnlyFaults: true))
        #expect(away.sentence.hasPrefix("Stopped: no broker answers."))
    }

    /// Faults of a worker with the partitions t/0 and t/1, and whether nothing is read.
    private static let faults: [([HealthState.PartitionFault], Bool)] = [
        ([], false), ([fault(0)], false), ([fault(0), fault(1, topic: "other")], false), ([fault(0), fault(1)], true),
        ([fault(-1)], true),
    ]

    @Test(arguments: faults)
    func `only faults of all assigned partitions leave nothing to read`(
        _ faults: [HealthState.PartitionFault], _ hasOnlyFaults: Bool
    ) {
        let metrics = WorkerMetrics(version: "v", librdkafka: "v", sqlite: "v")
        for number: Int32 in [0, 1] { metrics.setLag(nil, of: TopicPartition("t", number)) }
        let figures = WorkerVerdict.Figures(metrics, faults: faults, recordsPerSecond: nil)
        #expect(figures.hasOnlyFaults == hasOnlyFaults)
    }

    @Test func `the start and the end are no faults`() {
        #expect(verdict(failing: "startup", "opening the store").sentence == "Starting: opening the store.")
        #expect(verdict(failing: "shutdown", "draining").state == .stopping)
        #expect(verdict(failing: "startup").attention.isEmpty)
    }

    @Test func `kept dead letters need a person and stop nothing`() {
        let found = verdict(rate: 10, deadLetters: 1)
        #expect(found.state == .running)
        #expect(found.attention.map(\.title) == ["1 dead letter"])
        #expect(verdict(deadLetters: 1200).attention.map(\.title) == ["1,200 dead letters"])
    }

    @Test func `many dead letters, or a large share of them, degrade the verdict`() {
        #expect(verdict(rate: 10, deadLetters: 99).state == .running)
        let many = verdict(rate: 10, deadLetters: 2018)
        #expect(many.state == .degraded)
        #expect(
            many.sentence == "Running, but 2,018 dead letters: records that could not be applied wait in the store.")
        #expect(verdict(deadLetters: 1, share: 0.009).state == .idle)
        #expect(verdict(deadLetters: 1, share: 0.01).state == .degraded)
        // They were retried or dropped.
        #expect(verdict(deadLetters: 0, share: 1).state == .idle)
        #expect(verdict(failing: "broker", deadLetters: 2018).state == .stopped)
    }

    @Test func `every check that the worker reports has words of its own`() {
        var rules = HealthRules()
        rules.needsDeadLetters = true
        rules.work = .rebuild
        var state = HealthState(rules: rules, at: 0)
        state.apply(.halted(reason: "why"), at: 0)
        state.apply(.partitionsElsewhere(reason: "why"), at: 0)
        state.apply(.decodingFailed(TopicPartition("t", 0), reason: "why"), at: 0)
        for check in state.readiness(at: 0) where check.name != "startup" && check.name != "shutdown" {
            let found = verdict(failing: check.name).attention
            #expect(found.allSatisfy { !$0.title.hasSuffix(" fails") || $0.check == "store" }, "\(check.name)")
        }
    }

    @Test func `the verdict is one object of JSON`() throws {
        let json = verdict(failing: "broker", "a \"quoted\" reason").json
        #expect(json.contains(#""state":"stopped""#) && json.contains(#"a \"quoted\" reason"#))
    }
}
