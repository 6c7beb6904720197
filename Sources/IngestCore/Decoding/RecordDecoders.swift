import GraphCore
import RecordDecoding
import RecordFiles

/// The decoders of records by where they come from: topics and files as the configuration states them.
///
/// Used by one thread; a decoder is made at its first use.
package final class RecordDecoders {
    private let configuration: WorkerConfiguration
    private let model: ObjectModel
    private let registry: SchemaRegistry?
    private var known: [String: Result<EventDecoder, any Error>] = [:]

    /// Makes decoders for a configuration and a model.
    package init(configuration: WorkerConfiguration, model: ObjectModel) {
        self.configuration = configuration
        self.model = model
        registry = configuration.makeSchemaRegistry()
    }

    /// Decodes a record as its topic, or the file that its place names, is configured.
    ///
    /// - Throws: ``DecodeError``; with code `decode.topic` where the topic is not configured, `decode.row` for a row of
    ///   a CSV file, which says nothing without its header.
    package func decode(_ record: SourceRecord) throws(DecodeError) -> ChangeSet {
        try decoder(of: record.place.topic).decode(record)
    }

    /// Lets the program of a record begin that is decoded soon.
    ///
    /// - Returns: false where the record waits for its turn.
    func expect(_ record: SourceRecord) -> Bool { (try? decoder(of: record.place.topic).expect(record)) ?? true }

    /// Checks that the routes of a topic fit the model: else the configuration is at fault, and none of its records.
    ///
    /// - Throws: ``RouteError``.
    func checkRoutes(of topic: String) throws {
        do { _ = try found(topic) } catch is DecodeError {}
    }

    /// Keeps a decoder as the decoder of a topic.
    func keep(_ decoder: EventDecoder, of topic: String) { known[topic] = .success(decoder) }

    /// Returns the decoder of a topic, or of the file that a place names.
    ///
    /// - Throws: ``DecodeError``, as ``decode(_:)``.
    func decoder(of topic: String) throws(DecodeError) -> EventDecoder {
        do {
            return try found(topic)
        } catch let error as DecodeError {
            throw error
        } catch {
            throw DecodeError(code: "decode.route", "\(error)")
        }
    }

    private func found(_ topic: String) throws -> EventDecoder {
        if let decoder = known[topic] { return try decoder.get() }
        let made = Result { try makeDecoder(of: topic) }
        if case .failure(let error as DecodeError) = made, error.isRetriable { throw error }
        known[topic] = made
        return try made.get()
    }

    private func makeDecoder(of topic: String) throws -> EventDecoder {
        if let path = RecordPlace.file(ofTopic: topic) {
            if RecordFileFormat.fromExtension(of: path) == .csv {
                throw DecodeError(
                    code: "decode.row",
                    "A row of a CSV file says nothing without its header. Repair the file, and replay it with --restart"
                )
            }
            return try configuration.decoder(of: configuration.fileMapping(for: path), place: path, model: model)
        }
        guard let found = configuration.topics.first(where: { $0.name == topic }) else {
            throw DecodeError(code: "decode.topic", "The topic is not configured. Add it to 'topics'")
        }
        return try configuration.decoder(of: found, model: model, registry: registry)
    }
}
