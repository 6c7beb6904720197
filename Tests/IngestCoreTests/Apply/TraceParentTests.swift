import InMemoryTracing
import KafkaClient
import ObjectGraph
import Testing

@testable import IngestCore

@Suite struct TraceParentTests {
    private static let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    private static let other = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"

    @Test(arguments: [
        trace, other, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff",
    ])
    func `a valid context is kept as it is`(_ text: String) {
        #expect(TraceParent.read(Array(text.utf8)) == text)
    }

    @Test(arguments: ["", "-later-field"])
    func `a later version is kept as the first one`(_ rest: String) {
        let later = "cc" + Self.trace.dropFirst(2) + rest
        #expect(TraceParent.read(Array(later.utf8)) == Self.trace)
    }

    @Test(arguments: [
        "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more",
        "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e47\"6-00f067aa0ba902b7-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
    ])
    func `a context that is not valid is none`(_ text: String) {
        #expect(TraceParent.read(Array(text.utf8)) == nil)
    }

    private static func record(_ event: String, _ offset: Int64, _ trace: String?) -> TestRecord {
        var record = TestRecord(event, offset: offset)
        record.headers = [RecordHeader("other", [1])]
        if let trace { record.headers.append(RecordHeader("traceparent", [UInt8](trace.utf8))) }
        return record
    }

    @Test func `a transaction has the context of its first event's record`() throws {
        let fixture = try PipelineFixture()
        // The first record is a dead letter: the transaction begins with the second one.
        try fixture.add(Self.record("no event", 0, Self.other))
        try fixture.add(Self.record(Events.message("m1"), 1, Self.trace))
        try fixture.add(Self.record(Events.message("m2"), 2, Self.other))
        try fixture.pipeline.finish()
        try fixture.add(Self.record(Events.message("m3"), 3, "00-broken"))
        try fixture.pipeline.finish()
        let transactions = try fixture.store.history().transactions
        #expect(transactions.map(\.trace) == [Self.trace, nil])
        #expect(transactions.map(\.source) == ["events/0@1", "events/0@3"])
        #expect(try fixture.store.read { try $0.historyTransactions() }.transactions.map(\.trace) == [Self.trace, nil])
    }

    @Test(arguments: NotificationConfiguration.Granularity.allCases)
    func `notifications carry the context`(_ granularity: NotificationConfiguration.Granularity) throws {
        let fixture = try PipelineFixture()
        try fixture.add(Self.record(Events.message("m1"), 0, Self.trace))
        try fixture.pipeline.finish()
        try fixture.add(Self.record(Events.message("m2"), 1, nil))
        try fixture.pipeline.finish()
        var configuration = NotificationConfiguration()
        configuration.granularity = granularity
        let builder = NotificationBuilder(
            configuration: configuration, storeIdentity: "s", model: fixture.store.model)
        let transactions = try fixture.store.history().transactions
        let with = try builder.notifications(for: transactions[0])
        let without = try builder.notifications(for: transactions[1])
        #expect(!with.isEmpty && !without.isEmpty)
        for notification in with {
            #expect(notification.value?.contains(#","traceparent":"\#(Self.trace)","#) == true)
            let headers = notification.record(topic: "n").headers
            #expect(headers.contains(RecordHeader("traceparent", [UInt8](Self.trace.utf8))))
        }
        for notification in without {
            #expect(notification.value?.contains("traceparent") == false)
            #expect(notification.record(topic: "n").headers.map(\.name) == ["content-type"])
        }
    }

    // MARK: Spans

    private static func carriers(_ tracer: InMemoryTracer) -> [[String: String]] {
        tracer.performedContextExtractions.compactMap { $0.carrier as? [String: String] }
    }

    @Test func `a chunk has a span whose parent comes from its record`() throws {
        let tracer = InMemoryTracer()
        let fixture = try PipelineFixture(tracing: WorkerTracing(tracer))
        try fixture.add(Self.record(Events.message("m1"), 0, Self.trace))
        try fixture.add(Self.record(Events.message("m2"), 1, nil))
        #expect(tracer.finishedSpans.isEmpty)
        try fixture.pipeline.finish()
        try fixture.add(Self.record(Events.message("m3"), 2, nil))
        try fixture.pipeline.finish()
        #expect(tracer.finishedSpans.map(\.operationName) == ["ingest chunk", "ingest chunk"])
        #expect(tracer.activeSpans.isEmpty)
        #expect(Self.carriers(tracer) == [["traceparent": Self.trace]])
    }

    @Test func `a failed work ends its span with the error`() throws {
        struct Failure: Error {}
        let tracer = InMemoryTracer()
        #expect(throws: Failure.self) {
            try WorkerTracing(tracer).span("chunk", ofKind: .consumer, of: []) { _ in throw Failure() }
        }
        let span = try #require(tracer.finishedSpans.first)
        #expect(span.errors.count == 1)
        #expect(span.status?.code == .error)
    }

    @Test func `a batch of notifications has a span that links its transactions`() throws {
        let tracer = InMemoryTracer()
        let fixture = try PipelineFixture()
        for (offset, trace) in [Self.trace, nil, Self.other].enumerated() {
            try fixture.add(Self.record(Events.message("m\(offset)"), Int64(offset), trace))
            try fixture.pipeline.finish()
        }
        let outbox = try Outbox.notifications(
            store: fixture.store, sink: SilentSink(), configuration: NotificationConfiguration(), logger: .silent,
            tracing: WorkerTracing(tracer))
        #expect(try outbox.deliverNext() == 3)
        #expect(try outbox.deliverNext() == 0)
        let span = try #require(tracer.finishedSpans.first)
        #expect(tracer.finishedSpans.count == 1)
        #expect(span.operationName == "ingest notifications")
        #expect(span.links.count == 1)
        #expect(Self.carriers(tracer) == [["traceparent": Self.trace], ["traceparent": Self.other]])
    }

    private struct SilentSink: RecordSink {
        func deliver(_ records: [ProducerRecord]) throws {}
    }
}
