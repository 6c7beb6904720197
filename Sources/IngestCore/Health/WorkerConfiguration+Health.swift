import GraphCore

extension WorkerConfiguration {
    /// The options of the worker's writer: work in the store counts as a heartbeat, for a deletion may take minutes.
    package func writerOptions(_ health: HealthMonitor) -> WriterContext.Options {
        var options = writerOptions
        options.onProgress = { health.report(.heartbeat) }
        return options
    }
}
