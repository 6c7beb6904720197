import ArgumentParser
import Foundation
import IngestCore
import KafkaClient
import ObjectGraph

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks configuration, model, routes, store and broker, without writing anything.",
        discussion: """
            With --sample it prints the effect of each record of a file, or why the record would become a dead letter.
            Example: ingest-worker check --offline
            Example: ingest-worker check --sample samples/chat-events.jsonl --json
            """)

    @OptionGroup var options: SharedOptions

    @Flag(help: "Leaves the broker out.")
    var offline = false

    @Flag(help: "Prints every setting with its origin; secrets are redacted.")
    var settings = false

    @Option(help: "Shows the effect of each record of this file, from configuration, routes and model alone.")
    var sample: String?

    @Option(help: "With --sample: reads the file as records of this topic, not by its name.")
    var topic: String?

    @Flag(help: "With --sample: prints one JSON object per record.")
    var json = false

    func run() throws {
        if let sample { return try show(sample) }
        if json || topic != nil { throw ValidationError("--json and --topic are for --sample FILE") }
        let loaded = try options.load()
        let configuration = loaded.configuration
        let logger = options.logger(configuration)
        Console.print("configuration  ok  \(loaded.file ?? "defaults")")
        if settings { Console.print(loaded.describe()) }
        let model = try ObjectModel.load(path: configuration.model)
        Console.print(
            "model          ok  \(model.name) \(model.version), \(model.entities.count) entities, "
                + "\(configuration.model)")
        for topic in configuration.topics {
            _ = try configuration.decoder(of: topic, model: model)
        }
        for file in configuration.files {
            _ = try configuration.decoder(of: file, place: file.match, model: model)
        }
        let sources =
            configuration.topics.map { "topic \($0.name)" } + configuration.files.map { "files \($0.match)" }
        Console.print("routes         ok  \(sources.joined(separator: ", "))")
        _ = try configuration.kafka.consumerConfiguration(logger: logger)
        try checkStore(configuration, model)
        if offline {
            Console.print("broker         not asked")
        } else {
            let client = configuration.kafka.clientConfiguration(logger: logger)
            try checkBroker(configuration, Admin(configuration: client))
        }
    }

    private func show(_ path: String) throws {
        let configuration = try options.load().configuration
        if path != "-", !FileManager.default.fileExists(atPath: path) {
            throw CommandError(code: ExitStatus.badData, description: "There is no file at \(path). Check the path")
        }
        let model = try ObjectModel.load(path: configuration.model)
        let sample = try RecordSample(configuration: configuration, model: model)
        let counts = try sample.read(path: path, topic: topic) { place, outcome in
            Console.print(json ? sample.json(place, outcome) : sample.text(place, outcome))
        }
        if !json {
            Console.print(
                "\(counts.events) events, \(counts.filtered) filtered, \(counts.deadLetters) dead letters; "
                    + "nothing was written")
        }
    }

    private func checkStore(_ configuration: WorkerConfiguration, _ model: ObjectModel) throws {
        let path = configuration.storePlace
        guard try configuration.hasStore(model: model) else {
            Console.print("store          ok  \(path) will be made")
            return
        }
        let store = try configuration.openStoreForReading(model: model)
        try configuration.checkPartitions(of: store)
        let token = try store.read { try $0.lastToken() }
        Console.print("store          ok  \(path), history token \(token)")
    }

    private func checkBroker(_ configuration: WorkerConfiguration, _ admin: Admin) throws {
        let metadata = try admin.metadata(timeoutMilliseconds: 5000)
        let missing = configuration.topics.map(\.name).filter { metadata.topics[$0] == nil }
        if !missing.isEmpty {
            throw CommandError(
                code: ExitStatus.configuration,
                description: "The broker has no topic \(missing.joined(separator: ", ")). "
                    + "Create it, or correct 'topics'")
        }
        let count = metadata.brokers.count
        Console.print(
            "broker         ok  \(count) \(count == 1 ? "broker" : "brokers"), "
                + "librdkafka \(KafkaLibrary.versionString)")
    }
}
