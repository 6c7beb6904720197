import KafkaClient
import ObjectGraph
import Testing

@testable import IngestCore
@testable import Operations

@Suite struct LatencyMetricsTests {
    private let metrics = WorkerMetrics(version: "1", librdkafka: "2", sqlite: "3")
    private var latency: LatencyMetrics { metrics.latency }

    private static func seconds(_ number: Int64) -> Int64 { number * 1_000_000 }

    private func counts() -> [Int] {
        [latency.read, latency.commit, latency.notification, latency.whole].map { $0.snapshot.cumulative.last ?? -1 }
    }

    private func sums() -> [Double] {
        [latency.read, latency.commit, latency.notification, latency.whole].map(\.snapshot.sum)
    }

    @Test func `a transaction counts once in each part, and in the whole`() {
        latency.committed(recordTime: Self.seconds(10), readTime: Self.seconds(12), token: 1, at: Self.seconds(13))
        #expect(sums() == [2, 1, 0, 0])
        latency.notified([(token: 1, time: Self.seconds(13))], at: Self.seconds(18))
        #expect(sums() == [2, 1, 5, 8])
        #expect(counts() == [1, 1, 1, 1])
    }

    @Test func `a record without a timestamp has no beginning`() {
        latency.committed(recordTime: nil, readTime: Self.seconds(12), token: 1, at: Self.seconds(13))
        latency.notified([(token: 1, time: Self.seconds(13))], at: Self.seconds(14))
        #expect(counts() == [0, 1, 1, 0])
    }

    @Test func `a clock that is ahead counts as no time`() {
        latency.committed(recordTime: Self.seconds(20), readTime: Self.seconds(12), token: 1, at: Self.seconds(13))
        latency.notified([(token: 1, time: Self.seconds(13))], at: Self.seconds(14))
        #expect(sums() == [0, 1, 1, 0])
        #expect(counts() == [1, 1, 1, 1])
    }

    @Test func `a transaction that another worker has notified is not measured late`() {
        for token in Int64(1)...3 {
            latency.committed(recordTime: 0, readTime: 0, token: token, at: Self.seconds(token))
        }
        latency.notified([(token: 3, time: Self.seconds(3))], at: Self.seconds(4))
        #expect(counts() == [3, 3, 1, 1])
        latency.notified([(token: 4, time: Self.seconds(4))], at: Self.seconds(5))
        #expect(counts() == [3, 3, 2, 1])
    }

    @Test func `the number of remembered transactions is bounded`() {
        for token in Int64(1)...20_000 { latency.committed(recordTime: 0, readTime: 0, token: token, at: 0) }
        latency.notified([(token: 1, time: 0), (token: 20_000, time: 0)], at: 0)
        let measured = counts()[3]
        #expect(measured > 4000 && measured <= 8192)
    }

    @Test func `the pipeline and the outbox measure what they do`() throws {
        let fixture = try PipelineFixture(metrics: metrics)
        var record = TestRecord(Events.message("m1"), offset: 0)
        record.timestampMilliseconds = WriterContext.systemTime() / 1000 - 60_000
        try fixture.add(record)
        try fixture.pipeline.finish()
        #expect(counts() == [1, 1, 0, 0])
        let outbox = try Outbox.notifications(
            store: fixture.store, sink: Sink(), configuration: NotificationConfiguration(), metrics: metrics,
            logger: .silent)
        #expect(try outbox.deliverNext() == 1)
        #expect(counts() == [1, 1, 1, 1])
        #expect(sums()[0] >= 60 && sums()[3] >= sums()[0])
        // The same again changes nothing, so that nothing is notified.
        record.offset = 1
        try fixture.add(record)
        try fixture.pipeline.finish()
        #expect(try outbox.deliverNext() == 0)
        #expect(counts() == [2, 2, 1, 1])
    }

    @Test(arguments: [Int64.max, .min, 0]) func `a timestamp beyond all time does no harm`(_ time: Int64) throws {
        let fixture = try PipelineFixture(metrics: metrics)
        var record = TestRecord(Events.message("m1"), offset: 0)
        record.timestampMilliseconds = time
        try fixture.add(record)
        try fixture.pipeline.finish()
        #expect(counts() == [time == 0 ? 1 : 0, 1, 0, 0])
        latency.notified([(token: 1, time: .min)], at: .max)
        #expect(counts()[2] == 1)
    }

