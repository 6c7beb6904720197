import Foundation
import KafkaClient
import Logging
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import IngestCore
@testable import SQLiteStorage

@Suite struct NotificationPublisherTests {
    /// A sink that keeps what it is given, and fails as often as it is told to.
    private final class CollectingSink: RecordSink {
        struct Refusal: Error {}
        private struct State {
            var kept: [ProducerRecord] = []
            /// The bytes of each call.
            var sizes: [Int] = []
            var failures = 0
        }
        private let state = Mutex(State())

        var notifications: [ChangeNotification] { state.withLock { $0.kept }.notifications }
        var sizes: [Int] { state.withLock { $0.sizes } }
        var tokens: [Int64] { notifications.map(\.token) }
        var failuresLeft: Int { state.withLock { $0.failures } }
        func fail(_ times: Int) { state.withLock { $0.failures = times } }

        func deliver(_ records: [ProducerRecord]) throws {
            try state.withLock { state in
                state.sizes.append(records.reduce(0) { $0 + ($1.value?.count ?? 0) })
                guard state.failures > 0 else { return state.kept += records }
                state.failures -= 1
                // A delivery may fail halfway: some have gone out, and will again.
                state.kept += records.prefix(1)
                throw Refusal()
            }
        }
    }

    private func publisher(
        _ fixture: PipelineFixture, _ sink: CollectingSink, logger: Logger = .silent,
        configuration: NotificationConfiguration = NotificationConfiguration()
    ) throws -> Outbox {
        try .notifications(store: fixture.store, sink: sink, configuration: configuration, logger: logger)
    }

    /// Feeds messages in chunks of one, so that each is a transaction of its own.
    private func fixture(messages: Int) throws -> PipelineFixture {
        let fixture = try PipelineFixture { ($0.chunk.maxOperations, $0.commit.maxRows) = (1, 1) }
        try add(messages: 0..<messages, to: fixture)
        return fixture
    }

    private func add(messages: Range<Int>, to fixture: PipelineFixture) throws {
        for number in messages { try fixture.add(TestRecord(Events.message("m\(number)"), offset: Int64(number))) }
        try fixture.pipeline.finish()
    }

    private var soon: Double { MonotonicClock.seconds() + 60 }

    @Test func `a batch with large values goes out in parts`() throws {
        let fixture = try PipelineFixture()
        let body = String(repeating: "x", count: 9000)
        for number in 0..<1000 {
            try fixture.add(TestRecord(Events.message("m\(number)", body: body), offset: Int64(number)))
        }
        try fixture.pipeline.finish()
        let sink = CollectingSink()
        var configuration = NotificationConfiguration()
        (configuration.granularity, configuration.values) = (.object, true)
        let publisher = try publisher(fixture, sink, configuration: configuration)
        try publisher.drain(untilSeconds: soon)
        #expect(sink.sizes.count > 2 && sink.sizes.allSatisfy { $0 < 5 << 20 })
        #expect(sink.sizes.reduce(0, +) > 9_000_000)
        let places = sink.notifications.compactMap { $0.key?.hasPrefix("Message:") == true ? $0.key : nil }
        #expect(places.count == 1000 && Set(places) == Set((0..<1000).map { "Message:m\($0)" }))
        #expect(publisher.cursor == (try fixture.store.read { try $0.lastToken() }))
    }

    @Test func `delivers everything in order without gaps`() throws {
        let fixture = try fixture(messages: 450)
        let sink = CollectingSink()
        let publisher = try publisher(fixture, sink)
        #expect(publisher.cursor == 0)
        try publisher.drain(untilSeconds: soon)
        #expect(sink.tokens == Array(1...450))
        #expect(publisher.cursor == 450)
        try publisher.saveCursor(fixture.writer)
        #expect(try fixture.store.read { try $0.cursors() } == ["notifications:ingest.changes": 450])
        #expect(publisher.takeCursor() == nil)
    }

