import GraphCore
import RecordDecoding
import Yams

/// Is a configuration together with where each value came from.
public struct LoadedConfiguration: Sendable {
    /// The effective configuration.
    public package(set) var configuration: WorkerConfiguration
    /// The file that was read, or nil when there was none.
    public let file: String?
    /// Every setting with its value and origin; secrets are redacted.
    public let entries: [ConfigurationEntry]

    /// Lists every setting, a line each, with its origin; secrets are redacted.
    public func describe() -> String {
        entries.map { "\($0.key) = \($0.value)  # \($0.origin)" }.joined(separator: "\n")
    }
}

/// Is one setting of the effective configuration.
public struct ConfigurationEntry: Sendable, Equatable {
    /// The dotted name.
    public let key: String
    /// The value as text, redacted when it is a secret.
    public let value: String
    /// Where the value came from.
    public let origin: ConfigurationOrigin
}

extension ConfigurationEntry: JSONWritable {
    /// An object with `key`, `value` and `origin`, all texts; secrets are redacted.
    package var json: String { JSONObject(["key": key, "value": value, "origin": "\(origin)"]).json }
}

extension WorkerConfiguration {
    /// The file that is read when none is named and it is there.
    public static let defaultFile = "config/worker.yaml"
    /// The variable that names the file that is read when none is named otherwise.
    public static let fileVariable = "INGEST_CONFIG"

    /// Reads a configuration; a flag goes before a variable, a variable before the file, the file before the default.
    ///
    /// - Parameters:
    ///   - file: The YAML file. Nil stands for the file that the variable `INGEST_CONFIG` names, else for
    ///     `config/worker.yaml` if it is there.
    ///   - settings: The values of `--set`, as `KEY=VALUE`; a later one goes before an earlier.
    ///   - environment: The variables of the process; names that begin with `INGEST_` count.
    /// - Throws: ``ConfigurationError`` with every mistake that was found.
    public static func load(
        file: String? = nil, settings: [String] = [], environment: [String: String] = [:]
    ) throws(ConfigurationError) -> LoadedConfiguration {
        var loader = ConfigurationLoader()
        let used = loader.read(file: file ?? environment[fileVariable].flatMap { $0.isEmpty ? nil : $0 })
        loader.apply(environment: environment)
        loader.apply(settings: settings)
        return try loader.finish(file: used)
    }

    /// Reads a configuration from YAML text; for tests, and for programs that embed the worker.
    ///
    /// - Parameters:
    ///   - yaml: The text.
    ///   - name: The name that messages give to the text.
    ///   - settings: As for ``load(file:settings:environment:)``.
    ///   - environment: As for ``load(file:settings:environment:)``.
    /// - Throws: ``ConfigurationError`` with every mistake that was found.
    public static func load(
        yaml: String, name: String, settings: [String] = [], environment: [String: String] = [:]
    ) throws(ConfigurationError) -> LoadedConfiguration {
        var loader = ConfigurationLoader()
        loader.apply(yaml: yaml, path: name)
        loader.apply(environment: environment)
        loader.apply(settings: settings)
        return try loader.finish(file: name)
    }
}

/// Applies the sources to the defaults, in the order of their precedence, and collects the mistakes.
struct ConfigurationLoader {
    private(set) var configuration = WorkerConfiguration()
    private(set) var origins: [String: ConfigurationOrigin] = [:]
    var problems = ConfigurationProblems()

    /// Sets a known key.
    mutating func assign(_ key: ConfigurationKey, _ value: ConfigurationNode) {
        key.assign(value, &configuration, &problems)
        origins[key.path] = value.origin
    }

    /// Sets a librdkafka property.
    mutating func assignKafka(_ property: String, _ value: ConfigurationNode, at keyOrigin: ConfigurationOrigin) {
        let name = "kafka.\(property)"
        if let own = ClosestName.find(property, among: ["onPositionLost", "partitions"]) {
            problems.add(
                .unknownKey, at: keyOrigin, "unknown key \"\(name)\"", suggestion: "kafka.\(own)",
                remedy: "Write the key as suggested.")
            return
        }
        guard let text = value.text, !value.isNull, !property.isEmpty else {
            problems.add(
                .invalidValue, at: value.origin, "\(name) is \(value.shown(name: name)), which is not text",
                remedy:
                    "Write librdkafka's properties verbatim, as in kafka: { bootstrap.servers: \"localhost:9092\" }.")
            return
        }
        if text.hasPrefix(ConfigurationNode.filePrefix) {
            let file = String(text.dropFirst(ConfigurationNode.filePrefix.count))
            guard let content = value.contentOfFile(file, name: name, problems: &problems) else { return }
            configuration.kafka.properties.setSecret(content, for: property)
        } else {
            configuration.kafka.properties[property] = text
        }
        origins[name] = value.origin
    }