    private struct Sink: RecordSink {
        func deliver(_ records: [ProducerRecord]) throws {}
    }

    @Test func `each counter and histogram exists from the start`() {
        let text = metrics.registry.render()
        for stage in ["decode", "apply"] { #expect(text.contains("ingest_dead_letters_total{stage=\"\(stage)\"} 0\n")) }
        for part in ["record_to_read", "read_to_commit", "commit_to_notification", "record_to_notification"] {
            #expect(text.contains("ingest_\(part)_seconds_bucket{le=\"+Inf\"} 0\n"))
            #expect(text.contains("ingest_\(part)_seconds_count 0\n"))
        }
        let types = text.matches(of: /# TYPE (\w+) (counter|histogram)\n(.*)/)
        #expect(types.count > 15)
        // A counter by entity begins with the model.
        for type in types where !["ingest_operations_total", "ingest_objects_deleted_total"].contains(type.1) {
            #expect(type.3.hasPrefix(type.1), "\(type.1) has no sample")
        }
    }

    @Test func `a gauge without a number shows no sample`() {
        let lag = metrics.consumerLag.with("t", "0")
        lag.set(5)
        metrics.consumerLag.with("t", "1").set(2)
        #expect(metrics.lag == 7)
        let place = TopicPartition("t", 1)
        metrics.setLag(PartitionLag.Measure(records: 2, seconds: nil), of: place)
        #expect(metrics.lag == 7 && metrics.lagSeconds == nil)
        metrics.setLag(PartitionLag.Measure(records: 2, seconds: 4.5), of: place)
        #expect(metrics.lagSeconds == 4.5)
        #expect(metrics.registry.render().contains("kafka_consumer_lag_seconds{topic=\"t\",partition=\"1\"} 4.5\n"))
        metrics.setLag(PartitionLag.Measure(records: 2, seconds: nil), of: place)
        #expect(!metrics.registry.render().contains("kafka_consumer_lag_seconds{"))
        lag.set(.nan)
        #expect(metrics.lag == nil)
        let text = metrics.registry.render()
        #expect(!text.contains("kafka_consumer_lag{topic=\"t\",partition=\"0\"}"))
        #expect(text.contains("kafka_consumer_lag{topic=\"t\",partition=\"1\"} 2\n"))
    }

    // MARK: Dead letters

    @Test func `kept dead letters are counted by code`() async throws {
        let fixture = try PipelineFixture()
        let census = DeadLetterCensus(fixture.store, metrics.deadLettersKept, now: { 0 })
        for offset in Int64(0)..<3 { try fixture.add(TestRecord("no event", offset: offset)) }
        try fixture.add(TestRecord(Events.event("unknown.created", "{}"), offset: 3))
        try fixture.pipeline.finish()
        await census.refresh()
        #expect(metrics.deadLettersKept.all.map(\.number) == [3, 1])
        #expect(metrics.registry.render().contains("ingest_dead_letters_kept{code=\"decode."))
    }

    @Test func `codes beyond the limit share a series`() {
        let groups = (1...25).map { (code: "c\($0)", count: $0) } + [(code: "c25", count: 1)]
        let counts = DeadLetterCensus.byCode(groups)
        #expect(counts.count == DeadLetterCensus.maximumCodes + 1)
        #expect(counts.first?.value == "c25" && counts.first?.number == 26)
        #expect(counts.last?.value == "other" && counts.last?.number == 15)
    }

    @Test func `counting takes at most a fiftieth of the time`() {
        var schedule = CountingSchedule()
        #expect(schedule.isDue(at: 0))
        schedule.counted(from: 0, to: 0.01)
        #expect(!schedule.isDue(at: 10) && schedule.isDue(at: 10.01))
        schedule.counted(from: 20, to: 24)
        #expect(!schedule.isDue(at: 223) && schedule.isDue(at: 224))
    }
}
