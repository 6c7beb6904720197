import Foundation
import KafkaClient
import ObjectGraph
import TestSupport
import Testing

@testable import IngestCore

/// A topic read into a second store, against a broker inside the process.
extension WorkerRuntimeTests {
    @Suite(.serialized, .timeLimit(.minutes(60))) struct TopicReplayTests {
        private let harness: WorkerHarness

        init() throws {
            harness = try WorkerHarness(partitions: 2)
            harness.configuration.chunk.maxOperations = 10
        }

        private func fill(_ count: Int, round: Int = 0, partition: Int = 0) throws {
            try harness.send(
                (0..<count).map { WorkerHarness.message("\(round)-\(partition)-\($0)", chat: "c\(partition)") },
                partition: Int32(partition))
        }

        /// Replays into a store of the harness's folder.
        @discardableResult
        private func replay(
            _ name: String, _ request: TopicReplayRequest = TopicReplayRequest(topic: "events"),
            stoppingAfter count: Int = .max, betweenBatches: @escaping (IngestPipeline) -> Void = { _ in }
        ) throws -> [TopicReplay.PartitionResult] {
            let store = try Store.open(path: path(name), model: WorkerHarness.model)
            let writer = try WriterContext(store: store)
            defer {
                try? writer.close()
                try? store.close()
            }
            let pipeline = IngestPipeline(
                writer: writer, configuration: harness.configuration, logger: .silent)
            let replay = TopicReplay(
                pipeline: pipeline, configuration: harness.configuration, logger: .silent,
                isStopping: {
                    betweenBatches(pipeline)
                    return pipeline.summary.records >= count
                })
            return try replay.replay(request)
        }

        private func path(_ name: String) -> String { harness.folder.appending(path: name).path }

        private func dump(_ path: String) throws -> String {
            let store = try Store.openForReading(path: path, model: WorkerHarness.model)
            defer { try? store.close() }
            var text = ""
            try store.read { try $0.canonicalDump { text += $0 } }
            return String(text.split(separator: "\npositions", maxSplits: 1).first ?? "")
        }

        private func read<Result>(_ name: String, _ body: (ReadContext) throws -> Result) throws -> Result {
            let store = try Store.openForReading(path: path(name), model: WorkerHarness.model)
            defer { try? store.close() }
            return try store.read(body)
        }

        private func positions(_ name: String) throws -> [Int64] {
            try read(name) { try $0.positions() }.filter { $0.topic == "events" }.sorted { $0.partition < $1.partition }
                .map(\.nextOffset)
        }

        @Test func `a partition that has nothing to be read goes on at its end`() throws {
            try fill(20)
            try fill(5, partition: 1)
            try replay("a.sqlite", TopicReplayRequest(topic: "events", start: .offset(10)))
            #expect(try positions("a.sqlite") == [20, 5])
            // The store goes on from there, whatever each partition has.
            try fill(3, round: 1, partition: 1)
            let refused = #expect(throws: TopicReplayError.self) {
                try replay("a.sqlite", TopicReplayRequest(topic: "events", start: .offset(21)))
            }
            #expect(refused?.code == .missing)
            let rest = try replay("a.sqlite", TopicReplayRequest(topic: "events", start: .stored))
            #expect(rest.map(\.from) == [20, 5] && rest.map(\.records) == [0, 3])
            #expect(try positions("a.sqlite") == [20, 8])
            #expect(try read("a.sqlite") { try $0.count(FetchRequest("Message")) } == 13)
        }