    @Test func `a huge transaction is delivered page by page`() throws {
        let fixture = try PipelineFixture { $0.chunk.maxOperations = 100_000 }
        try add(messages: 0..<12_000, to: fixture)
        let sink = CollectingSink()
        let publisher = try publisher(fixture, sink)
        try publisher.drain(untilSeconds: soon)
        #expect(publisher.cursor == 1)
        let values = sink.notifications.compactMap(\.value)
        #expect(values.count >= 3 && Set(sink.tokens) == [1])
        for (index, value) in values.enumerated() {
            #expect(value.contains("\"part\":\(index + 1),\"last\":\(index == values.count - 1),"))
        }
        // The messages and their chat.
        #expect(values.reduce(0) { $0 + $1.ranges(of: "\"change\":").count } == 12_001)
    }

    @Test func `nothing is sent of a store that has taken the place of this one`() throws {
        let fixture = try fixture(messages: 3)
        let sink = CollectingSink()
        let publisher = try publisher(fixture, sink)
        // As a rebuild in PostgreSQL does to the schema of a worker that is still there.
        try fixture.writer.write("replace the store") {
            try $0.run("UPDATE _metadata SET value = 'another' WHERE key = 'storeID'")
        }
        let error = #expect(throws: StoreError.self) { try publisher.drain(untilSeconds: soon) }
        #expect(error?.code == .fenced)
        #expect(sink.tokens == [] && publisher.cursor == 0)
    }

    /// A sink whose first batch waits, as one of a process that is suspended.
    private final class SuspendedSink: RecordSink {
        private let topic: CollectingSink
        private let isWaiting = Atomic<Bool>(true)
        let reached = DispatchSemaphore(value: 0)
        let resumed = DispatchSemaphore(value: 0)

        init(_ topic: CollectingSink) { self.topic = topic }

        func deliver(_ records: [ProducerRecord]) throws {
            if isWaiting.exchange(false, ordering: .acquiringAndReleasing) {
                reached.signal()
                resumed.wait()
            }
            try topic.deliver(records)
        }
    }

