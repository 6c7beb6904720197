import CoreMetrics
import Synchronization

/// The declaration of a metric. `/metrics` shows it, and tests compare its page, the dashboard and the alerts with it.
///
/// The name of a counter ends with `_total`. Before that stands the unit, `_seconds` or `_bytes`, where there is one.
package struct MetricDeclaration: Sendable {
    /// The kinds of Prometheus.
    package enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    package let name: String
    /// The meaning, in sentences.
    package let text: String
    package let kind: Kind
    /// The names of the labels.
    package let labels: [String]

    init(_ name: String, _ text: String, _ kind: Kind, labels: [String] = []) {
        (self.name, self.text, self.kind, self.labels) = (name, text, kind, labels)
    }
}

/// A metric that a ``MetricsRegistry`` shows.
package protocol Metric: Sendable {
    var declaration: MetricDeclaration { get }

    /// Writes the samples.
    func write(to text: inout PrometheusText)
}

/// A metric of one number, alone or as one of the series of a ``MetricFamily``.
package protocol MetricSeries: Metric {
    static var kind: MetricDeclaration.Kind { get }
    /// The number as text; nil where there is none to show.
    var sample: String? { get }

    /// - Parameters:
    ///   - values: the values of the labels.
    ///   - facade: the backend that the program has chosen, or nil.
    init(_ declaration: MetricDeclaration, values: [String], facade: MetricsFacade?)

    /// Drops the series of the backend.
    func drop(from facade: MetricsFacade)
}

extension MetricSeries {
    /// Makes a metric without labels.
    package init(_ name: String, _ text: String) {
        self.init(MetricDeclaration(name, text, Self.kind), values: [], facade: MetricsFacade())
    }

    package func write(to text: inout PrometheusText) { write([], to: &text) }

    func write(_ values: [String], to text: inout PrometheusText) {
        if let sample { text.sample(declaration.name, declaration.labels, values, sample) }
    }
}

/// A count that only grows; an update is one atomic add.
package final class Counter: MetricSeries {
    package static var kind: MetricDeclaration.Kind { .counter }
    package let declaration: MetricDeclaration
    private let cell = Atomic<Int>(0)
    private let handler: (any CounterHandler)?

    package init(_ declaration: MetricDeclaration, values: [String], facade: MetricsFacade?) {
        self.declaration = declaration
        handler = facade?.counter(declaration, values)
    }

    /// Adds a count that is not negative.
    package func increment(by count: Int = 1) {
        cell.wrappingAdd(count, ordering: .relaxed)
        handler?.increment(by: Int64(count))
    }

    package func drop(from facade: MetricsFacade) {
        if let handler { facade.drop(handler) }
    }

    /// The count so far.
    package var value: Int { cell.load(ordering: .relaxed) }

    package var sample: String? { String(value) }
}

/// Holds a number that goes up and down; setting it is one atomic store. A gauge of NaN shows no sample.
package final class Gauge: MetricSeries {
    package static var kind: MetricDeclaration.Kind { .gauge }
    package let declaration: MetricDeclaration
    private let bits = Atomic<UInt64>(Double.zero.bitPattern)
    private let handler: (any MeterHandler)?

    package init(_ declaration: MetricDeclaration, values: [String], facade: MetricsFacade?) {
        self.declaration = declaration
        handler = facade?.gauge(declaration, values)
    }

    /// Sets the number.
    package func set(_ value: Double) {
        bits.store(value.bitPattern, ordering: .relaxed)
        if let handler, !value.isNaN { handler.set(value) }
    }

    package func drop(from facade: MetricsFacade) {
        if let handler { facade.drop(handler) }
    }

    /// Sets the number to a whole number.
    package func set(_ value: some BinaryInteger) {
        set(Double(value))
    }

    /// The number; NaN where it is not known.
    package var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    package var sample: String? {
        let number = value
        return number.isNaN ? nil : PrometheusText.number(number)
    }
}

/// A metric that is read when the metrics are asked for.
struct ComputedMetric: Metric {
    let declaration: MetricDeclaration
    private let read: @Sendable () -> [(value: String, number: Double)]
    private var gauges: FacadeGauges?

    /// Makes a figure of the process, which the program's own backend has in its own way.
    ///
    /// - Parameter read: returns the value, or nil when there is none to show.
    init(
        _ name: String, _ text: String, _ kind: MetricDeclaration.Kind, read: @escaping @Sendable () -> Double?
    ) {
        declaration = MetricDeclaration(name, text, kind)
        self.read = { read().map { [("", $0)] } ?? [] }
    }

    /// - Parameter read: returns the series of a gauge, each with the value of its one label.
    init(
        _ name: String, _ text: String, label: String,
        read: @escaping @Sendable () -> [(value: String, number: Double)]
    ) {
        declaration = MetricDeclaration(name, text, .gauge, labels: [label])
        self.read = read
        gauges = FacadeGauges(declaration)
    }

    /// Gives the present series to the program's backend.
    func publish() { gauges?.replace(read()) }

    func write(to text: inout PrometheusText) {
        for (value, number) in read() {
            text.sample(declaration.name, declaration.labels, [value], PrometheusText.number(number))
        }
    }
}

