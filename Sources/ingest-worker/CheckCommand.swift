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
            It counts for every path of the routes in how many records it was found.
            Example: ingest-worker check --sample samples/chat-events.jsonl --json
            Example: ingest-worker check --sample samples/chat-events.jsonl --expect expected.jsonl
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

    @Option(help: "With --sample: compares each outcome with this file's, and exits with 65 where one differs.")
    var expect: String?

    @Option(help: "With --sample: writes the outcomes to this file, for --expect.")
    var record: String?

    func run() throws {
        if let sample { return try show(sample) }
        if json || topic != nil || expect != nil || record != nil {
            throw ValidationError("--json, --topic, --expect and --record are for --sample FILE")
        }
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
            _ = try configuration.decoder(of: topic, model: model, registry: nil)
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
        var expectation = try expect.map { try SampleExpectation(try Self.content(of: $0)) }
        var recorded = ""
        let counts = try sample.read(path: path, topic: topic) { place, outcome in
            Console.print(json ? sample.json(place, outcome) : sample.text(place, outcome))
            let kept = sample.json(place, outcome, hasReason: false)
            expectation?.compare(kept)
            if record != nil { recorded += kept + "\n" }
        }
        for (index, report) in sample.routes.enumerated() {
            Console.print(json ? report.json(number: index + 1) : report.text(number: index + 1))
        }
        if !json {
            Console.print(
                "\(counts.events) events, \(counts.filtered) filtered, \(counts.deadLetters) dead letters; "
                    + "nothing was written")
        }
        if let record { try recorded.write(toFile: record, atomically: true, encoding: .utf8) }
        expectation?.finish()
        if let differences = expectation?.differences, !differences.isEmpty { throw Self.error(of: differences) }
    }

    private static func content(of path: String) throws -> String {
        do {
            return try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            throw CommandError(
                code: ExitStatus.badData,
                description: "The expectations cannot be read from \(path). Make them with --record")
        }
    }

    private static func error(of differences: [SampleExpectation.Difference]) -> CommandError {
        let shown = differences.prefix(10).map { difference in
            "line \(difference.line)\n  expected  \(difference.expected ?? "nothing")\n  found     \(difference.found ?? "nothing")"
        }
        return CommandError(
            code: ExitStatus.badData,
            description: "\(differences.count) of the outcomes are not the expected ones:\n"
                + shown.joined(separator: "\n") + "\nCorrect the routes, or record the outcomes again with --record")
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
