import ObjectGraph

extension WorkerConfiguration {
    /// Makes the decoder of a topic's records.
    ///
    /// - Throws: ``RouteError`` where a route does not fit the model or the format is not supported.
    public func decoder(of topic: TopicConfiguration, model: ObjectModel) throws -> EventDecoder {
        try EventDecoder(
            model: model, format: topic.format, routes: topic.routes, place: "topic \(topic.name)", limits: limits)
    }

    /// Makes the decoder of a file's records; a file without a mapping holds CloudEvents.
    ///
    /// - Throws: ``RouteError`` where a route does not fit the model or the format is not supported.
    public func decoder(of mapping: FileConfiguration?, place: String, model: ObjectModel) throws -> EventDecoder {
        try EventDecoder(
            model: model, format: mapping?.format ?? .cloudevents, routes: mapping?.routes ?? [],
            place: "file \(place)", limits: limits)
    }
}