    /// Reports a key that nothing knows.
    mutating func unknown(_ path: String, at origin: ConfigurationOrigin) {
        let nested = ConfigurationKey.byPath[path] != nil
        let candidates = ConfigurationKey.known.map(\.path) + ConfigurationKey.sections.sorted()
        problems.add(
            .unknownKey, at: origin, "unknown key \"\(path)\"",
            suggestion: nested ? nil : ClosestName.find(path, among: candidates),
            remedy: nested ? "Write it nested: a section, and the key inside." : "Remove it, or use a known key.")
    }

    /// Returns the result, or everything that was wrong.
    mutating func finish(file: String?) throws(ConfigurationError) -> LoadedConfiguration {
        // The default topic is for configurations that name nothing to read.
        if origins["topics"] == nil, !configuration.files.isEmpty { configuration.topics = [] }
        checkTopics()
        checkRecordSizes()
        checkHTTP()
        checkSchemaRegistry()
        placeStore()
        placePartitions()
        guard problems.list.isEmpty else { throw ConfigurationError(problems: problems.list) }
        let entries = ConfigurationKey.known.map { key in
            ConfigurationEntry(
                key: key.path, value: key.render(configuration),
                origin: origins[key.path] ?? .byDefault)
        }
        let kafka = configuration.kafka.properties.values.sorted { $0.key < $1.key }.map { name, value in
            ConfigurationEntry(
                key: "kafka.\(name)", value: configuration.kafka.properties.shown(value, of: name),
                origin: origins["kafka.\(name)"] ?? .byDefault)
        }
        return LoadedConfiguration(configuration: configuration, file: file, entries: entries + kafka)
    }

    /// Puts the partitions into the store's path.
    private mutating func placeStore() {
        if !configuration.isStoreInFile {
            // A flag or a variable replaces the path of the file.
            if let path = origins["store.path"], path.rank >= (origins["store.url"] ?? .byDefault).rank {
                problems.add(
                    .conflict, at: path, "store.path and store.url are both given, and a store has one place",
                    remedy: "Remove one of them.")
            }
            return
        }
        if configuration.store.writers == .many {
            problems.add(
                .conflict, at: origins["store.writers"] ?? .byDefault,
                "store.writers is many, and a store in a file has one writer",
                remedy: "Set store.url, or give each worker a store of its own.")
        }
        checkBraces()
    }

    /// Puts the partitions into the store's place where the configuration names some. Without them the mark stays: each
    /// partition has a store of its own.
    private mutating func placePartitions() {
        let mark = StoreConfiguration.partitionMark
        if let partitions = configuration.kafka.partitions {
            configuration.store.path = configuration.store.path.replacing(mark, with: partitions.fileName)
            configuration.store.url = configuration.store.url?.replacing(mark, with: partitions.fileName)
            configuration.notifications.topic = configuration.notifications.topic?.replacing(
                mark, with: partitions.fileName)
            configuration.deadLetters.topic = configuration.deadLetters.topic?.replacing(
                mark, with: partitions.fileName)
        }
        let isShared = configuration.store.writers == .many
        if configuration.kafka.partitions == nil || isShared, !configuration.hasStoreForEachPartition {
            for (key, topic) in [
                ("notifications.topic", configuration.notifications.topic),
                ("deadLetters.topic", configuration.deadLetters.topic),
            ] where topic?.contains(mark) == true {
                problems.add(
                    .conflict, at: origins[key] ?? .byDefault,
                    "\(key) has \(mark), and one store has all partitions",
                    remedy: "Remove it, or give each partition a store: \(mark) in store.path or store.url.")
            }
            for topic in configuration.topics where topic.broadcast {
                problems.add(
                    .conflict, at: topic.place.origin,
                    "the topic \(topic.name) has broadcast, and one store reads all topics",
                    remedy: "Remove broadcast, or give each partition a store: \(mark) in store.path or store.url.")
            }
            return
        }
        if configuration.hasStoreForEachPartition { checkStorePerPartition() }
    }

    /// Refuses settings that make no sense where each partition has a store.
    private mutating func checkStorePerPartition() {
        let place = origins[configuration.isStoreInFile ? "store.path" : "store.url"] ?? .byDefault
        if configuration.store.writers == .many {
            problems.add(
                .conflict, at: origins["store.writers"] ?? place,
                "store.writers is many, and each partition has a store of its own, which one worker writes",
                remedy: "Remove store.writers.")
        }
        if !configuration.topics.isEmpty, configuration.topics.allSatisfy(\.broadcast) {
            problems.add(
                .conflict, at: origins["topics"] ?? place,
                "all topics have broadcast, so that no partition says which stores there are",
                remedy: "Remove broadcast from one of them, or name one store.")
        }
    }