/// Holds the series of a gauge that are replaced together; without any, the metric has no samples.
package final class GaugeSnapshot: Metric {
    package let declaration: MetricDeclaration
    private let series = Mutex<[(value: String, number: Double)]>([])
    private let gauges: FacadeGauges

    package init(_ name: String, _ text: String, label: String) {
        declaration = MetricDeclaration(name, text, .gauge, labels: [label])
        gauges = FacadeGauges(declaration)
    }

    /// Replaces all series: the value of the label, and the number.
    package func replace(_ new: [(value: String, number: Double)]) {
        series.withLock { $0 = new }
        gauges.replace(new)
    }

    /// The series in their order.
    package var all: [(value: String, number: Double)] { series.withLock { $0 } }

    package func write(to text: inout PrometheusText) {
        for (value, number) in all {
            text.sample(declaration.name, declaration.labels, [value], PrometheusText.number(number))
        }
    }
}

/// Counts observations in buckets; an observation takes a lock, so observe chunks and commits, not records.
package final class Histogram: Metric {
    private struct State {
        var counts: [Int]
        var sum: Double
    }

    package let declaration: MetricDeclaration
    /// The upper bounds of the buckets, ascending, without infinity.
    package let bounds: [Double]
    private let state: Mutex<State>
    private let observer: (@Sendable (Double) -> Void)?

    package init(_ name: String, _ text: String, bounds: [Double]) {
        declaration = MetricDeclaration(name, text, .histogram)
        observer = MetricsFacade()?.observer(declaration)
        self.bounds = bounds.sorted()
        state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1), sum: 0))
    }

    /// Counts one observation.
    package func observe(_ value: Double) {
        guard value.isFinite else { return }
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += value
        }
        observer?(value)
    }

    /// The cumulative counts, one for each bound and one for infinity, and the sum of the observations.
    package var snapshot: (cumulative: [Int], sum: Double) {
        let state = state.withLock { $0 }
        var total = 0
        let cumulative = state.counts.map { count in
            total += count
            return total
        }
        return (cumulative, state.sum)
    }

    package func write(to text: inout PrometheusText) {
        let (cumulative, sum) = snapshot
        let name = declaration.name
        for (bound, count) in zip(bounds.map(PrometheusText.number) + ["+Inf"], cumulative) {
            text.sample(name + "_bucket", ["le"], [bound], String(count))
        }
        text.sample(name + "_sum", [], [], PrometheusText.number(sum))
        text.sample(name + "_count", [], [], String(cumulative.last ?? 0))
    }
}

/// Keeps the series of one metric apart by their labels.
///
/// Look a series up once and keep it: the look-up takes a lock, its updates do not.
package final class MetricFamily<Series: MetricSeries>: Metric {
    private struct State {
        var series: [[String]: Series] = [:]
        var overflow: Series?
    }

    package let declaration: MetricDeclaration
    /// The value of each label of the series beyond the bound.
    private static var others: String { "other" }
    private let maximumSeries: Int
    private let facade = MetricsFacade()
    private let state = Mutex(State())

    /// - Parameter maximumSeries: the bound on series; `.max` where others read the series themselves.
    package init(_ name: String, _ text: String, labels: [String], maximumSeries: Int = 1_000) {
        declaration = MetricDeclaration(name, text, Series.kind, labels: labels)
        self.maximumSeries = maximumSeries
    }

    /// Returns the series with these label values, in the order of the labels, and makes it when it is new.
    ///
    /// Beyond the bound on series, new label values share one series whose values all are `other`.
    package func with(_ values: String...) -> Series {
        series(values)
    }

    /// Returns the series with these label values, in the order of the labels, and makes it when it is new.
    package func series(_ values: [String]) -> Series {
        // A wrong number of values is a mistake of the caller; pad or cut, so that the text stays well-formed.
        let values = declaration.labels.indices.map { $0 < values.count ? values[$0] : "" }
        return state.withLock { state in
            if let known = state.series[values] { return known }
            if state.series.count >= maximumSeries {
                if let overflow = state.overflow { return overflow }
                let others = declaration.labels.map { _ in Self.others }
                let overflow = Series(declaration, values: others, facade: facade)
                state.overflow = overflow
                return overflow
            }
            let new = Series(declaration, values: values, facade: facade)
            state.series[values] = new
            return new
        }
    }

    /// Forgets a series, as when a partition is revoked.
    package func remove(_ values: String...) {
        let removed = state.withLock { $0.series.removeValue(forKey: values) }
        if let facade { removed?.drop(from: facade) }
    }

    /// Lists the series in the order of their label values.
    package var sorted: [(values: [String], series: Series)] {
        let (series, overflow) = state.withLock { ($0.series, $0.overflow) }
        var list = series.map { (values: $0.key, series: $0.value) }
        if let overflow { list.append((values: declaration.labels.map { _ in Self.others }, series: overflow)) }
        return list.sorted { $0.values.lexicographicallyPrecedes($1.values) }
    }
    package func write(to text: inout PrometheusText) {
        for (values, series) in sorted { series.write(values, to: &text) }
    }
}

package typealias Counters = MetricFamily<Counter>
package typealias Gauges = MetricFamily<Gauge>
