import Synchronization

/// Holds the metrics and writes them as Prometheus text (exposition format 0.0.4).
package final class MetricsRegistry: Sendable {
    /// The value of the `Content-Type` header for ``render()``.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private let metrics = Mutex<[any Metric]>([])
    /// Whether a program had chosen a backend when the registry was made.
    package let isPublished = MetricsFacade() != nil

    package init() {}

    /// Adds a metric. A second one of the same name would make the whole text invalid, and is left out.
    @discardableResult
    package func add<Added: Metric>(_ metric: Added) -> Added {
        let name = metric.declaration.name
        metrics.withLock { metrics in
            let place = metrics.firstIndex { $0.declaration.name >= name } ?? metrics.endIndex
            let isKnown = place < metrics.endIndex && metrics[place].declaration.name == name
            assert(!isKnown, "the metric \(name) is registered twice")
            if !isKnown { metrics.insert(metric, at: place) }
        }
        return metric
    }

    /// Adds each metric that is a property of an object. So a metric is one line there.
    func addProperties(of owner: AnyObject) {
        for property in Mirror(reflecting: owner).children {
            if let metric = property.value as? any Metric { add(metric) }
        }
    }

    /// The declarations of all metrics, by name.
    var declarations: [MetricDeclaration] { metrics.withLock { $0 }.map { $0.declaration } }

    /// Gives the metrics that are read when they are asked for to the program's backend. All others go there at once.
    package func publish() {
        for metric in metrics.withLock({ $0 }) { (metric as? ComputedMetric)?.publish() }
    }

    /// Writes every metric, sorted by name and labels.
    package func render() -> String { Self.render([(nil, self)]) }

    /// Writes the metrics of several registries, sorted by name. A registry's store is a label of all its metrics.
    package static func render(_ registries: [(store: String?, registry: MetricsRegistry)]) -> String {
        let metrics = registries.flatMap { store, registry in
            registry.metrics.withLock { $0 }.map { (store: store, metric: $0) }
        }
        var text = PrometheusText()
        for (name, owned) in Dictionary(grouping: metrics, by: { $0.metric.declaration.name }).sorted(by: {
            $0.key < $1.key
        }) {
            guard let first = owned.first, !name.isEmpty else { continue }
            text.header(first.metric.declaration)
            for (store, metric) in owned {
                text.store = store
                metric.write(to: &text)
            }
        }
        return text.text
    }
}

/// Writes Prometheus text.
package struct PrometheusText {
    private(set) var text = ""
    /// The label `store` of the samples that follow, where they are of one store of several.
    var store: String?

    mutating func header(_ metric: MetricDeclaration) {
        let help = Self.escaped(metric.text, quotes: false)
        text += "# HELP \(metric.name) \(help)\n# TYPE \(metric.name) \(metric.kind.rawValue)\n"
    }

    mutating func sample(_ name: String, _ labels: [String], _ values: [String], _ value: String) {
        text += name
        if !labels.isEmpty || store != nil {
            let own = store.map { [("store", $0)] } ?? []
            let pairs = (own + zip(labels, values)).map { "\($0)=\"\(Self.escaped($1, quotes: true))\"" }
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
