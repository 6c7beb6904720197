import ObjectGraph

/// The change of the configuration while the worker runs.
extension ConsumerWorker {
    /// Lets the loop take another configuration before its next poll. May be called from any thread.
    func take(_ configuration: WorkerConfiguration) {
        nextConfiguration.withLock { $0 = configuration }
        consumerBox.withLock { $0 }?.wake()
    }

    /// Takes the configuration that waits, with the open chunk saved before: its records were read under the former one.
    func takeConfiguration() throws {
        guard nextConfiguration.withLock({ $0 != nil }) else { return }
        // Where the store refuses the chunk, the configuration waits on.
        try pipeline.finish()
        guard let configuration = nextConfiguration.withLock({ $0.take() }) else { return }
        decoders = try configuration.decoders(model: store.model)
        self.configuration = configuration
        pipeline.take(configuration)
        control?.take(configuration)
        logger.info("the worker has taken the configuration")
    }
}

extension WorkerConfiguration {
    /// Makes the decoders of all topics.
    ///
    /// - Throws: ``RouteError`` where a topic's routes do not fit the model.
    func decoders(model: ObjectModel) throws -> [String: EventDecoder] {
        let registry = SchemaRegistry(self)
        return try Dictionary(
            topics.map { ($0.name, try decoder(of: $0, model: model, registry: registry)) },
            uniquingKeysWith: { first, _ in first })
    }
}