        @Test func `a replay of the topic brings the worker's store, dead letters included`() async throws {
            try fill(60)
            try fill(40, partition: 1)
            try harness.send(["{", "{\"bad\":1}"])
            try harness.start()
            try await harness.waitForPosition(62)
            try await harness.waitForPosition(40, partition: 1)
            try await harness.stop()
            let results = try replay("second.sqlite")
            #expect(results.map(\.records) == [62, 40])
            #expect(try dump(path("second.sqlite")) == dump(harness.storePath))
            #expect(
                try read("second.sqlite") { try $0.deadLetters().map(\.code) }
                    == harness.read {
                        try $0.deadLetters().map(\.code)
                    })
            // It has neither joined the group nor committed for it.
            let admin = try Admin(configuration: ["bootstrap.servers": harness.broker.bootstrapServers])
            let both = [TopicPartition("events", 0), TopicPartition("events", 1)]
            #expect(
                try admin.committedOffsets(group: "group", partitions: both) == [both[0]: 62, both[1]: 40])
        }

        @Test func `a run that was stopped goes on and a finished one changes nothing`() throws {
            try fill(100)
            #expect(try replay("a.sqlite", stoppingAfter: 35)[0].records < 100)
            let reached = try positions("a.sqlite")[0]
            #expect((35..<100).contains(reached))
            let rest = try replay("a.sqlite")
            #expect(rest[0].from == reached && rest[0].records == 100 - Int(reached))
            let token = try read("a.sqlite") { try $0.lastToken() }
            #expect(try replay("a.sqlite").map(\.records) == [0, 0])
            #expect(try read("a.sqlite") { try $0.lastToken() } == token)
            // What has come since is read by the next run.
            try fill(5, round: 1)
            #expect(try replay("a.sqlite")[0].records == 5)
            #expect(try read("a.sqlite") { try $0.count(FetchRequest("Message")) } == 105)
        }

        @Test func `a replay ends at the asked offset`() throws {
            try fill(100)
            let part = TopicReplayRequest(topic: "events", start: .offset(20), end: 30)
            #expect(try replay("b.sqlite", part)[0].records == 10)
            #expect(try read("b.sqlite") { try $0.fetch(FetchRequest("Message")) }.count == 10)
            // The same start with a later end goes on.
            #expect(try replay("b.sqlite", TopicReplayRequest(topic: "events", start: .offset(20)))[0].records == 70)
        }

        /// Replays ten batches of records, which the client fetches one by one, and cuts the connection once after some.
        private func replayWithALostConnection(
            _ name: String, whileDown change: @escaping (IngestPipeline) throws -> Void = { _ in }
        ) throws -> [TopicReplay.PartitionResult] {
            for round in 0..<10 { try fill(10, round: round) }
            harness.configuration.kafka.properties = KafkaProperties([
                "bootstrap.servers": harness.broker.bootstrapServers, "group.id": "group",
                "queued.min.messages": "1", "queued.max.messages.kbytes": "1",
            ])
            var failure: (any Error)?
            var (isCut, isBack) = (false, false)
            var seen = (records: 0, polls: 0)
            let result = try replay(name) { pipeline in
                let records = pipeline.summary.records
                if isBack || records < 20 { return }
                do {
                    if !isCut { try harness.broker.setDown() }
                    isCut = true
                    // What the client had fetched before comes still; ten polls that bring nothing take a second.
                    seen = records == seen.records ? (records, seen.polls + 1) : (records, 0)
                    if seen.polls < 10 { return }
                    try pipeline.finish()
                    try change(pipeline)
                    isBack = true
                    try harness.broker.setUp()
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
            #expect(isBack)
            return result
        }

        @Test func `after a lost connection it goes on with the same log`() throws {
            #expect(try replayWithALostConnection("a.sqlite").map(\.records) == [100, 0])
            #expect(try positions("a.sqlite") == [100])
            try replay("b.sqlite")
            #expect(try dump(path("a.sqlite")) == dump(path("b.sqlite")))
        }

        /// The broker of this process cannot exchange its log; a store that took other records is in the same position.
        @Test func `after a lost connection another log is known`() throws {
            let error = #expect(throws: TopicReplayError.self) {
                try replayWithALostConnection("a.sqlite") { pipeline in
                    let position = try #require(
                        try pipeline.writer.store.read { try $0.positions() }.first { $0.topic == "events" })
                    _ = try pipeline.writer.apply(
                        WriterContext.Chunk(
                            events: [],
                            positions: [
                                SourcePosition(
                                    topic: "events", partition: 0, nextOffset: position.nextOffset, detail: "1-1")
                            ]))
                    try pipeline.writer.commit()
                }
            }
            #expect(error?.code == .gone)
            #expect(error?.description.contains("is not the one that the store took last") == true)
        }

        @Test func `a store that the worker wrote is refused`() async throws {
            try fill(30)
            try harness.start()
            try await harness.waitForPosition(30)
            // While the worker runs, its lease is in the way.
            let leased = #expect(throws: StoreError.self) { try replay("store.sqlite") }
            #expect(leased?.code == .leased)
            try await harness.stop()
            let error = #expect(throws: TopicReplayError.self) { try replay("store.sqlite") }
            #expect(error?.code == .positioned)
            let next = TopicReplayRequest(topic: "events", start: .offset(30))
            #expect(try replay("store.sqlite", next)[0].records == 0)
        }

        @Test func `another start is no resumption`() throws {
            try fill(50)
            try replay("c.sqlite", TopicReplayRequest(topic: "events", start: .offset(10)))
            let error = #expect(throws: TopicReplayError.self) { try replay("c.sqlite") }
            #expect(error?.code == .positioned)
        }

        @Test func `chosen partitions limit it`() throws {
            try fill(10)
            try fill(20, partition: 1)
            harness.configuration.kafka.partitions = .share(index: 1, count: 2)
            #expect(try replay("d.sqlite").map(\.partition) == [TopicPartition("events", 1)])
            harness.configuration.kafka.partitions = PartitionSelection("1,9")
            #expect(throws: TopicReplayError.self) { try replay("e.sqlite") }
        }

        @Test func `topics that nobody knows are refused`() throws {
            let unknown = #expect(throws: TopicReplayError.self) {
                try replay("f.sqlite", TopicReplayRequest(topic: "other"))
            }
            #expect(unknown?.code == .unconfigured)
            harness.configuration.topics.append(TopicConfiguration(name: "absent"))
            let missing = #expect(throws: TopicReplayError.self) {
                try replay("f.sqlite", TopicReplayRequest(topic: "absent"))
            }
            #expect(missing?.code == .missing)
        }
    }
}
