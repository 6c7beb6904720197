import CoreMetrics
import Synchronization

/// The backend of swift-metrics that a program has chosen, by `MetricsSystem.bootstrap` or by `withMetricsFactory` around
/// the worker's start.
///
/// Each metric keeps its own number, which `/metrics` shows, and gives each change to this backend, too. Without a backend
/// a metric is its number alone.
package struct MetricsFacade: Sendable {
    private let factory: any MetricsFactory

    /// Takes the backend of the task or the process; nil where nobody has chosen one.
    init?() {
        factory = MetricsSystem.factory
        if factory is NOOPMetricsHandler { return nil }
    }

    private static func dimensions(_ declaration: MetricDeclaration, _ values: [String]) -> [(String, String)] {
        Array(zip(declaration.labels, values))
    }

    func counter(_ declaration: MetricDeclaration, _ values: [String]) -> any CounterHandler {
        factory.makeCounter(label: declaration.name, dimensions: Self.dimensions(declaration, values))
    }

    func gauge(_ declaration: MetricDeclaration, _ values: [String]) -> any MeterHandler {
        factory.makeMeter(label: declaration.name, dimensions: Self.dimensions(declaration, values))
    }

    /// Returns a function that takes observations: a timer's where the unit is a second, else a distribution's.
    func observer(_ declaration: MetricDeclaration) -> @Sendable (Double) -> Void {
        if declaration.name.hasSuffix("_seconds") {
            let timer = factory.makeTimer(label: declaration.name, dimensions: [])
            return { timer.recordNanoseconds(Int64(min($0 * 1e9, 9e18))) }
        }
        let recorder = factory.makeRecorder(label: declaration.name, dimensions: [], aggregate: true)
        return { recorder.record($0) }
    }

    func drop(_ counter: any CounterHandler) { factory.destroyCounter(counter) }

    func drop(_ gauge: any MeterHandler) { factory.destroyMeter(gauge) }
}

/// The gauges of a backend that follow the series of a metric; without a backend it does nothing.
final class FacadeGauges: Sendable {
    private let declaration: MetricDeclaration
    private let facade = MetricsFacade()
    private let handlers = Mutex<[String: any MeterHandler]>([:])

    init(_ declaration: MetricDeclaration) { self.declaration = declaration }

    /// Sets the gauges of these values of the label, and drops all others.
    func replace(_ series: [(value: String, number: Double)]) {
        guard let facade else { return }
        handlers.withLock { handlers in
            let former = handlers
            handlers = [:]
            for (value, number) in series {
                let handler = former[value] ?? facade.gauge(declaration, [value])
                handler.set(number)
                handlers[value] = handler
            }
            for (value, handler) in former where handlers[value] == nil { facade.drop(handler) }
        }
    }
}