    private mutating func checkBraces() {
        let mark = StoreConfiguration.partitionMark
        guard configuration.store.path.replacing(mark, with: "").contains(where: { $0 == "{" || $0 == "}" }) else {
            return
        }
        problems.add(
            .invalidValue, at: origins["store.path"] ?? .byDefault,
            "store.path is \"\(configuration.store.path)\", in which braces stand for nothing that is known",
            remedy: "Write \(mark) for the partitions, or a name without braces.")
    }

    /// Refuses an address that others reach without a token, unless somebody wants it so; and bounds that exclude probes.
    private mutating func checkHTTP() {
        let http = configuration.http
        guard http.enabled else { return }
        if !http.isLoopback, http.bearerToken == nil, !http.allowUnauthenticated {
            problems.add(
                .conflict, at: origins["http.host"] ?? .byDefault,
                "http.host is \"\(http.host)\", which other machines may reach, and there is no http.bearerToken",
                remedy:
                    "Set http.bearerToken, as in INGEST_HTTP_BEARER_TOKEN_FILE=PATH, leave http.host at 127.0.0.1, or "
                    + "set http.allowUnauthenticated: true where the network lets in nobody else.")
        }
        if let token = http.operatorToken, token == http.bearerToken {
            problems.add(
                .conflict, at: origins["http.operatorToken"] ?? .byDefault,
                "http.operatorToken is the same as http.bearerToken, so that every reader could change the store",
                remedy: "Make another one with 'openssl rand -hex 32'.")
        }
        // One for an operator, one for the console, and one for a probe.
        if http.maxFeedReaders + 3 > http.maxConnections {
            problems.add(
                .conflict, at: origins["http.maxFeedReaders"] ?? origins["http.maxConnections"] ?? .byDefault,
                "http.maxFeedReaders is \(http.maxFeedReaders), which leaves no connection of \(http.maxConnections) to probes",
                remedy: "Lower http.maxFeedReaders to \(http.maxConnections - 3), or raise http.maxConnections.")
        }
    }

    /// Refuses topics that stand twice, and outputs that would be read again as inputs.
    private mutating func checkTopics() {
        var seen: Set<String> = []
        for topic in configuration.topics where !seen.insert(topic.name).inserted {
            problems.add(
                .conflict, at: origins["topics"] ?? .byDefault, "the topic \"\(topic.name)\" stands twice in topics",
                remedy: "List it once, with all its routes.")
        }
        for topic in seen.sorted() where topic.hasPrefix("^") {
            problems.add(
                .invalidValue, at: origins["topics"] ?? .byDefault,
                "the topic \"\(topic)\" is a pattern, but topics are names: each has its own routes",
                remedy: "List the topics by their names.")
        }
        if let topic = configuration.deadLetters.topic, topic == configuration.notifications.topic {
            problems.add(
                .conflict, at: origins["deadLetters.topic"] ?? .byDefault,
                "deadLetters.topic and notifications.topic are both \"\(topic)\": readers of notifications would get the bytes "
                    + "of records",
                remedy: "Give deadLetters.topic a topic of its own.")
        }
        let outputs = [
            ("notifications.topic", configuration.notifications.topic),
            ("deadLetters.topic", configuration.deadLetters.topic),
        ]
        for (key, topic) in outputs {
            guard let topic, seen.contains(topic) else { continue }
            problems.add(
                .conflict, at: origins[key] ?? .byDefault,
                "\(key) is \"\(topic)\", which topics lists too: the worker would read what it writes",
                remedy: "Give \(key) a topic of its own.")
        }
    }

    /// Refuses a size of dead-letter records that the client does not send.
    private mutating func checkRecordSizes() {
        let (limit, bytes) = ("kafka.message.max.bytes", configuration.deadLetters.maxBytes)
        guard configuration.deadLetters.topic != nil,
            let most = configuration.kafka.properties["message.max.bytes"].flatMap({ Int($0) }), most < bytes
        else { return }
        problems.add(
            .conflict, at: origins["deadLetters.maxBytes"] ?? origins[limit] ?? .byDefault,
            "deadLetters.maxBytes is \(bytes), and \(limit) lets the client send \(most)",
            remedy: "Lower deadLetters.maxBytes to \(most) or less, or raise \(limit).")
    }
}
