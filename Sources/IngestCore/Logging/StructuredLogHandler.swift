import KafkaClient
import Logging
import Synchronization

/// Writes log messages as lines of text or JSON.
///
/// It sorts metadata by key, and escapes control characters so that a message stays one line. It redacts the values of
/// keys that name a secret, and the secret values that the sink knows.
package struct StructuredLogHandler: LogHandler {
    private let sink: LogSink
    private let format: LogFormat
    private let now: @Sendable () -> LogTime

    /// The metadata that every line carries.
    package var metadata: Logger.Metadata = [:]
    /// Gives metadata from the task's context.
    package var metadataProvider: Logger.MetadataProvider?
    /// The lowest level that is written: the logger's own, or the process's.
    package var logLevel: Logger.Level {
        get { ownLevel ?? Self.processLevel.withLock { $0 } }
        set { ownLevel = newValue }
    }
    private var ownLevel: Logger.Level?
    /// The level of all loggers of ``factory(_:secretValues:setsProcessLevel:)`` that have none of their own.
    package static let processLevel = Mutex(Logger.Level.info)

    /// Creates a handler.
    ///
    /// - Parameters:
    ///   - sink: Where lines go.
    ///   - format: The form of a line.
    ///   - level: The lowest level that is written; nil for the process's.
    ///   - now: The clock.
    package init(
        sink: LogSink, format: LogFormat, level: Logger.Level?, now: @escaping @Sendable () -> LogTime = LogTime.current
    ) {
        self.sink = sink
        self.format = format
        ownLevel = level
        self.now = now
    }

    /// Makes the factory that `LoggingSystem.bootstrap` takes: lines go to standard error, as the configuration says.
    ///
    /// - Parameters:
    ///   - configuration: The level and the form.
    ///   - secretValues: Texts that no line may hold, such as ``KafkaProperties/secretValues``.
    ///   - setsProcessLevel: Whether the loggers follow ``processLevel``, which gets the level of the configuration.
    package static func factory(
        _ configuration: LogConfiguration, secretValues: [String], setsProcessLevel: Bool = false
    ) -> @Sendable (String) -> any LogHandler {
        if setsProcessLevel { processLevel.withLock { $0 = configuration.level } }
        let (sink, level) = (LogSink.standardError(secretValues: secretValues), configuration.level)
        return { _ in
            StructuredLogHandler(sink: sink, format: configuration.format, level: setsProcessLevel ? nil : level)
        }
    }

    /// Reads or sets one metadata value.
    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes one line.
    package func log(event: LogEvent) {
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { _, new in new } }
        if let own = event.metadata { all.merge(own) { _, new in new } }
        if let error = event.error { all["error"] = .string("\(error)") }
        let line = LogLine(
            time: now(), level: event.level, message: sink.redacted(event.message.description),
            fields: all.sorted { $0.key < $1.key }.map { ($0.key, plain($0.value, key: $0.key)) })
        switch format {
        case .text: sink.emit(line.text)
        case .json: sink.emit(line.json)
        }
    }

    private func plain(_ value: Logger.MetadataValue, key: String) -> LogValue {
        switch value {
        case .string(let text): return .text(redacted(text, key: key))
        case .stringConvertible(let convertible):
            if let number = convertible as? any BinaryInteger { return .literal(number.description) }
            if let number = convertible as? Double, number.isFinite { return .literal(number.description) }
            if let flag = convertible as? Bool { return .literal(flag ? "true" : "false") }
            return .text(redacted(convertible.description, key: key))
        case .array(let values): return .list(values.map { plain($0, key: key) })
        case .dictionary(let values):
            return .object(values.sorted { $0.key < $1.key }.map { ($0.key, plain($0.value, key: $0.key)) })
        }
    }

    private func redacted(_ text: String, key: String) -> String {
        if SecretName.matches(key), !Self.isHistoryToken(text, key: key) { return SecretName.replacement }
        return sink.redacted(text)
    }

    /// A history token is a number, and no secret; a secret token is not a short number.
    private static func isHistoryToken(_ text: String, key: String) -> Bool {
        key.lowercased().hasSuffix("token") && !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}
