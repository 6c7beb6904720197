import GraphCore

/// A section of the configuration: the settings whose names begin with its own, or settings that stand at the top.
///
/// Each setting is declared once: its name, values, meaning and reload here, its default in `WorkerConfiguration`. The
/// reader, `config/worker.yaml`, `config/worker.schema.json`, the page of settings and the list of what a reload takes
/// are made from the declarations.
struct ConfigurationSection: Sendable {
    /// A librdkafka property that has a default.
    struct Property: Sendable {
        let name: String
        let summary: String

        /// The default as JSON, which YAML reads too.
        var defaultJSON: String {
            let text = KafkaSettings().properties[name] ?? "null"
            return ["null", "true", "false"].contains(text) ? text : JSONText.string(text)
        }
    }

    /// The name in the file; nil for settings at the top.
    let name: String?
    /// The meaning of the whole; empty where its settings say enough.
    let summary: String
    let keys: [ConfigurationKey]
    /// Properties of librdkafka that stand before the settings.
    let properties: [Property]

    /// The largest bound of a whole number.
    static let mostInteger = Int(Int32.max)

    init(_ name: String, _ summary: String = "", properties: [Property] = [], keys: [ConfigurationKey]) {
        (self.name, self.summary, self.keys, self.properties) = (name, summary, keys, properties)
    }

    init(keys: [ConfigurationKey]) { (name, summary, self.keys, properties) = (nil, "", keys, []) }

    /// All sections, in the order of the documentation.
    static let all: [ConfigurationSection] = [
        general, store, sources, kafka, schemaRegistry, chunk, commit, limits, notifications, deadLetters, history,
        tombstones, audit, errors, backup, http, log, shutdown, lease,
    ]
}

extension ConfigurationKey {
    /// Lists every setting with a name of its own, in the order of the documentation.
    ///
    /// Besides these, `kafka.PROPERTY` sets the librdkafka property of that name.
    public static let known: [ConfigurationKey] = ConfigurationSection.all.flatMap(\.keys)

    static let byPath: [String: ConfigurationKey] = Dictionary(
        known.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })

    /// The first parts of dotted names.
    static let sections: Set<String> = Set(ConfigurationSection.all.compactMap(\.name))
}
