import Foundation
import KafkaClient
import Testing

@testable import IngestCore
@testable import Operations

@Suite("Metrics")
struct MetricsTests {
    @Test
    func `text is sorted, typed and escaped`() {
        let registry = MetricsRegistry()
        let family = registry.add(Counters("b_total", "A back\\slash and\na line.", labels: ["entity", "verb"]))
        family.with("Message", "upsert").increment(by: 3)
        family.with("A\"b\\c\nd", "delete").increment()
        registry.add(Gauge("a_gauge", "A gauge.")).set(1.5)
        registry.add(ComputedMetric("c_none", "Nothing.", .gauge) { nil })
        #expect(
            registry.render() == """
                # HELP a_gauge A gauge.
                # TYPE a_gauge gauge
                a_gauge 1.5
                # HELP b_total A back\\\\slash and\\na line.
                # TYPE b_total counter
                b_total{entity="A\\"b\\\\c\\nd",verb="delete"} 1
                b_total{entity="Message",verb="upsert"} 3
                # HELP c_none Nothing.
                # TYPE c_none gauge

                """)
    }

    @Test
    func `a histogram's buckets are cumulative and end with infinity`() {
        let registry = MetricsRegistry()
        let histogram = registry.add(Histogram("h_seconds", "H.", bounds: [0.5, 0.1]))
        for value in [0.05, 0.1, 0.2, 7, .nan, .infinity] { histogram.observe(value) }
        #expect(
            registry.render() == """
                # HELP h_seconds H.
                # TYPE h_seconds histogram
                h_seconds_bucket{le="0.1"} 2
                h_seconds_bucket{le="0.5"} 3
                h_seconds_bucket{le="+Inf"} 4
                h_seconds_sum 7.35
                h_seconds_count 4

                """)
    }

    @Test(
        arguments: [
            (0, "0"), (-3, "-3"), (1e15, "1000000000000000"), (0.25, "0.25"), (.infinity, "+Inf"), (-.infinity, "-Inf"),
            (.nan, "NaN"), (1e300, "1e+300"),
        ] as [(Double, String)])
    func `a number is written as Prometheus reads it`(value: Double, text: String) {
        #expect(PrometheusText.number(value) == text)
    }

    @Test
    func `updates from many tasks are all counted`() async {
        let registry = MetricsRegistry()
        let family = registry.add(Counters("x_total", "X.", labels: ["task"]))
        let histogram = registry.add(Histogram("y", "Y.", bounds: [10]))
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    let counter = family.with(String(task % 2))
                    for number in 0..<5_000 {
                        counter.increment()
                        if number % 100 == 0 {
                            histogram.observe(1)
                            _ = registry.render()
                        }
                    }
                }
            }
        }
        #expect(family.with("0").value == 20_000)
        #expect(family.with("1").value == 20_000)
        #expect(histogram.snapshot.cumulative == [400, 400])
    }

    @Test
    func `the number of series is bounded, and a series can be removed`() {
        let registry = MetricsRegistry()
        let family = registry.add(Gauges("g", "G.", labels: ["topic", "partition"], maximumSeries: 2))
        for number in 0..<100 { family.with("t", String(number)).set(number) }
        #expect(registry.render().split(separator: "\n").count == 2 + 3)
        #expect(registry.render().contains("g{topic=\"other\",partition=\"other\"} 99"))
        family.remove("t", "0")
        #expect(!registry.render().contains("partition=\"0\""))
        family.with("t", "7").set(7)
        #expect(registry.render().contains("g{topic=\"t\",partition=\"7\"} 7"))
    }

    @Test
    func `each partition of thousands has a lag of its own`() {
        let metrics = WorkerMetrics(version: "1.2.3", librdkafka: "2.0.2", sqlite: "3.40.1")
        for number: Int32 in 0..<3_000 {
            metrics.setLag(PartitionLag.Measure(records: 1, seconds: 2), of: TopicPartition("t", number))
        }
        #expect(metrics.lag == 3_000 && metrics.lagSeconds == 2)
        #expect(!metrics.registry.render().contains("topic=\"other\""))
    }

    private static func registry() -> MetricsRegistry {
        let metrics = WorkerMetrics(version: "1.2.3", librdkafka: "2.0.2", sqlite: "3.40.1")
        HealthMonitor().register(in: metrics.registry)
        metrics.operations.with("Message", "upsert").increment(by: 2)
        metrics.consumerLag.with("chat-events", "0").set(12)
        return metrics.registry
    }

    private static func text(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test func `each metric has a help, a type and its samples`() throws {
        let registry = Self.registry()
        let text = registry.render()
        for name in registry.declarations.map(\.name) {
            #expect(text.contains("# HELP \(name) "))
            #expect(text.split(separator: "\n").filter { $0.hasPrefix("# TYPE \(name) ") }.count == 1)
        }
        #expect(text.contains("ingest_operations_total{entity=\"Message\",verb=\"upsert\"} 2\n"))
        #expect(text.contains("kafka_consumer_lag{topic=\"chat-events\",partition=\"0\"} 12\n"))
        #expect(text.contains("ingest_check_failed{check=\"store\"} 1\n"))
        #expect(text.contains("ingest_check_failed{check=\"shutdown\"} 0\n"))
        #expect(text.contains("ingest_build_info{version=\"1.2.3\",librdkafka=\"2.0.2\",sqlite=\"3.40.1\"} 1\n"))
        #expect(try #require(ProcessMetrics.residentMemoryBytes) > 1_000_000)
        #expect(try #require(ProcessMetrics.startTimeSeconds) > 1_600_000_000)
        #expect(try #require(ProcessMetrics.processorSeconds) > 0)
    }

    @Test func `a name ends with the unit, and that of a counter with total`() {
        for metric in Self.registry().declarations {
            #expect(metric.name.hasSuffix("_total") == (metric.kind == .counter), "\(metric.name)")
            #expect(metric.text.hasSuffix("."), "\(metric.name)")
        }
    }

    /// A metric's line in the table of the page.
    private static func line(_ metric: MetricDeclaration) -> String {
        let labels = metric.labels.isEmpty ? "" : "{\(metric.labels.joined(separator: ","))}"
        return "| `\(metric.name)\(labels)` | \(metric.kind.rawValue) | \(metric.text) |"
    }

    @Test func `the page has the line of each metric, and no other`() throws {
        let page = try Self.text("docs/reference/metrics.md")
        let lines = Set(page.matches(of: /(?m)^\| `[^|]+` \| (?:counter|gauge|histogram) \| .*$/).map { String($0.0) })
        let expected = Set(Self.registry().declarations.map(Self.line))
        for line in expected.subtracting(lines).sorted() { Issue.record("metrics.md lacks the line: \(line)") }
        for line in lines.subtracting(expected).sorted() { Issue.record("no metric has the line: \(line)") }
    }

    @Test(arguments: ["deploy/prometheus/alerts.yaml", "deploy/grafana/dashboard.json"])
    func `alerts and dashboard name metrics and labels that the worker has`(_ path: String) throws {
        let metrics = Dictionary(uniqueKeysWithValues: Self.registry().declarations.map { ($0.name, $0.labels) })
        let text = try Self.text(path)
        // Prometheus itself adds the first two, a histogram's buckets have the third, and a process with several stores
        // adds the last.
        let added: Set = ["instance", "job", "le", "store"]
        let used = text.matches(of: /\b((?:ingest|kafka|process)_[a-z_]+)\b(?:\{([^}]*)\})?/)
        #expect(used.count > 10)
        for use in used {
            let (name, labels) = (String(use.1), use.2 ?? "")
            let family = name.replacing(/_(bucket|sum|count)$/, with: "")
            let known = try #require(metrics[name] ?? metrics[family], "\(name)")
            for label in labels.matches(of: /(\w+)(?:=|!)/).map({ String($0.1) }) {
                #expect(added.contains(label) || known.contains(label), "\(use.0)")
            }
        }
        let all = added.union(metrics.values.joined())
        for list in text.matches(of: /\b(?:by|on) \(([\w, ]+)\)/) {
            for label in list.1.split(separator: ", ") { #expect(all.contains(String(label)), "\(list.0)") }
        }
    }

    @Test func `each alert links to a section of the page`() throws {
        let page = try Self.text("docs/how-to/alerts.md")
        let sections = Set(page.matches(of: /(?m)^## (Ingest\w+)$/).map { String($0.1) })
        let alerts = try Self.text("deploy/prometheus/alerts.yaml")
        let names = alerts.matches(of: /- alert: (\w+)/).map { String($0.1) }
        #expect(sections == Set(names))
        let links = alerts.matches(of: /runbook_url: https:\S+\/docs\/how-to\/alerts\.md#(\w+)/).map { String($0.1) }
        #expect(links == names.map { $0.lowercased() })
    }
}
