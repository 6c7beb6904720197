import GraphCore
import RecordDecoding

extension WorkerConfiguration {
    /// Makes the configured registry, or nil; nothing is asked before the first record that names a schema.
    public func makeSchemaRegistry() -> SchemaRegistry? { SchemaRegistry(schemaRegistry, limits: limits) }

    /// Makes the decoder of a topic's records.
    ///
    /// - Parameters:
    ///   - topic: how the topic is read.
    ///   - model: the entities that events may name.
    ///   - registry: gives the schemas that records name, or nil.
    /// - Throws: ``RouteError`` where a route does not fit the model.
    public func decoder(
        of topic: TopicConfiguration, model: ObjectModel, registry: SchemaRegistry?
    ) throws -> EventDecoder {
        try EventDecoder(
            model: model, format: topic.format, routes: topic.routes + routes, place: "topic \(topic.name)",
            position: topic.place, limits: limits, nullValues: topic.nullValues, registry: registry)
    }

    /// Makes the decoder of a file's records; a file without a mapping holds CloudEvents.
    ///
    /// - Throws: ``RouteError`` where a route does not fit the model.
    public func decoder(of mapping: FileConfiguration?, place: String, model: ObjectModel) throws -> EventDecoder {
        try EventDecoder(
            model: model, format: mapping?.format ?? .byDefault, routes: (mapping?.routes ?? []) + routes,
            place: "file \(place)", position: mapping?.place ?? ConfigurationPlace(), limits: limits,
            nullValues: mapping?.nullValues ?? [])
    }
}

extension WorkerConfiguration {
    /// Makes the decoders of all topics.
    ///
    /// - Throws: ``RouteError`` where a topic's routes do not fit the model.
    package func decoders(model: ObjectModel) throws -> [String: EventDecoder] {
        let registry = makeSchemaRegistry()
        return try Dictionary(
            topics.map { ($0.name, try decoder(of: $0, model: model, registry: registry)) },
            uniquingKeysWith: { first, _ in first })
    }
}
