import KafkaClient
import Metrics
import MetricsTestKit
import Testing

@testable import IngestCore

/// A program's backend of swift-metrics gets the worker's metrics.
@Suite struct MetricsFacadeTests {
    private let backend = TestMetrics()

    private func metrics() -> WorkerMetrics {
        withMetricsFactory(backend) { WorkerMetrics(version: "1", librdkafka: "2", sqlite: "3") }
    }

    @Test func `each kind of metric has its name, its labels and its values`() throws {
        let metrics = metrics()
        metrics.records.increment(by: 3)
        metrics.records.increment()
        metrics.operations.with("Message", "upsert").increment(by: 2)
        metrics.historyToken.set(41)
        metrics.commitDuration.observe(0.25)
        metrics.latency.whole.observe(86_400)
        metrics.chunkOperations.observe(500)
        #expect(try backend.expectCounter("ingest_records_total").values == [3, 1])
        let labels = [("entity", "Message"), ("verb", "upsert")]
        #expect(try backend.expectCounter("ingest_operations_total", labels).values == [2])
        #expect(try backend.expectMeter("ingest_history_token").values == [41])
        #expect(try backend.expectTimer("ingest_commit_duration_seconds").values == [250_000_000])
        #expect(try backend.expectTimer("ingest_record_to_notification_seconds").values == [86_400_000_000_000])
        let operations = try backend.expectRecorder("ingest_chunk_operations")
        #expect(operations.values == [500] && operations.aggregate)
        // The page of Prometheus has the same numbers.
        #expect(metrics.records.value == 4 && metrics.registry.render().contains("ingest_history_token 41\n"))
    }

    @Test func `each metric without labels is known from the start`() {
        let declarations = metrics().registry.declarations.filter {
            $0.labels.isEmpty && !$0.name.hasPrefix("process_")
        }
        let known = Set(
            backend.counters.map(\.label) + backend.meters.map(\.label) + backend.timers.map(\.label)
                + backend.recorders.map(\.label))
        #expect(declarations.count > 30)
        for declaration in declarations { #expect(known.contains(declaration.name), "\(declaration.name)") }
    }

    @Test func `a series that ends leaves the backend, and one that is not known has no value`() throws {
        let metrics = metrics()
        let partition = [("topic", "t"), ("partition", "0")]
        metrics.setLag(PartitionLag.Measure(records: 7, seconds: 2), of: TopicPartition("t", 0))
        metrics.setLag(nil, of: TopicPartition("t", 0))
        #expect(try backend.expectMeter("kafka_consumer_lag", partition).values == [7])
        metrics.consumerLag.remove("t", "0")
        #expect(throws: (any Error).self) { try backend.expectMeter("kafka_consumer_lag", partition) }

        metrics.deadLettersKept.replace([("decode.type", 2), ("json.utf8", 1)])
        metrics.deadLettersKept.replace([("decode.type", 3)])
        #expect(try backend.expectMeter("ingest_dead_letters_kept", [("code", "decode.type")]).values == [2, 3])
        #expect(throws: (any Error).self) {
            try backend.expectMeter("ingest_dead_letters_kept", [("code", "json.utf8")])
        }
    }

    @Test func `the checks follow when they are published`() throws {
        let registry = withMetricsFactory(backend) {
            let registry = MetricsRegistry()
            HealthMonitor().register(in: registry)
            return registry
        }
        registry.publish()
        #expect(registry.isPublished && !MetricsRegistry().isPublished)
        #expect(try backend.expectMeter("ingest_check_failed", [("check", "store")]).values == [1])
        #expect(try backend.expectMeter("ingest_check_failed", [("check", "shutdown")]).values == [0])
    }
}