    @Test(arguments: [true, false])
    func `one that stood still repeats behind newer ones, and skips none`(_ hasNoticed: Bool) throws {
        let fixture = try fixture(messages: 3)
        let topic = CollectingSink()
        let suspended = SuspendedSink(topic)
        let former = try Outbox.notifications(
            store: fixture.store, sink: suspended, configuration: NotificationConfiguration(), logger: .silent)
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            _ = try? former.deliverNext()
            ended.signal()
        }
        suspended.reached.wait()
        let next = try Outbox.notifications(
            store: fixture.store, sink: topic, configuration: NotificationConfiguration(), logger: .silent,
            isActive: false)
        try next.activate()
        try add(messages: 3..<6, to: fixture)
        try next.drain(untilSeconds: soon)
        try next.saveCursor(fixture.writer)
        if hasNoticed { try former.deactivate() }
        suspended.resumed.signal()
        ended.wait()
        #expect(topic.tokens == [1, 2, 3, 4, 5, 6, 1, 2, 3])
        try former.saveCursor(fixture.writer)
        if !hasNoticed { try former.deactivate() }
        // Where the cursor went back, the next one repeats; none is skipped.
        let cursor = try #require(try fixture.store.read { try $0.cursors() }["notifications:ingest.changes"])
        #expect(cursor == (hasNoticed ? 6 : 3))
        let third = try publisher(fixture, topic)
        try third.drain(untilSeconds: soon)
        #expect(Array(topic.tokens.dropFirst(9)) == Array(cursor..<6).map { $0 + 1 })
    }

    @Test func `goes on where the store's cursor stands`() throws {
        let fixture = try fixture(messages: 5)
        let first = try publisher(fixture, CollectingSink())
        try first.drain(untilSeconds: soon)
        try first.saveCursor(fixture.writer)
        try add(messages: 5..<8, to: fixture)
        let sink = CollectingSink()
        let next = try publisher(fixture, sink)
        #expect(next.cursor == 5)
        try next.drain(untilSeconds: soon)
        #expect(sink.tokens == [6, 7, 8])
    }

    @Test func `a cursor that was not saved repeats with the same tokens`() throws {
        let fixture = try fixture(messages: 3)
        let sink = CollectingSink()
        try publisher(fixture, sink).drain(untilSeconds: soon)
        try publisher(fixture, sink).drain(untilSeconds: soon)
        #expect(sink.tokens == [1, 2, 3, 1, 2, 3])
    }

    @Test func `a failed delivery is repeated whole`() throws {
        let fixture = try fixture(messages: 3)
        let sink = CollectingSink()
        let publisher = try publisher(fixture, sink)
        sink.fail(1)
        #expect(throws: CollectingSink.Refusal.self) { try publisher.drain(untilSeconds: soon) }
        #expect(publisher.cursor == 0 && publisher.takeCursor() == nil)
        try publisher.drain(untilSeconds: soon)
        #expect(sink.tokens == [1, 1, 2, 3])
        #expect(publisher.cursor == 3)
    }

    @Test func `draining ends at its deadline`() throws {
        let sink = CollectingSink()
        try publisher(fixture(messages: 3), sink).drain(untilSeconds: MonotonicClock.seconds() - 1)
        #expect(sink.tokens.isEmpty)
    }

    @Test func `nothing uncommitted is notified`() throws {
        let fixture = try fixture(messages: 1)
        let event = try fixture.decoder.event(TestRecord(Events.message("m1"), offset: 1))
        _ = try fixture.writer.apply(WriterContext.Chunk(events: [event]))
        let sink = CollectingSink()
        try publisher(fixture, sink).drain(untilSeconds: soon)
        #expect(sink.tokens == [1])
        try fixture.writer.rollback()
    }

    @Test func `a purge beyond the cursor is said and passed`() throws {
        let fixture = try fixture(messages: 5)
        let lines = LogLines()
        let sink = CollectingSink()
        let publisher = try publisher(fixture, sink, logger: lines.logger)
        _ = try fixture.writer.purgeHistory(before: .max, limit: 3)
        try publisher.drain(untilSeconds: soon)
        #expect(sink.tokens == [4, 5])
        #expect(publisher.cursor == 5)
        #expect(lines.all.count == 1)
        #expect(lines.all.first?.contains("history was purged before it was notified after=0 through=3") == true)
    }

    @Test func `a new reader begins after the purge`() throws {
        let fixture = try fixture(messages: 5)
        _ = try fixture.writer.purgeHistory(before: .max, limit: 3)
        let sink = CollectingSink()
        let publisher = try publisher(fixture, sink)
        #expect(publisher.cursor == 3)
        try publisher.drain(untilSeconds: soon)
        #expect(sink.tokens == [4, 5])
    }

    @Test func `waits wakes and survives failures`() throws {
        let fixture = try fixture(messages: 0)
        let sink = CollectingSink()
        let publisher = try publisher(fixture, sink)
        Thread.detachNewThread { try? publisher.run() }
        defer { publisher.requestStop() }
        try add(messages: 0..<2, to: fixture)
        publisher.committed(0)
        try wait(for: "two notifications") { publisher.cursor == 2 }
        sink.fail(2)
        try add(messages: 2..<4, to: fixture)
        publisher.committed(0)
        try wait(for: "two more") { publisher.cursor == 4 }
        #expect(sink.failuresLeft == 0)
        #expect(sink.tokens.prefix(2) == [1, 2] && sink.tokens.suffix(1) == [4])
    }

    // MARK: Per object

    @Test func `present values come with objects`() throws {
        let fixture = try PipelineFixture()
        try fixture.feed(
            Events.records([
                Events.event("chat.created", "{\"id\":\"c1\",\"title\":\"Work\"}"),
                Events.event("member.created", "{\"id\":\"u1\"}"),
                Events.event("member.deleted", "{\"id\":\"u1\"}"),
            ]))
        var configuration = NotificationConfiguration()
        (configuration.granularity, configuration.values) = (.object, true)
        let sink = CollectingSink()
        let publisher = try Outbox.notifications(
            store: fixture.store, sink: sink, configuration: configuration, logger: .silent)
        try publisher.drain(untilSeconds: soon)
        let values = try sink.notifications.filter { $0.value != nil }.compactMap { try Reading($0).data["values"] }
        try #require(values.count == 1)
        #expect(values[0].contains("\"title\":\"Work\"") && values[0].contains("\"messagesCount\":0"))
    }
}
