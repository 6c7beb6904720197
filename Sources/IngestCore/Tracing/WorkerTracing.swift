import Tracing

/// Opens a span for each chunk and for each batch of notifications, where the program has set a tracer up.
///
/// The tracer is looked for once, when a part of the worker is made. Without one, a chunk or batch pays one comparison.
package struct WorkerTracing: Sendable {
    private let tracer: (any Tracer)?

    /// Uses a tracer; nil opens no spans.
    package init(_ tracer: (any Tracer)?) { self.tracer = tracer }

    /// The tracer that the program has bootstrapped, or that encloses the call by `withTracer`.
    package static var installed: WorkerTracing {
        let tracer = InstrumentationSystem.tracer
        return WorkerTracing(tracer is NoOpTracer ? nil : tracer)
    }

    /// Calls `body` within a span.
    ///
    /// - Parameters:
    ///   - name: the span's name.
    ///   - kind: the role of the worker in it.
    ///   - traces: the trace contexts of records. The first is the span's parent, and the span links to the others.
    ///   - body: takes the span; nil without a tracer.
    /// - Throws: what `body` throws; the span records it.
    func span<Result>(
        _ name: String, ofKind kind: SpanKind, of traces: @autoclosure () -> [String],
        _ body: ((any Span)?) throws -> Result
    ) rethrows -> Result {
        guard let tracer else { return try body(nil) }
        let contexts = traces().map { Self.context($0, tracer) }
        let span = tracer.startAnySpan(name, context: contexts.first ?? .topLevel, ofKind: kind)
        defer { span.end() }
        for context in contexts.dropFirst() { span.addLink(SpanLink(context: context, attributes: [:])) }
        do {
            return try body(span)
        } catch {
            span.recordError(error)
            span.setStatus(SpanStatus(code: .error))
            throw error
        }
    }

    private static func context(_ trace: String, _ tracer: any Tracer) -> InstrumentationContext {
        var context = InstrumentationContext.topLevel
        tracer.extract([TraceParent.name: trace], into: &context, using: Headers())
        return context
    }

    /// Gives the tracer the headers that it asks for.
    private struct Headers: Extractor {
        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key.lowercased()] }
    }
}
