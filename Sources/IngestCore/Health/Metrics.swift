import Synchronization

/// Counts what only grows; an update is one atomic add.
package final class Counter: Sendable {
    private let cell = Atomic<Int>(0)

    /// Creates a counter that no registry shows.
    package init() {}

    /// Adds a count that is not negative.
    package func increment(by count: Int = 1) {
        cell.wrappingAdd(count, ordering: .relaxed)
    }

    /// The count so far.
    package var value: Int { cell.load(ordering: .relaxed) }
}

/// Holds a number that goes up and down; setting it is one atomic store. A gauge of NaN shows no sample.
package final class Gauge: Sendable {
    private let bits = Atomic<UInt64>(Double.zero.bitPattern)

    /// Creates a gauge that no registry shows.
    package init() {}

    /// Sets the number.
    package func set(_ value: Double) {
        bits.store(value.bitPattern, ordering: .relaxed)
    }

    /// Sets the number to a whole number.
    package func set(_ value: some BinaryInteger) {
        set(Double(value))
    }

    /// The number; NaN where it is not known.
    package var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }
}

/// Holds the series of a gauge that are replaced together; without any, the metric has no samples.
package final class GaugeSnapshot: Sendable {
    private let series = Mutex<[(value: String, number: Double)]>([])

    /// Replaces all series: the value of the label, and the number.
    package func replace(_ new: [(value: String, number: Double)]) { series.withLock { $0 = new } }

    /// The series in their order.
    package var all: [(value: String, number: Double)] { series.withLock { $0 } }
}

/// Counts observations in buckets; an observation takes a lock, so observe chunks and commits, not records.
package final class Histogram: Sendable {
    private struct State {
        var counts: [Int]
        var sum: Double
    }

    /// The upper bounds of the buckets, ascending, without infinity.
    package let bounds: [Double]
    private let state: Mutex<State>

    /// Creates a histogram that no registry shows.
    package init(bounds: [Double]) {
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
}

/// Keeps the series of one metric apart by their labels.
///
/// Look a series up once and keep it: the look-up takes a lock, its updates do not.
package final class MetricFamily<Series: Sendable>: Sendable {
    private struct State {
        var series: [[String]: Series] = [:]
        var overflow: Series?
    }

    /// The names of the labels.
    package let labels: [String]
    private let maximumSeries: Int
    private let make: @Sendable () -> Series
    private let state = Mutex(State())

    init(labels: [String], maximumSeries: Int, make: @escaping @Sendable () -> Series) {
        self.labels = labels
        self.maximumSeries = maximumSeries
        self.make = make
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
        let values = labels.indices.map { $0 < values.count ? values[$0] : "" }
        return state.withLock { state in
            if let known = state.series[values] { return known }
            if state.series.count >= maximumSeries {
                if let overflow = state.overflow { return overflow }
                let overflow = make()
                state.overflow = overflow
                return overflow
            }
            let new = make()
            state.series[values] = new
            return new
        }
    }

    /// Forgets a series, as when a partition is revoked.
    package func remove(_ values: String...) {
        state.withLock { state in
            _ = state.series.removeValue(forKey: values)
        }
    }

    /// Lists the series in the order of their label values.
    var sorted: [(values: [String], series: Series)] {
        let (series, overflow) = state.withLock { ($0.series, $0.overflow) }
        var list = series.map { (values: $0.key, series: $0.value) }
        if let overflow { list.append((values: labels.map { _ in "other" }, series: overflow)) }
        return list.sorted { $0.values.lexicographicallyPrecedes($1.values) }
    }
}
