import Synchronization

/// Holds the metrics and writes them as Prometheus text (exposition format 0.0.4).
package final class MetricsRegistry: Sendable {
    /// The value of the `Content-Type` header for ``render()``.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private struct Family: Sendable {
        let name: String
        let help: String
        let type: String
        let write: @Sendable (inout PrometheusText) -> Void
    }

    private let maximumSeries: Int
    private let families = Mutex<[Family]>([])

    /// Creates an empty registry; a metric may have `maximumSeries` series.
    package init(maximumSeries: Int = 1_000) {
        self.maximumSeries = maximumSeries
    }

    /// Registers a counter without labels; its name ends in `_total`.
    package func counter(_ name: String, _ help: String) -> Counter {
        counters(name, help, labels: []).with()
    }

    /// Registers a counter with labels; its name ends in `_total`.
    package func counters(_ name: String, _ help: String, labels: [String]) -> MetricFamily<Counter> {
        let family = MetricFamily(labels: labels, maximumSeries: maximumSeries) { Counter() }
        add(name, help, "counter") { text in
            for (values, counter) in family.sorted {
                text.sample(name, labels, values, String(counter.value))
            }
        }
        return family
    }

    /// Registers a gauge without labels.
    package func gauge(_ name: String, _ help: String) -> Gauge {
        gauges(name, help, labels: []).with()
    }

    /// Registers a gauge with labels.
    ///
    /// - Parameter isBounded: Whether the number of series is bounded; not where others read the series themselves.
    package func gauges(
        _ name: String, _ help: String, labels: [String], isBounded: Bool = true
    ) -> MetricFamily<Gauge> {
        let family = MetricFamily(labels: labels, maximumSeries: isBounded ? maximumSeries : .max) { Gauge() }
        add(name, help, "gauge") { text in
            for (values, gauge) in family.sorted {
                let number = gauge.value
                if !number.isNaN { text.sample(name, labels, values, PrometheusText.number(number)) }
            }
        }
        return family
    }

    /// Registers a histogram without labels.
    ///
    /// - Parameters:
    ///   - name: The metric's name.
    ///   - help: One sentence on what it counts.
    ///   - bounds: The upper bounds of the buckets, without infinity.
    package func histogram(_ name: String, _ help: String, bounds: [Double]) -> Histogram {
        let histogram = Histogram(bounds: bounds)
        add(name, help, "histogram") { text in
            let (cumulative, sum) = histogram.snapshot
            for (bound, count) in zip(histogram.bounds.map(PrometheusText.number) + ["+Inf"], cumulative) {
                text.sample(name + "_bucket", ["le"], [bound], String(count))
            }
            text.sample(name + "_sum", [], [], PrometheusText.number(sum))
            text.sample(name + "_count", [], [], String(cumulative.last ?? 0))
        }
        return histogram
    }

    /// Registers a gauge, or with `isCounter` a counter, that is read when the metrics are asked for.
    ///
    /// - Parameters:
    ///   - name: The metric's name.
    ///   - help: One sentence on what it shows.
    ///   - isCounter: Whether the value only ever grows.
    ///   - read: The value, or nil when there is none to show.
    package func computed(
        _ name: String, _ help: String, isCounter: Bool = false, read: @escaping @Sendable () -> Double?
    ) {
        add(name, help, isCounter ? "counter" : "gauge") { text in
            guard let value = read() else { return }
            text.sample(name, [], [], PrometheusText.number(value))
        }
    }

    /// Registers a gauge with one label whose series are read when the metrics are asked for.
    package func computed(
        _ name: String, _ help: String, label: String, read: @escaping @Sendable () -> [(value: String, number: Double)]
    ) {
        add(name, help, "gauge") { text in
            for (value, number) in read() { text.sample(name, [label], [value], PrometheusText.number(number)) }
        }
    }

    /// Registers a gauge with one label whose series are replaced together.
    package func snapshot(_ name: String, _ help: String, label: String) -> GaugeSnapshot {
        let snapshot = GaugeSnapshot()
        computed(name, help, label: label) { snapshot.all }
        return snapshot
    }

    /// The names of all metrics, in their order.
    var names: [String] { families.withLock { $0.map(\.name) } }

    /// Writes every metric, sorted by name and labels.
    package func render() -> String {
        var text = PrometheusText()
        for family in families.withLock({ $0 }) {
            text.header(family.name, help: family.help, type: family.type)
            family.write(&text)
        }
        return text.text
    }

    private func add(
        _ name: String, _ help: String, _ type: String, write: @escaping @Sendable (inout PrometheusText) -> Void
    ) {
        families.withLock { families in
            // A name is registered once: two families of one name would make the whole text invalid.
            assert(!families.contains { $0.name == name }, "the metric \(name) is registered twice")
            let place = families.firstIndex { $0.name >= name } ?? families.endIndex
            if place < families.endIndex, families[place].name == name { return }
            families.insert(Family(name: name, help: help, type: type, write: write), at: place)
        }
    }
}

/// Writes Prometheus text.
struct PrometheusText {
    private(set) var text = ""

    mutating func header(_ name: String, help: String, type: String) {
        text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(type)\n"
    }

    mutating func sample(_ name: String, _ labels: [String], _ values: [String], _ value: String) {
        text += name
        if !labels.isEmpty {
            let pairs = zip(labels, values).map { "\($0)=\"\(Self.escaped($1, quotes: true))\"" }
            text += "{\(pairs.joined(separator: ","))}"
        }
        text += " \(value)\n"
    }

    /// Writes a number; whole numbers without a fraction.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int(exactly: value) { return String(whole) }
        return String(value)
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
